// Recipes as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "base/json.h"
#include "base/try.h"
#include "nnex/quantize.h"

namespace nnex {

namespace {
constexpr std::string_view kMethodNames[] = {"minmax", "percentile", "mse", "entropy"};
constexpr std::string_view kWeightNames[] = {"int8", "int4"};
constexpr const char* kSchema = "nnex.recipe/1";

template <class E, size_t N>
std::optional<E> named(const std::string_view (&names)[N], std::string_view name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}
}  // namespace

std::string_view name(RangeMethod method) { return kMethodNames[static_cast<size_t>(method)]; }
std::string_view name(WeightCodes codes) { return kWeightNames[static_cast<size_t>(codes)]; }
std::optional<RangeMethod> range_method_named(std::string_view name) { return named<RangeMethod>(kMethodNames, name); }

namespace {

using Json = nlohmann::ordered_json;

/// The shortest decimal number that reads back as the same float.
Json number(float x) {
  Json shortest = Json::parse(fmt::format("{}", x));
  return static_cast<float>(shortest.get<double>()) == x ? shortest : Json(static_cast<double>(x));
}

class RecipeReader {
 public:
  Result<QuantizeRecipe> read(const Json& j) {
    if (!j.is_object() || text_at(j, "schema") != kSchema)
      return failure(Code::invalid_argument, "found schema '{}'; needed a recipe, '{}'", text_at(j, "schema"), kSchema);
    QuantizeRecipe out;
    if (const auto it = j.find("settings"); it != j.end()) settings(*it, out.settings);
    each(j, "ranges", [&](const std::string& key, const Json& v) {
      const auto pair = reals(v, fmt::format("ranges, '{}'", key));
      if (pair.size() != 2 || !(pair[0] <= 0) || !(pair[1] >= 0))
        return fail(fmt::format("ranges, '{}': found {}; needed [low, high] with low <= 0 <= high", key, shown(v)));
      out.ranges[key] = {pair[0], pair[1]};
    });
    each(j, "means",
         [&](const std::string& key, const Json& v) { out.means[key] = reals(v, fmt::format("means, '{}'", key)); });
    each(j, "smoothed_by", [&](const std::string& key, const Json& v) {
      for (float x : reals(v, fmt::format("smoothed_by, '{}'", key))) {
        if (std::abs(x) > 60 || x != std::nearbyint(x))
          return fail(fmt::format("smoothed_by, '{}': found {}; needed whole powers from -60 to 60", key, x));
        out.smoothed_by[key].push_back(static_cast<int64_t>(x));
      }
    });
    each(j, "kept_float", [&](const std::string& key, const Json& v) {
      if (!v.is_string()) return fail(fmt::format("kept_float, '{}': found {}; needed text", key, shown(v)));
      out.kept_float[key] = v.get<std::string>();
    });
    if (!fault_.empty()) return Error(Code::invalid_argument, fault_);
    return out;
  }

 private:
  void fail(std::string why) {
    if (fault_.empty()) fault_ = std::move(why);
  }
  static std::string shown(const Json& v) {
    return v.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
  }
  static std::string text_at(const Json& j, const char* key) {
    const auto it = j.is_object() ? j.find(key) : j.end();
    return it != j.end() && it->is_string() ? it->get<std::string>() : "";
  }
  template <class F>
  void each(const Json& j, const char* key, F take) {
    const auto it = j.find(key);
    if (it == j.end()) return;
    if (!it->is_object()) return fail(fmt::format("{}: found {}; needed an object", key, shown(*it)));
    for (const auto& [name, v] : it->items()) take(name, v);
  }
  std::vector<float> reals(const Json& v, const std::string& where) {
    std::vector<float> out;
    if (!v.is_array()) return fail(fmt::format("{}: found {}; needed a list of numbers", where, shown(v))), out;
    for (const Json& x : v) {
      const double real = x.is_number() ? x.get<double>() : NAN;
      if (!std::isfinite(static_cast<float>(real)))
        return fail(fmt::format("{}: found {}; needed a finite number", where, shown(x))), out;
      out.push_back(static_cast<float>(real));
    }
    return out;
  }
  void settings(const Json& j, QuantizeSettings& s) {
    if (!j.is_object()) return fail(fmt::format("settings: found {}; needed an object", shown(j)));
    for (const auto& [key, v] : j.items()) setting(key, v, s);
  }
  void setting(const std::string& key, const Json& v, QuantizeSettings& s) {
    const auto wrong = [&](std::string_view needed) {
      fail(fmt::format("settings, '{}': found {}; needed {}", key, shown(v), needed));
    };
    bool* const flag = key == "per_channel"    ? &s.per_channel
                       : key == "correct_bias" ? &s.correct_bias
                       : key == "equalize"     ? &s.equalize
                       : key == "smooth"       ? &s.smooth
                                               : nullptr;
    if (flag) {
      if (!v.is_boolean()) return wrong("true or false");
      *flag = v.get<bool>();
    } else if (key == "method") {
      const auto method = v.is_string() ? range_method_named(v.get<std::string>()) : std::nullopt;
      if (!method) return wrong("minmax, percentile, mse or entropy");
      s.method = *method;
    } else if (key == "weights") {
      const auto codes = v.is_string() ? named<WeightCodes>(kWeightNames, v.get<std::string>()) : std::nullopt;
      if (!codes) return wrong("int8 or int4");
      s.weights = *codes;
    } else if (key == "percentile") {
      if (!v.is_number()) return wrong("a number");
      s.percentile = v.get<double>();
    } else if (key == "block") {
      if (!v.is_number_integer()) return wrong("a whole number");
      s.block = v.get<int64_t>();
    } else if (key == "keep_float") {
      if (!v.is_array() || std::any_of(v.begin(), v.end(), [](const Json& x) { return !x.is_string(); }))
        return wrong("a list of names");
      s.keep_float = v.get<std::vector<std::string>>();
    } else {
      fail(fmt::format("settings: found '{}', which no recipe has", key));
    }
  }

  std::string fault_;
};

Json settings_json(const QuantizeSettings& s) {
  Json j = {{"weights", name(s.weights)}};
  if (s.weights == WeightCodes::int4) {
    j["block"] = s.block;
  } else {
    j["method"] = name(s.method);
    if (s.method == RangeMethod::percentile) j["percentile"] = s.percentile;
    j["per_channel"] = s.per_channel, j["correct_bias"] = s.correct_bias;
    j["equalize"] = s.equalize, j["smooth"] = s.smooth;
  }
  if (!s.keep_float.empty()) j["keep_float"] = s.keep_float;
  return j;
}

}  // namespace

std::string recipe_text(const QuantizeRecipe& recipe) {
  Json j = {{"schema", kSchema}, {"settings", settings_json(recipe.settings)}};
  for (const auto& [tensor, range] : recipe.ranges) j["ranges"][tensor] = {number(range.low), number(range.high)};
  for (const auto& [tensor, means] : recipe.means) {
    Json& list = j["means"][tensor] = Json::array();
    for (float x : means) list.push_back(number(x));
  }
  for (const auto& [tensor, powers] : recipe.smoothed_by) j["smoothed_by"][tensor] = powers;
  for (const auto& [layer, why] : recipe.kept_float) j["kept_float"][layer] = why;
  // One line a tensor, so that two recipes can be compared line by line.
  std::string out = "{\n";
  size_t left = j.size();
  for (const auto& [key, v] : j.items()) {
    out += fmt::format(" {}: ", Json(key).dump());
    if (!v.is_object()) {
      out += v.dump();
    } else {
      out += "{\n";
      size_t inner = v.size();
      for (const auto& [name, item] : v.items())
        out += fmt::format("  {}: {}{}\n", Json(name).dump(-1, ' ', false, Json::error_handler_t::replace),
                           item.dump(-1, ' ', false, Json::error_handler_t::replace), --inner > 0 ? "," : "");
      out += " }";
    }
    out += --left > 0 ? ",\n" : "\n";
  }
  return out + "}\n";
}

Result<QuantizeRecipe> parse_recipe(std::string_view text) {
  JsonLimits limits;
  limits.depth = 8, limits.unique = true, limits.keys = size_t{1} << 14;
  NNEX_ASSIGN(const Json j, parse_json(text, limits));
  return RecipeReader().read(j);
}

}  // namespace nnex
