// What an ONNX operator needs beyond its spelling: the list joins the themes.

#include <unordered_map>

#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format {

Quirk find_quirk(std::string_view domain, std::string_view op) {
  static const auto table = [] {
    std::unordered_map<std::string, Quirk> t;
    for (auto theme : {constant_quirks(), math_quirks(), numeric_quirks(), shape_quirks(), window_quirks(),
                       region_quirks(), recurrent_quirks(), scan_quirks(), ml_quirks(), attention_quirks(),
                       feature_quirks(), microsoft_quirks(), microsoft_attention_quirks()})
      for (const QuirkRow& row : theme) t.emplace(std::string(row.domain) + ":" + std::string(row.op), row.quirk);
    return t;
  }();
  auto it = table.find(std::string(domain) + ":" + std::string(op));
  return it == table.end() ? nullptr : it->second;
}

}  // namespace nnex::onnx_format
