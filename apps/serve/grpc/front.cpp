// nnex-grpc.so: messages of the protocol to requests over HTTP with binary tensors, and back.

#include "serve/grpc/front.h"

#include <google/protobuf/util/json_util.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "serve/grpc/door.h"

#include <inference.grpc.pb.h>  // made by protoc

namespace nnex::serve {
namespace {

using Json = nlohmann::ordered_json;
using Service = inference::GRPCInferenceService;

/// The headers that mean the same as a call's metadata.
constexpr const char* kHeaders[] = {"authorization", "x-api-key", "traceparent", "tracestate"};

grpc::Status status_of(const Response& response) {
  static constexpr std::pair<int, grpc::StatusCode> kCodes[] = {
      {200, grpc::StatusCode::OK},
      {400, grpc::StatusCode::INVALID_ARGUMENT},
      {401, grpc::StatusCode::UNAUTHENTICATED},
      {403, grpc::StatusCode::PERMISSION_DENIED},
      {404, grpc::StatusCode::NOT_FOUND},
      {413, grpc::StatusCode::RESOURCE_EXHAUSTED},
      {429, grpc::StatusCode::RESOURCE_EXHAUSTED},
      {499, grpc::StatusCode::CANCELLED},
      {501, grpc::StatusCode::UNIMPLEMENTED},
      {503, grpc::StatusCode::UNAVAILABLE},
      {504, grpc::StatusCode::DEADLINE_EXCEEDED},
  };
  if (response.status == 200) return grpc::Status::OK;
  const auto* at =
      std::find_if(std::begin(kCodes), std::end(kCodes), [&](const auto& row) { return row.first == response.status; });
  const Json j = Json::parse(response.body, nullptr, false);
  const auto message = j.is_object() ? j.find("error") : j.end();
  return {at == std::end(kCodes) ? grpc::StatusCode::INTERNAL : at->second,
          j.is_object() && message != j.end() && message->is_string() ? message->get<std::string>() : response.body};
}

/// A segment of a path.
std::string escaped(const std::string& s) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : s) {
    if (std::isalnum(c) || c == '-' || c == '_' || c == '.') {
      out += static_cast<char>(c);
    } else {
      out += {'%', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return out;
}

std::string path_of(const std::string& model, const std::string& version) {
  return "/v2/models/" + escaped(model) + (version.empty() ? "" : "/versions/" + escaped(version));
}

int milliseconds(std::chrono::microseconds time) {
  return static_cast<int>(std::clamp<int64_t>(time.count() / 1000, 1, INT32_MAX));
}

/// "127.0.0.1:8001", "[::1]:8001" of gRPC's "ipv4:127.0.0.1:8001", "ipv6:%5B::1%5D:8001".
std::string peer_of(const grpc::CallbackServerContext& context) {
  std::string peer = context.peer();
  for (const std::string_view kind : {"ipv4:", "ipv6:"})
    if (peer.starts_with(kind)) peer.erase(0, kind.size());
  for (const auto& [escape, text] : {std::pair("%5B", "["), {"%5D", "]"}})
    if (const size_t at = peer.find(escape); at != std::string::npos) peer.replace(at, 3, text);
  return peer;
}

/// One call, until gRPC is done with it.
class Call : public grpc::ServerUnaryReactor {
 public:
  using Fill = std::function<grpc::Status(const Response&)>;

  explicit Call(std::atomic<int>& open) : open_(open) { ++open_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() override { --open_; }

  /// What both gRPC's callbacks and the answer need; the call may go before either.
  struct State {
    std::mutex mutex;
    std::function<void()> give_up;
    bool cancelled = false;
  };

  void begin(GrpcBackend& backend, const grpc::CallbackServerContext& context, Request request, Fill fill) {
    for (const char* name : kHeaders)
      if (const auto at = context.client_metadata().find(name); at != context.client_metadata().end())
        request.headers.push_back({name, std::string(at->second.data(), at->second.length())});
    const auto state = state_;  // this may be gone when ask() returns
    auto give_up = backend.ask(std::move(request), peer_of(context),
                               [this, fill = std::move(fill)](const Response& r) { Finish(fill(r)); });
    bool cancelled = false;
    {
      const std::lock_guard lock(state->mutex);
      state->give_up = give_up;
      cancelled = state->cancelled;
    }
    if (cancelled) give_up();
  }

  void OnCancel() override {
    std::function<void()> give_up;
    {
      const std::lock_guard lock(state_->mutex);
      state_->cancelled = true;
      give_up = state_->give_up;
    }
    if (give_up) give_up();
  }
  void OnDone() override { delete this; }

 private:
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::atomic<int>& open_;
};

/// The elements of a typed field as bytes of the width.
template <class T, class Field>
std::string bytes_of(const Field& field) {
  std::string out(static_cast<size_t>(field.size()) * sizeof(T), '\0');
  char* at = out.data();
  for (const auto x : field) {
    const T narrow = static_cast<T>(x);
    std::memcpy(at, &narrow, sizeof narrow);
    at += sizeof narrow;
  }
  return out;
}

/// How many elements are in all fields together.
int64_t elements_of(const inference::InferTensorContents& c) {
  return int64_t{c.bool_contents_size()} + c.int_contents_size() + c.int64_contents_size() + c.uint_contents_size() +
         c.uint64_contents_size() + c.fp32_contents_size() + c.fp64_contents_size() + c.bytes_contents_size();
}

/// The field that has the elements of a type; null: it is sent raw alone.
const char* field_of(const std::string& type) {
  static constexpr std::pair<const char*, const char*> kFields[] = {
      {"BOOL", "bool_contents"},   {"INT8", "int_contents"},    {"INT16", "int_contents"},
      {"INT32", "int_contents"},   {"INT64", "int64_contents"}, {"UINT8", "uint_contents"},
      {"UINT16", "uint_contents"}, {"UINT32", "uint_contents"}, {"UINT64", "uint64_contents"},
      {"FP32", "fp32_contents"},   {"FP64", "fp64_contents"},   {"BYTES", "bytes_contents"},
  };
  for (const auto& [name, field] : kFields)
    if (type == name) return field;
  return nullptr;
}

/// The bytes of an input that came in typed fields. Whether all elements were in its type's.
bool bytes_of(const inference::InferTensorContents& c, const std::string& type, std::string& out) {
  const auto take = [&]<class T, class Field>(T, const Field& field) {
    out = bytes_of<T>(field);
    return field.size();
  };
  int64_t taken = 0;
  if (type == "BOOL")
    taken = take(uint8_t{}, c.bool_contents());
  else if (type == "INT8")
    taken = take(int8_t{}, c.int_contents());
  else if (type == "INT16")
    taken = take(int16_t{}, c.int_contents());
  else if (type == "INT32")
    taken = take(int32_t{}, c.int_contents());
  else if (type == "INT64")
    taken = take(int64_t{}, c.int64_contents());
  else if (type == "UINT8")
    taken = take(uint8_t{}, c.uint_contents());
  else if (type == "UINT16")
    taken = take(uint16_t{}, c.uint_contents());
  else if (type == "UINT32")
    taken = take(uint32_t{}, c.uint_contents());
  else if (type == "UINT64")
    taken = take(uint64_t{}, c.uint64_contents());
  else if (type == "FP32")
    taken = take(float{}, c.fp32_contents());
  else if (type == "FP64")
    taken = take(double{}, c.fp64_contents());
  else if (type == "BYTES") {
    taken = c.bytes_contents_size();
    for (const std::string& item : c.bytes_contents()) {
      const auto size = static_cast<uint32_t>(item.size());
      out.append(reinterpret_cast<const char*>(&size), sizeof size);
      out += item;
    }
  }
  return taken == elements_of(c);
}

/// Parameters as JSON. What has no value that is known here would change nothing, though it was meant to: refused.
grpc::Status json_of(const google::protobuf::Map<std::string, inference::InferParameter>& parameters, Json& out) {
  out = Json::object();
  for (const auto& [name, value] : parameters) {
    switch (value.parameter_choice_case()) {
      case inference::InferParameter::kBoolParam:
        out[name] = value.bool_param();
        break;
      case inference::InferParameter::kInt64Param:
        out[name] = value.int64_param();
        break;
      case inference::InferParameter::kStringParam:
        out[name] = value.string_param();
        break;
      case inference::InferParameter::kDoubleParam:
        if (!std::isfinite(value.double_param()))
          return {grpc::StatusCode::INVALID_ARGUMENT,
                  "the parameter '" + name + "' is infinite or no number; needed a finite number"};
        out[name] = value.double_param();
        break;
      case inference::InferParameter::kUint64Param:
        if (value.uint64_param() > static_cast<uint64_t>(INT64_MAX))
          return {grpc::StatusCode::INVALID_ARGUMENT, "the parameter '" + name + "' is " +
                                                          std::to_string(value.uint64_param()) + "; needed at most " +
                                                          std::to_string(INT64_MAX)};
        out[name] = value.uint64_param();
        break;
      case inference::InferParameter::PARAMETER_CHOICE_NOT_SET:
        return {grpc::StatusCode::INVALID_ARGUMENT,
                "the parameter '" + name + "' has no value; needed bool, int64, string, double or uint64"};
    }
  }
  return grpc::Status::OK;
}

/// The request over HTTP: its JSON, then the bytes of the inputs.
grpc::Status http_of(const inference::ModelInferRequest& in, Request& out) {
  out.path = path_of(in.model_name(), in.model_version()) + "/infer";
  const bool raw = in.raw_input_contents_size() > 0;
  if (raw && in.raw_input_contents_size() != in.inputs_size())
    return {grpc::StatusCode::INVALID_ARGUMENT, "found " + std::to_string(in.raw_input_contents_size()) +
                                                    " raw_input_contents; needed one for each of " +
                                                    std::to_string(in.inputs_size()) + " inputs"};
  Json parameters;
  if (const grpc::Status status = json_of(in.parameters(), parameters); !status.ok()) return status;
  parameters["binary_data_output"] = true;
  Json j = {{"parameters", std::move(parameters)}, {"inputs", Json::array()}};
  if (!in.id().empty()) j["id"] = in.id();
  std::vector<std::string> typed(raw ? 0 : static_cast<size_t>(in.inputs_size()));
  size_t bytes = 0;
  for (int i = 0; i < in.inputs_size(); ++i) {
    const auto& input = in.inputs(i);
    if (raw && input.has_contents())
      return {grpc::StatusCode::INVALID_ARGUMENT,
              "input '" + input.name() + "' has contents; needed raw_input_contents alone, or no such"};
    if (const char* field = field_of(input.datatype()); !raw && !field)
      return {grpc::StatusCode::INVALID_ARGUMENT,
              "input '" + input.name() + "' is " + input.datatype() + ", which is sent as raw_input_contents alone"};
    else if (!raw && !bytes_of(input.contents(), input.datatype(), typed[static_cast<size_t>(i)]))
      return {grpc::StatusCode::INVALID_ARGUMENT, "input '" + input.name() + "' is " + input.datatype() +
                                                      " and has elements in another field; needed all in " + field};
    const std::string& its = raw ? in.raw_input_contents(i) : typed[static_cast<size_t>(i)];
    Json its_parameters;
    if (const grpc::Status status = json_of(input.parameters(), its_parameters); !status.ok()) return status;
    its_parameters["binary_data_size"] = its.size();
    bytes += its.size();
    j["inputs"].push_back({{"name", input.name()},
                           {"datatype", input.datatype()},
                           {"shape", std::vector<int64_t>(input.shape().begin(), input.shape().end())},
                           {"parameters", std::move(its_parameters)}});
  }
  for (const auto& output : in.outputs()) {
    Json its_parameters;
    if (const grpc::Status status = json_of(output.parameters(), its_parameters); !status.ok()) return status;
    its_parameters["binary_data"] = true;
    j["outputs"].push_back({{"name", output.name()}, {"parameters", std::move(its_parameters)}});
  }
  out.method = "POST";
  out.body = j.dump(-1, ' ', false, Json::error_handler_t::replace);
  out.headers.push_back({"inference-header-content-length", std::to_string(out.body.size())});
  out.body.reserve(out.body.size() + bytes);
  if (raw) {
    for (const std::string& its : in.raw_input_contents()) out.body += its;
  } else {
    for (const std::string& its : typed) out.body += its;
  }
  out.has_body = true;
  return grpc::Status::OK;
}

/// The answer, its tensors raw.
grpc::Status answer_of(const Response& response, inference::ModelInferResponse& out) {
  size_t json_bytes = response.body.size();
  for (const Header& h : response.headers)
    if (h.name == "Inference-Header-Content-Length") json_bytes = std::stoul(h.value);
  const Json j = Json::parse(std::string_view(response.body).substr(0, json_bytes));
  out.set_model_name(j.value("model_name", ""));
  out.set_model_version(j.value("model_version", ""));
  out.set_id(j.value("id", ""));
  size_t at = json_bytes;
  for (const Json& row : j.at("outputs")) {
    auto& output = *out.add_outputs();
    output.set_name(row.at("name").get<std::string>());
    output.set_datatype(row.at("datatype").get<std::string>());
    for (const Json& extent : row.at("shape")) output.add_shape(extent.get<int64_t>());
    const auto size = row.at("parameters").at("binary_data_size").get<size_t>();
    out.add_raw_output_contents(response.body.substr(at, size));
    at += size;
  }
  return grpc::Status::OK;
}

/// ModelInfer is read here: gRPC answers UNIMPLEMENTED, without a word, where a message is none.
using Calls = Service::WithRawCallbackMethod_ModelInfer<Service::WithCallbackMethod_ServerLive<
    Service::WithCallbackMethod_ServerReady<Service::WithCallbackMethod_ModelReady<
        Service::WithCallbackMethod_ServerMetadata<Service::WithCallbackMethod_ModelMetadata<
            Service::WithCallbackMethod_RepositoryIndex<Service::WithCallbackMethod_RepositoryModelLoad<
                Service::WithCallbackMethod_RepositoryModelUnload<Service::WithCallbackMethod_ModelConfig<
                    Service::WithCallbackMethod_ModelStatistics<Service::Service>>>>>>>>>>>;

class Front final : public GrpcFront, private Calls {
 public:
  Front(GrpcBackend& backend, const GrpcOptions& options)
      : backend_(backend), address_(options.address), door_(options.listener, options.connections, backend) {
    gpr_set_log_function([](gpr_log_func_args*) {});  // standard error is the log's, in its form
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    using From = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    auto acceptor =
        builder.experimental().AddExternalConnectionAcceptor(From::FROM_FD, grpc::InsecureServerCredentials());
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(options.idle_timeout));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, milliseconds(options.client_timeout));
    // A client that stops in the middle of a call's message answers no ping either. Of those without calls none is
    // sent: clients of gRPC's own look at a connection that they do not use every five seconds alone.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.client_timeout));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.client_timeout));
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as are due
    builder.SetMaxReceiveMessageSize(static_cast<int>(std::min<int64_t>(options.request_limit, INT32_MAX)));
    builder.SetMaxSendMessageSize(-1);
    // gRPC unpacks a message whole before it looks how large it is: a thousandth of that had come.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
      builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
    grpc::ResourceQuota quota("nnex");
    quota.Resize(static_cast<size_t>(options.memory + options.request_limit));  // it counts more than messages
    builder.SetResourceQuota(quota);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    set_ready(false);
    listens_ = server_ && door_.open(std::move(acceptor));
  }
  ~Front() override { (void)stop(std::chrono::microseconds(0)); }

  bool listens() const { return listens_; }
  std::string address() const override { return address_; }
  void set_ready(bool ready) override {
    auto* health = server_ ? server_->GetHealthCheckService() : nullptr;
    if (!health) return;
    health->SetServingStatus(inference::GRPCInferenceService::service_full_name(), ready);
    health->SetServingStatus(ready);
  }
  bool stop(std::chrono::microseconds time) override {
    if (!server_) return true;
    // Shutdown() would wait for whoever watches the health, too, which has no end of its own.
    const auto end = std::chrono::steady_clock::now() + time;
    ending_ = true;
    while (open_ > 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bool all = open_ == 0;
    door_.close();
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
    return all;
  }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* ask(Context* context, std::string method, std::string path, Call::Fill fill, std::string body = {}) {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.has_body = !body.empty();
    request.body = std::move(body);
    auto* call = new Call(open_);
    if (ending_)
      call->Finish(refusal_);
    else
      call->begin(backend_, *context, std::move(request), std::move(fill));
    return call;
  }
  /// Where both yes and no are answers.
  static grpc::Status yes_or_no(const Response& r, bool& yes) {
    yes = r.status == 200;
    return r.status == 503 ? grpc::Status::OK : status_of(r);
  }

  Reactor* ServerLive(Context* c, const inference::ServerLiveRequest*, inference::ServerLiveResponse* out) override {
    return ask(c, "GET", "/v2/health/live", [out](const Response& r) {
      bool yes = false;
      const grpc::Status status = yes_or_no(r, yes);
      out->set_live(yes);
      return status;
    });
  }
  Reactor* ServerReady(Context* c, const inference::ServerReadyRequest*, inference::ServerReadyResponse* out) override {
    return ask(c, "GET", "/v2/health/ready", [out](const Response& r) {
      bool yes = false;
      const grpc::Status status = yes_or_no(r, yes);
      out->set_ready(yes);
      return status;
    });
  }
  Reactor* ModelReady(Context* c, const inference::ModelReadyRequest* in, inference::ModelReadyResponse* out) override {
    return ask(c, "GET", path_of(in->name(), in->version()) + "/ready", [out](const Response& r) {
      bool yes = false;
      const grpc::Status status = yes_or_no(r, yes);
      out->set_ready(yes);
      return status;
    });
  }
  Reactor* ServerMetadata(Context* c, const inference::ServerMetadataRequest*,
                          inference::ServerMetadataResponse* out) override {
    return ask(c, "GET", "/v2", [out](const Response& r) {
      if (r.status != 200) return status_of(r);
      const Json j = Json::parse(r.body);
      out->set_name(j.at("name").get<std::string>());
      out->set_version(j.at("version").get<std::string>());
      for (const Json& word : j.at("extensions")) out->add_extensions(word.get<std::string>());
      return grpc::Status::OK;
    });
  }
  Reactor* ModelMetadata(Context* c, const inference::ModelMetadataRequest* in,
                         inference::ModelMetadataResponse* out) override {
    return ask(c, "GET", path_of(in->name(), in->version()), [out](const Response& r) {
      if (r.status != 200) return status_of(r);
      const Json j = Json::parse(r.body);
      out->set_name(j.at("name").get<std::string>());
      out->set_platform(j.at("platform").get<std::string>());
      for (const Json& version : j.at("versions")) out->add_versions(version.get<std::string>());
      const auto fill = [](const Json& rows, auto* into) {
        for (const Json& row : rows) {
          auto& tensor = *into->Add();
          tensor.set_name(row.at("name").get<std::string>());
          tensor.set_datatype(row.at("datatype").get<std::string>());
          for (const Json& extent : row.at("shape")) tensor.add_shape(extent.get<int64_t>());
        }
      };
      fill(j.at("inputs"), out->mutable_inputs());
      fill(j.at("outputs"), out->mutable_outputs());
      return grpc::Status::OK;
    });
  }
  Reactor* ModelInfer(Context* c, const grpc::ByteBuffer* in, grpc::ByteBuffer* out) override {
    auto* call = new Call(open_);
    if (ending_) {
      call->Finish(refusal_);
      return call;
    }
    Request request;
    if (const grpc::Status status = read(*in, request); !status.ok()) {
      request.method = "POST";
      backend_.refused(request, peer_of(*c), 400, status.error_message());
      call->Finish(status);
      return call;
    }
    const auto left = c->deadline() - std::chrono::system_clock::now();
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(left).count();
    if (c->deadline() != std::chrono::system_clock::time_point::max())
      request.headers.push_back({"timeout", std::to_string(std::max<int64_t>(us, 1))});
    call->begin(backend_, *c, std::move(request), [out](const Response& r) {
      if (r.status != 200) return status_of(r);
      inference::ModelInferResponse message;
      if (const grpc::Status status = answer_of(r, message); !status.ok()) return status;
      bool own = false;
      return grpc::SerializationTraits<inference::ModelInferResponse>::Serialize(message, out, &own);
    });
    return call;
  }
  static grpc::Status read(const grpc::ByteBuffer& in, Request& request) {
    grpc::ByteBuffer bytes(in);
    inference::ModelInferRequest message;
    if (!grpc::SerializationTraits<inference::ModelInferRequest>::Deserialize(&bytes, &message).ok()) {
      request.path = "/inference.GRPCInferenceService/ModelInfer";
      return {grpc::StatusCode::INVALID_ARGUMENT, "the message is no ModelInferRequest"};
    }
    return http_of(message, request);
  }
  Reactor* ModelConfig(Context* c, const inference::ModelConfigRequest* in,
                       inference::ModelConfigResponse* out) override {
    return ask(c, "GET", path_of(in->name(), in->version()) + "/config", [out](const Response& r) {
      return r.status == 200 ? parsed(r.body, *out->mutable_config()) : status_of(r);
    });
  }
  Reactor* ModelStatistics(Context* c, const inference::ModelStatisticsRequest* in,
                           inference::ModelStatisticsResponse* out) override {
    return ask(c, "GET", path_of(in->name(), in->version()) + "/stats",
               [out](const Response& r) { return r.status == 200 ? parsed(r.body, *out) : status_of(r); });
  }
  /// What JSON says in the message's own words; more of it is passed over.
  static grpc::Status parsed(const std::string& json, google::protobuf::Message& out) {
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const auto status = google::protobuf::util::JsonStringToMessage(json, &out, options);
    return status.ok() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::INTERNAL, std::string(status.message()));
  }
  Reactor* RepositoryIndex(Context* c, const inference::RepositoryIndexRequest* in,
                           inference::RepositoryIndexResponse* out) override {
    const auto fill = [out](const Response& r) {
      if (r.status != 200) return status_of(r);
      for (const Json& row : Json::parse(r.body)) {
        auto& model = *out->add_models();
        model.set_name(row.at("name").get<std::string>());
        model.set_version(row.at("version").get<std::string>());
        model.set_state(row.at("state").get<std::string>());
        model.set_reason(row.at("reason").get<std::string>());
      }
      return grpc::Status::OK;
    };
    return ask(c, "POST", "/v2/repository/index", fill, in->ready() ? R"({"ready":true})" : "{}");
  }
  Reactor* RepositoryModelLoad(Context* c, const inference::RepositoryModelLoadRequest* in,
                               inference::RepositoryModelLoadResponse*) override {
    Json parameters = Json::object();  // their names tell whether they are refused
    for (const auto& [name, value] : in->parameters()) parameters[name] = true;
    return ask(c, "POST", "/v2/repository/models/" + escaped(in->model_name()) + "/load", status_of,
               Json({{"parameters", parameters}}).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  Reactor* RepositoryModelUnload(Context* c, const inference::RepositoryModelUnloadRequest* in,
                                 inference::RepositoryModelUnloadResponse*) override {
    return ask(c, "POST", "/v2/repository/models/" + escaped(in->model_name()) + "/unload", status_of, "{}");
  }

  GrpcBackend& backend_;
  std::string address_;
  bool listens_ = false;
  Door door_;
  std::atomic<int> open_ = 0;  // calls
  std::atomic<bool> ending_ = false;
  const grpc::Status refusal_ = {grpc::StatusCode::UNAVAILABLE, "the server ends"};
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace
}  // namespace nnex::serve

extern "C" __attribute__((visibility("default"))) nnex::serve::GrpcFront* nnex_grpc_front(
    nnex::serve::GrpcBackend& backend, const nnex::serve::GrpcOptions& options, std::string& error) {
  auto front = std::make_unique<nnex::serve::Front>(backend, options);
  if (front->listens()) return front.release();
  error = "gRPC does not begin: no file or thread is left for it";
  return nullptr;
}
