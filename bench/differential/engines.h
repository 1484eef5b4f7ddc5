#pragma once
// Both engines: bytes of a model and its inputs in, outputs or the reason of a refusal out.

#include <string>
#include <vector>

#include "../peer.h"
#include "case.h"

namespace nnex::differential {

enum class Outcome {
  answered,
  refused,  ///< The model or its data are wrong, says the engine.
  missing,  ///< The engine has no implementation, as far as it says.
};

struct Answer {
  Outcome outcome = Outcome::answered;
  std::string why;
  std::vector<Tensor> outputs;
};

class Peer {
 public:
  explicit Peer(const PeerLibrary& library);
  Answer run(const Case& made, const std::string& model) const;

 private:
  const PeerLibrary& library_;
  void *environment_ = nullptr, *allocator_ = nullptr, *memory_ = nullptr;
};

Answer run_ours(const Case& made, const std::string& model);

}  // namespace nnex::differential
