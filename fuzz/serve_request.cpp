// Reads whatever bytes come as HTTP requests, in pieces, and their bodies as requests for inference. What can be read
// must be answered: the values that came are written back as outputs.

#include <cstdlib>
#include <string>
#include <string_view>

#include "serve/http.h"
#include "serve/protocol.h"

namespace {

using namespace nnex;

PortInfo port(const char* name, DType type, std::vector<int64_t> extents) {
  PortInfo p;
  p.name = name;
  p.dtype = type;
  p.known_rank = true;
  p.extents = std::move(extents);
  p.dims.assign(p.extents.size(), "N");
  return p;
}

void infer(const serve::Request& request, const serve::Ports& ports) {
  std::optional<size_t> json_bytes;
  if (const std::string* h = request.header("inference-header-content-length"))
    json_bytes = static_cast<size_t>(std::strtoull(h->c_str(), nullptr, 10));
  auto body = std::make_shared<const std::string>(request.body);
  const auto read = serve::read_infer(body, json_bytes, ports);
  if (!read.ok()) return;
  const auto written = serve::write_infer("m", "1", *read, ports, read->inputs);
  if (!written.ok() && written.error().code() == Code::internal) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  static const std::vector<PortInfo> one = {port("x", DType::f32, {-1, 2})},
                                     several = {port("x", DType::f32, {-1, 2}), port("t", DType::str, {-1}),
                                                port("n", DType::u8, {-1}), port("h", DType::f16, {})};
  serve::RequestLimits limits;
  limits.head = 4096;
  limits.body = 1 << 16;
  serve::RequestReader reader(limits);
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t piece = data[0] == 0 ? rest.size() : data[0];
  while (!rest.empty()) {
    const size_t taken = reader.feed(rest.substr(0, piece));
    rest.remove_prefix(taken);
    if (reader.state() == serve::RequestReader::State::failed) {
      if (serve::reason_of(reader.fault().status) == "Internal Server Error") std::abort();
      return 0;
    }
    if (reader.state() == serve::RequestReader::State::complete) {
      const serve::Request request = reader.take();
      if (request.body.size() > limits.body) std::abort();
      (void)serve::segments_of(request.path);
      infer(request, {one, one});
      infer(request, {several, several});
    } else if (taken == 0) {
      std::abort();  // it reads on, or it is done
    }
  }
  return 0;
}
