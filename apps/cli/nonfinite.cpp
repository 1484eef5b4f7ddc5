#include "nonfinite.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "cli.h"
#include "nnex/elements.h"

namespace nnex::cli {
namespace {

/// A tensor, and how many of its elements are NaN and infinite.
struct Counted {
  std::string_view kind;  ///< "input", "parameter", "tensor"
  std::string name, place, type;
  int64_t elements = 0, nan = 0, infinite = 0;
};

class Count {
 public:
  void add(std::string_view kind, const std::string& name, const std::string& place, const Value& v) {
    const Tensor* t = v.tensor();
    if (!t || is_object(t->dtype()) || is_complex(t->dtype())) return;
    ++tensors;
    if (!is_real(t->dtype())) return;
    Counted c{kind, name, place, v.text(), t->count(), 0, 0};
    for (int64_t i = 0; i < t->count(); ++i) {
      const double x = real_at(*t, i);
      c.nan += std::isnan(x), c.infinite += std::isinf(x);
    }
    if (c.nan + c.infinite > 0) found.push_back(std::move(c));
  }

  std::vector<Counted> found;
  int64_t tensors = 0;
};

std::string counts(const Counted& c) {
  std::string out;
  if (c.nan > 0) out = fmt::format("{} NaN", c.nan);
  if (c.infinite > 0) out += fmt::format("{}{} infinite", out.empty() ? "" : ", ", c.infinite);
  return fmt::format("{} of {} elements", out, c.elements);
}

void print(const Count& count) {
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, count.found.size()); ++i) {
    const Counted& c = count.found[i];
    say("{}{:<9} {}  {}  {}{}{}\n", i == 0 ? "first  " : "       ", c.kind, one_line(c.name), c.type, counts(c),
        c.place.empty() ? "" : "  ", one_line(c.place));
  }
  if (count.found.size() > kShown) say("       ... which --json lists all\n");
  say("{} of {} tensors have elements that are NaN or infinite\n", count.found.size(), count.tensors);
}

}  // namespace

int show_nonfinite(const LayeredModel& layers, const std::vector<Value>& inputs, const std::vector<Value>& out,
                   bool json, bool quiet) {
  Count count;
  for (size_t i = 0; i < inputs.size(); ++i) count.add("input", layers.model.inputs()[i].name, "", inputs[i]);
  for (const NamedTensor& p : layers.parameters) count.add("parameter", p.name, "", Value(p.tensor));
  const size_t outputs = out.size() - layers.layers.size();
  for (size_t i = outputs; i < out.size(); ++i)
    count.add("tensor", layers.model.outputs()[i].name, layers.layers[i - outputs], out[i]);
  if (json) {
    Json j = {{"schema", "nnex.nonfinite/1"},
              {"finite", count.found.empty()},
              {"checked", count.tensors},
              {"tensors", Json::array()}};
    for (const Counted& c : count.found)
      j["tensors"].push_back({{"kind", c.kind},
                              {"name", c.name},
                              {"place", c.place},
                              {"type", c.type},
                              {"nan", c.nan},
                              {"infinite", c.infinite}});
    say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  } else if (!quiet) {
    print(count);
  }
  return count.found.empty() ? kOk : kNegative;
}

}  // namespace nnex::cli
