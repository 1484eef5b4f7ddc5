// What becomes of features before a model, and of answers after it: mostly ai.onnx.ml.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/answer.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/gather.h"
#include "ops/join.h"
#include "ops/label_encoder.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format {
namespace {

template <class T>
Tensor list_of(const std::vector<T>& values) {
  return Tensor::of(Shape{static_cast<int64_t>(values.size())}, values);
}

Tensor floats_of(const Reals& values) { return list_of(std::vector<float>(values.begin(), values.end())); }

const Tensor* tensor_of(const NodeImport& n, std::string_view name) {
  const AttrValue* v = n.find(name);
  return v ? std::get_if<Tensor>(v) : nullptr;
}

/// The one list among <stem>_tensor, _strings, _int64s and _floats that the node has.
Result<Tensor> list_named(const NodeImport& n, const std::string& stem) {
  if (const Tensor* t = tensor_of(n, stem + "_tensor")) return *t;
  if (Texts words = n.words(stem + "_strings"); !words.empty()) return list_of(words);
  if (Ints numbers = n.ints(stem + "_int64s"); !numbers.empty()) return list_of(numbers);
  if (Reals numbers = n.reals(stem + "_floats"); !numbers.empty()) return floats_of(numbers);
  return n.error(fmt::format("one of {0}_tensor, {0}_strings, {0}_int64s and {0}_floats must be given", stem));
}

/// Texts or integers, whichever of two attributes is given.
Result<Tensor> words_or_ints(const NodeImport& n, std::string_view texts, std::string_view ints) {
  const Texts words = n.words(texts);
  const Ints numbers = n.ints(ints);
  if (words.empty() == numbers.empty()) return n.error(fmt::format("one of {} and {} must be given", texts, ints));
  return words.empty() ? list_of(numbers) : list_of(words);
}

/// default_tensor, or the default of the values' type.
Tensor default_of(const NodeImport& n, DType values) {
  if (const Tensor* t = tensor_of(n, "default_tensor")) return *t;
  if (values == DType::str) return list_of(Texts{n.word("default_string", "_Unused")});
  if (values == DType::i64) return list_of(Ints{n.integer("default_int64", -1)});
  if (values == DType::f32) return list_of(std::vector<float>{static_cast<float>(n.real("default_float", -0.0))});
  return {};
}

Tensor counting(int64_t n) {
  Ints numbers(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) numbers[static_cast<size_t>(i)] = i;
  return list_of(numbers);
}

/// Opset 1 maps texts to their places in `classes_strings`, and places to texts.
Result<Quirked> label_encoder(NodeImport& n) {
  LabelEncoderAttrs a;
  if (n.version < 2) {
    const Tensor words = list_of(n.words("classes_strings"));
    const bool texts = n.type(0).dtype != DType::i64;
    a.keys = texts ? words : counting(words.count());
    a.values = texts ? counting(words.count()) : words;
  } else {
    NNEX_ASSIGN(a.keys, list_named(n, "keys"));
    NNEX_ASSIGN(a.values, list_named(n, "values"));
  }
  a.otherwise = default_of(n, a.values.dtype());
  n.bind(0, n.b("label_encoder", {n.in[0]}, std::move(a)));
  return Quirked::done;
}

Result<Quirked> category_mapper(NodeImport& n) {
  const Tensor words = list_of(n.words("cats_strings")), numbers = list_of(n.ints("cats_int64s"));
  const bool texts = n.type(0).dtype != DType::i64;
  LabelEncoderAttrs a;
  a.keys = texts ? words : numbers, a.values = texts ? numbers : words;
  a.otherwise = default_of(n, a.values.dtype());
  n.bind(0, n.b("label_encoder", {n.in[0]}, std::move(a)));
  return Quirked::done;
}

/// Places among the categories, then a row of zeros with a one at each; a place past the last is a row of zeros.
Result<Quirked> one_hot_encoder(NodeImport& n) {
  LabelEncoderAttrs a;
  NNEX_ASSIGN(a.keys, words_or_ints(n, "cats_strings", "cats_int64s"));
  const int64_t count = a.keys.count();
  a.values = counting(count);
  a.otherwise = list_of(Ints{count});
  if (n.integer("zeros", 1) == 0) a.missing = MissingKey::fault;
  ValueId x = n.in[0];
  const DType type = n.type(0).dtype;
  if (type != DType::str && type != DType::i64 && a.keys.dtype() == DType::i64) {
    CastAttrs whole;
    whole.to = DType::i64;
    x = n.b("cast", {x}, whole);
  }
  const ValueId places = n.b("label_encoder", {x}, std::move(a));
  n.bind(0,
         n.b("one_hot", {places, n.b.integer(count), n.b.constant(list_of(std::vector<float>{0, 1}))}, OneHotAttrs{}));
  return Quirked::done;
}

/// Columns of the last axis; a vector gives one row.
Result<Quirked> array_feature_extractor(NodeImport& n) {
  if (!n.has(1)) return n.error("input Y is required");
  GatherAttrs a;
  a.axis = -1;
  const auto rank = n.rank(0);
  if (!rank) return n.error("the rank of X must be known");
  const ValueId x = *rank == 1 ? n.b("unsqueeze", {n.in[0], n.b.ints({0})}) : n.in[0];
  n.bind(0, n.b("gather", {x, n.b("reshape", {n.in[1], n.b.ints({-1})})}, a));
  return Quirked::done;
}

Result<Quirked> binarizer(NodeImport& n) {
  const DType type = n.type(0).dtype == DType::none ? DType::f32 : n.type(0).dtype;
  double threshold = n.real("threshold", 0);
  if (!is_real(type)) threshold = std::floor(threshold);  // whole numbers above t are those above floor(t)
  n.bind(0, n.b("gt", {n.in[0], n.b.number(type, threshold)}, AnswerAttrs{type}));
  return Quirked::done;
}

/// Every input as f32 columns, cut to its declared number of them.
Result<Quirked> feature_vectorizer(NodeImport& n) {
  const Ints cut = n.ints("inputdimensions");
  std::vector<ValueId> parts;
  for (size_t i = 0; i < n.in.size(); ++i) {
    if (!n.has(i)) return n.error(fmt::format("input {} is missing", i));
    const auto rank = n.rank(i);
    if (!rank || *rank < 1) return n.error(fmt::format("input {} must have 1 or 2 axes", i));
    ValueId x = n.in[i];
    if (*rank == 1) x = n.b("unsqueeze", {x, n.b.ints({0})});
    if (*rank > 2) x = n.b("reshape", {x, n.b.ints({0, -1})});
    if (n.type(i).dtype != DType::f32) {
      CastAttrs real;
      real.to = DType::f32;
      x = n.b("cast", {x}, real);
    }
    if (i < cut.size()) x = n.b("slice", {x, n.b.ints({0}), n.b.ints({cut[i]}), n.b.ints({1})});
    parts.push_back(x);
  }
  if (parts.empty()) return n.error("at least one input is required");
  AxisAttrs columns;
  columns.axis = 1;
  n.bind(0, n.b("concat", std::move(parts), columns));
  return Quirked::done;
}

/// x where it is not the replaced value; one number for all columns, or one a column.
Result<Quirked> imputer(NodeImport& n) {
  const Reals reals = n.reals("imputed_value_floats");
  const Ints ints = n.ints("imputed_value_int64s");
  if (reals.empty() && ints.empty()) return n.error("imputed_value_floats or imputed_value_int64s must be given");
  const DType known = n.type(0).dtype;
  const bool whole = known == DType::none ? reals.empty() : !is_real(known);
  const DType type = known == DType::none ? (whole ? DType::i64 : DType::f32) : known;
  const size_t count = whole ? ints.size() : reals.size();
  if (count == 0)
    return n.error(
        fmt::format("X is {}; {} must be given", name(type), whole ? "imputed_value_int64s" : "imputed_value_floats"));
  NNEX_ASSIGN(Tensor fill, Tensor::make(type, Shape{static_cast<int64_t>(count)}));
  for (size_t i = 0; i < count; ++i) {
    if (whole)
      set_int(fill, static_cast<int64_t>(i), ints[i]);
    else
      set_real(fill, static_cast<int64_t>(i), reals[i]);
  }
  const double old = n.real("replaced_value_float", 0);
  ValueId gone;
  if (whole) {
    NNEX_ASSIGN(Tensor number, Tensor::make(type, Shape{}));
    set_int(number, 0, n.integer("replaced_value_int64", 0));
    gone = n.b("eq", {n.in[0], n.b.constant(std::move(number))});
  } else {
    gone = old != old ? n.b("is_nan", {n.in[0]}) : n.b("eq", {n.in[0], n.b.number(type, old)});
  }
  n.bind(0, n.b("select", {gone, n.b.constant(std::move(fill)), n.in[0]}));
  return Quirked::done;
}

/// The two lists of labels become the row's one.
Result<Quirked> joined_labels(NodeImport& n, std::string_view ours, std::string_view texts, std::string_view ints) {
  NNEX_ASSIGN(Tensor labels, words_or_ints(n, texts, ints));
  n.drop(texts);
  n.drop(ints);
  n.set(ours, std::move(labels));
  return Quirked::no;
}
Result<Quirked> svm_classifier(NodeImport& n) {
  return joined_labels(n, "labels", "classlabels_strings", "classlabels_ints");
}
Result<Quirked> zip_map(NodeImport& n) { return joined_labels(n, "keys", "classlabels_strings", "classlabels_int64s"); }
Result<Quirked> dict_vectorizer(NodeImport& n) {
  return joined_labels(n, "vocabulary", "string_vocabulary", "int64_vocabulary");
}

Result<Quirked> tf_idf_vectorizer(NodeImport& n) { return joined_labels(n, "pool", "pool_strings", "pool_int64s"); }

Result<Quirked> cast_map(NodeImport& n) {
  const std::string to = n.word("cast_to", "TO_FLOAT"), form = n.word("map_form", "DENSE");
  const int64_t length = n.integer("max_map", 1);
  const DType type = to == "TO_FLOAT"    ? DType::f32
                     : to == "TO_INT64"  ? DType::i64
                     : to == "TO_STRING" ? DType::str
                                         : DType::none;
  if (type == DType::none) return n.error(fmt::format("cast_to is '{}'; needed TO_FLOAT, TO_INT64 or TO_STRING", to));
  if (form != "DENSE" && form != "SPARSE")
    return n.error(fmt::format("map_form is '{}'; needed DENSE or SPARSE", form));
  for (const char* name : {"cast_to", "map_form", "max_map"}) n.drop(name);
  n.set("to", type);
  n.set("sparse", form == "SPARSE");
  n.set("length", length);
  return Quirked::no;
}

/// The quirk of an operator whose first input must be there.
template <Quirk quirk>
Result<Quirked> of_x(NodeImport& n) {
  if (!n.has(0)) return n.error("input X is required");
  return quirk(n);
}

/// Until opset 19 the axis is an attribute and 1 where it is not given.
Result<Quirked> dft(NodeImport& n) {
  if (n.version < 20 && !n.given("axis")) n.set("axis", int64_t{1});
  return Quirked::no;
}

constexpr std::string_view kDomain = "ai.onnx.ml";
constexpr QuirkRow kFeatureRows[] = {{"LabelEncoder", of_x<label_encoder>, kDomain},
                                     {"CategoryMapper", of_x<category_mapper>, kDomain},
                                     {"OneHotEncoder", of_x<one_hot_encoder>, kDomain},
                                     {"ArrayFeatureExtractor", of_x<array_feature_extractor>, kDomain},
                                     {"Binarizer", of_x<binarizer>, kDomain},
                                     {"FeatureVectorizer", of_x<feature_vectorizer>, kDomain},
                                     {"Imputer", of_x<imputer>, kDomain},
                                     {"SVMClassifier", of_x<svm_classifier>, kDomain},
                                     {"ZipMap", of_x<zip_map>, kDomain},
                                     {"DictVectorizer", of_x<dict_vectorizer>, kDomain},
                                     {"CastMap", of_x<cast_map>, kDomain},
                                     {"TfIdfVectorizer", of_x<tf_idf_vectorizer>},
                                     {"DFT", dft}};

}  // namespace

std::span<const QuirkRow> feature_quirks() { return read_of<kFeatureRows>(); }

}  // namespace nnex::onnx_format
