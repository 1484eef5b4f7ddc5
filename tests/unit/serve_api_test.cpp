// What the server answers and logs, without sockets.

#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "scratch.h"
#include "serve/api.h"

namespace nnex::serve {
namespace {

void write_model(const test::Scratch& scratch, const char* name, const char* op) {
  std::ofstream(scratch.file(name)) << "<ir_version: 8, opset_import: [\"\": 17, \"test\": 1]>\n"
                                       "g (float[N] x) => (float[N] y) { y = "
                                    << op << "(x) }\n";
}

TEST(ServeRepository, WhoAsksForTheIndexWhileItLooksSharesTheNextLook) {
  const test::Scratch scratch;
  write_model(scratch, "a.onnxtxt", "Relu");
  RepositoryOptions options;
  options.paths = {scratch.path.string()};
  Metrics metrics;
  const Log log(Log::Form::text);
  Repository repository(options, metrics, log);
  std::promise<void> asked;
  repository.index([&](const std::vector<IndexEntry>&) { asked.get_future().wait(); });
  std::vector<size_t> found;  // by three who ask meanwhile, the first of whom adds a model
  for (int i = 0; i < 3; ++i)
    repository.index([&](const std::vector<IndexEntry>& entries) {
      if (found.empty()) write_model(scratch, "b.onnxtxt", "Relu");
      found.push_back(entries.size());
    });
  asked.set_value();
  repository.close();
  EXPECT_EQ(found, (std::vector<size_t>{1, 1, 1}));
}

TEST(ServeApi, AnInternalErrorIsExplainedInTheLog) {
  const test::Scratch scratch;
  write_model(scratch, "m.onnxtxt", "test.Broken");
  CustomOperator op;
  op.domain = "test", op.name = "Broken";
  op.infer = [](const CustomInfer& i) -> Result<std::vector<TypeInfo>> { return std::vector{i.inputs[0]}; };
  op.run = [](CustomRun&) -> Status { return Error(Code::internal, "upside down"); };
  RepositoryOptions options;
  options.paths = {scratch.file("m.onnxtxt")};
  ASSERT_TRUE(options.load.custom_operators.add(std::move(op)).ok());

  Metrics metrics;
  Budget budget(1 << 20);
  const Log log(Log::Form::text);
  testing::internal::CaptureStderr();
  Repository repository(options, metrics, log);
  Api api(repository, metrics, budget, log, {});
  std::promise<Status> opened;
  repository.open([&](Status status) { opened.set_value(std::move(status)); });
  const Status loaded = opened.get_future().get();
  EXPECT_TRUE(loaded.ok()) << loaded.error().text();

  Call call;
  call.request.method = "POST";
  call.request.path = "/v2/models/m/infer";
  call.request.body = R"({"id": "a 7", "inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]})";
  call.request.has_body = true;
  call.lease = Lease(budget);
  call.peer = "127.0.0.1:9";
  std::promise<Response> answered;
  (void)api.answer(std::move(call), [&](Response r, const Lease&) { answered.set_value(std::move(r)); });
  const Response response = answered.get_future().get();
  repository.close();
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(response.status, 500) << response.body;
  const size_t at = logged.find(" inference failed model=m version=1 id=\"a 7\" peer=127.0.0.1:9 error=");
  ASSERT_NE(at, std::string::npos) << logged;
  EXPECT_NE(logged.find("upside down", at), std::string::npos) << logged;
}

}  // namespace
}  // namespace nnex::serve
