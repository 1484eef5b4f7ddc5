#include "webnn/typed_call.h"

#include <cmath>

#include "base/try.h"

namespace nnex::ml {
namespace {

Result<std::string> word_of(const Param& p, int64_t number) {
  if (number >= 0 && number < static_cast<int64_t>(p.words->words.size()))
    return std::string(p.words->words[static_cast<size_t>(number)]);
  return type_error(fmt::format("{}: {} has no enumerator {}", p.name, p.words->name, number));
}

Status check_finite(const Param& p, double x) {
  if (std::isfinite(x)) return {};
  return type_error(fmt::format("{}: found {}; needed a finite number", p.name, x));
}

/// What web IDL would have refused, and words for numbers.
Status complete(const Param& p, Arg& value) {
  if (auto* x = std::get_if<double>(&value)) return check_finite(p, *x);
  if (auto* type = std::get_if<DataType>(&value)) return check_type_exists(*type, p.name);
  if (auto* list = std::get_if<Reals>(&value))
    for (double x : *list) NNEX_TRY(check_finite(p, x));
  if (p.kind == ArgKind::word && value.index() != 0) {
    NNEX_ASSIGN(value, word_of(p, std::get<int64_t>(value)));
  }
  if (p.kind == ArgKind::words && value.index() != 0) {
    Texts words;
    for (int64_t number : std::get<Ints>(value)) {
      NNEX_ASSIGN(std::string word, word_of(p, number));
      words.push_back(std::move(word));
    }
    value = std::move(words);
  }
  return {};
}

}  // namespace

Result<std::vector<Operand>> typed_call(const std::shared_ptr<BuilderState>& builder, std::string_view operation,
                                        const std::string& label, std::vector<Arg> values) {
  NNEX_TRY(usable(builder));
  const Method* method = find_method(operation);
  NNEX_ASSERT(method);
  Arguments args(*method);
  NNEX_ASSERT(values.size() == args.values.size());
  args.values = std::move(values);
  args.label = label;
  for (size_t i = 0; i < args.values.size(); ++i) NNEX_TRY(complete(args.param(i), args.values[i]));
  return call(*builder, args);
}

}  // namespace nnex::ml
