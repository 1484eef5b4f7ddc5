// Runs of several steps: sequences in and out, and the states that are left.

#include <filesystem>

#include "cli.h"
#include "nnex/elements.h"
#include "nnex/tensor_file.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

/// What one input gives to every step.
class StepInput {
 public:
  /// Finds out how the value is cut. Error: invalid_argument.
  static Result<StepInput> of(const Value& value, const PortInfo& port, int64_t steps) {
    StepInput in;
    in.value_ = value;
    const Tensor* t = value.tensor();
    if (!t || !port.known_rank) return in;
    const auto rank = static_cast<int64_t>(port.extents.size());
    const int64_t first = t->shape().rank() > 0 ? t->shape()[0] : 0;
    if (t->shape().rank() == rank + 1) {
      if (first != steps)
        return Error(Code::invalid_argument,
                     fmt::format("input '{}': found a sequence of {}; --steps says {}", port.name, first, steps));
      in.how_ = How::elements;
    } else if (rank > 0 && t->shape().rank() == rank && port.extents[0] > 0 && first != port.extents[0]) {
      if (first / steps != port.extents[0] || first % steps != 0)
        return Error(Code::invalid_argument,
                     fmt::format("input '{}': found {}; {} steps of {} need a first axis of {}", port.name,
                                 value.text(), steps, port.type, steps * port.extents[0]));
      Shape cut = t->shape();
      cut.set(0, port.extents[0]);
      std::vector<int64_t> extents = {steps};
      extents.insert(extents.end(), cut.begin(), cut.end());
      in.value_ = Value(t->reshaped(Shape(extents)));
      in.how_ = How::elements;
    }
    return in;
  }

  Result<Value> at(int64_t step) const {
    if (how_ == How::same) return value_;
    NNEX_ASSIGN(Tensor t, slice_at(*value_.tensor(), 0, step));
    return Value(std::move(t));
  }

 private:
  enum class How : uint8_t { same, elements };
  Value value_;
  How how_ = How::same;
};

/// A label as a path below the folder: no component may lead out of it.
Status check_label(const std::string& label) {
  std::string part;
  bool fine = !label.empty();
  for (size_t i = 0; i <= label.size() && fine; ++i) {
    if (i < label.size() && label[i] != '/' && label[i] != '\\') {
      part += label[i];
      continue;
    }
    fine = !part.empty() && part != "." && part != "..";
    part.clear();
  }
  if (fine) return {};
  return Error(Code::unreadable, fmt::format("the label '{}' is no name of a file below the folder", label));
}

}  // namespace

Result<std::vector<Value>> run_steps(Session& session, const std::vector<PortInfo>& ports,
                                     const std::vector<Value>& inputs, int64_t steps, const RunOptions& options) {
  std::vector<StepInput> cut;
  for (size_t i = 0; i < inputs.size(); ++i) {
    NNEX_ASSIGN(StepInput in, StepInput::of(inputs[i], ports[i], steps));
    cut.push_back(std::move(in));
  }
  std::vector<std::vector<Tensor>> parts;
  Waiting waiting("running, steps", steps);
  for (int64_t t = 0; t < steps; ++t) {
    waiting.done(t);
    std::vector<Value> now;
    for (const StepInput& in : cut) {
      NNEX_ASSIGN(Value v, in.at(t));
      now.push_back(std::move(v));
    }
    auto out = session.run(now, options);
    if (!out.ok()) return std::move(out).error().during(fmt::format("running step {} of {}", t + 1, steps));
    parts.resize(out->size());
    for (size_t o = 0; o < out->size(); ++o) {
      if (!(*out)[o].tensor())
        return Error(Code::unsupported, fmt::format("output {} is a {}; the results of several steps are put together "
                                                    "for tensors alone",
                                                    o, (*out)[o].text()));
      parts[o].push_back(*(*out)[o].tensor());
    }
  }
  std::vector<Value> all;
  for (const auto& list : parts) {
    NNEX_ASSIGN(Tensor together, stack(list, 0));
    all.emplace_back(std::move(together));
  }
  return all;
}

Status save_variable(const std::string& folder, const std::string& label, const Value& value, Existing existing) {
  NNEX_TRY(check_label(label));
  if (!value.tensor())
    return Error(Code::unsupported, fmt::format("'{}' is a {}; only tensors can be saved", label, value.text()));
  const std::filesystem::path path = std::filesystem::path(folder) / (label + ".dat");
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  if (failed)
    return Error(Code::unreadable,
                 fmt::format("cannot make the folder '{}': {}", path.parent_path().string(), failed.message()));
  // A name that nobody typed: a link of that name is no wish to write where it leads.
  return write_tensor(path.string(), *value.tensor(), label,
                      existing == Existing::refuse ? existing : Existing::replace_link);
}

}  // namespace nnex::cli
