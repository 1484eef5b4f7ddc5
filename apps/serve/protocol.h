#pragma once
// The Open Inference Protocol (version 2 of KServe's) over HTTP, with Triton's extension for binary tensors: bodies to
// values and values to bodies.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/model.h"
#include "serve/http.h"

namespace nnex::serve {

/// "FP32", "BYTES"; empty where the protocol lacks the type.
std::string_view datatype_of(DType type);
/// DType::none where it is no name of the protocol's.
DType dtype_of(std::string_view datatype);

/// The error of a request that says something that cannot be.
inline Error refused(std::string message) { return Error(Code::invalid_argument, std::move(message)); }

/// What a request may ask of: inputs and outputs of a model.
struct Ports {
  const std::vector<PortInfo>& inputs;
  const std::vector<PortInfo>& outputs;
  bool rows = false;  ///< The first axis of each is rows, which are independent of each other.
};

struct WantedOutput {
  size_t port = 0;
  bool binary = false;  ///< Its bytes follow the JSON object.
  int64_t classes = 0;  ///< So many of the largest numbers as texts (classes.h); 0: the output itself.
};

/// A request for an inference.
struct InferRequest {
  std::optional<std::string> id;
  std::optional<int64_t> timeout_us;  ///< Microseconds from its arrival.
  std::vector<Value> inputs;          ///< In the model's order. Binary ones lie in the body, which they keep alive.
  int64_t own_bytes = 0;              ///< Memory of those that do not: texts, and what was JSON.
  std::vector<WantedOutput> outputs;  ///< In the order in which they were asked for.
};

/// Bytes that reading JSON takes at most, beside it.
int64_t reading_memory(std::string_view json);

/// Asks for so many bytes of memory more. Error: limit, where there are none.
using Room = std::function<Status(int64_t bytes)>;

/// Reads the body of a request. `json_bytes`: what Inference-Header-Content-Length says; nothing: all is JSON; 0: the
/// body is the content of the model's only input. `id`: gets the request's, of one that is refused, too. `room`: is
/// asked before memory is taken that neither the body nor reading_memory() is.
/// Errors: invalid_argument (what is wrong with the body, by the protocol or by the model's inputs), limit, those of
/// `room`.
Result<InferRequest> read_infer(std::shared_ptr<const std::string> body, std::optional<size_t> json_bytes,
                                const Ports& ports, std::optional<std::string>* id = nullptr, const Room& room = {});

/// Bytes that the response to a request has at least; those that classes may take are in it.
int64_t response_bytes(const InferRequest& request, const Ports& ports, const std::vector<Value>& results);

/// The response to a request. `results`: of the model, in its order. Errors: invalid_argument (an output that JSON, or
/// the protocol, cannot carry), limit.
Result<Response> write_infer(const std::string& model, const std::string& version, const InferRequest& request,
                             const Ports& ports, const std::vector<Value>& results);

/// GET v2/models/NAME
std::string metadata_of(const std::string& model, const std::vector<std::string>& versions, std::string_view platform,
                        const Ports& ports);

}  // namespace nnex::serve
