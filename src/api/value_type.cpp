#include "api/value_type.h"

#include "base/failure.h"
#include "base/try.h"
#include "graph/text/parser.h"

namespace nnex {

Result<Type> value_type(std::string_view text) {
  std::string plain;  // extents may be formulas of any names
  for (size_t at = 0; at < text.size();) {
    const size_t open = std::min(text.find('[', at), text.size()), close = text.find(']', open);
    plain += text.substr(at, open - at);
    if (close == std::string_view::npos) {
      plain += text.substr(open);
      break;
    }
    plain += "[?]";
    at = close + 1;
  }
  auto type = graph_text::parse_type(plain, "type");
  if (type.ok()) return type;
  return failure(Code::invalid_argument, "'{}' is no type: {}", text, type.error().message());
}

}  // namespace nnex
