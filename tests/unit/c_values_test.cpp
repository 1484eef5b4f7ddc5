// Maps, sparse tensors and tensors of DLPack through the C interface.

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "c/dlpack.h"
#include "c_handles.h"

namespace {

using namespace nnex::test;

ValueHandle whole(const std::vector<int64_t>& extents, const std::vector<int64_t>& numbers) {
  auto v = made<ValueHandle>(
      [&](nnex_value** out) { return nnex_tensor_make(NNEX_I64, extents.size(), extents.data(), out); });
  std::copy(numbers.begin(), numbers.end(), static_cast<int64_t*>(nnex_tensor_mutable_data(v.get())));
  return v;
}

TEST(CValues, MapsAreMadeReadAndRun) {
  const int64_t three = 3;
  const char* const words[] = {"b", "c", "a"};
  const auto keys = made<ValueHandle>([&](nnex_value** v) { return nnex_tensor_strings(1, &three, words, 3, v); });
  const ValueHandle one = floats({}, {1}), two = floats({}, {2}), four = floats({}, {4});
  nnex_value* const values[] = {one.get(), two.get(), four.get()};
  const auto map = made<ValueHandle>([&](nnex_value** v) { return nnex_map_make(keys.get(), values, 3, v); });
  EXPECT_EQ(nnex_value_kind(map.get()), NNEX_MAP);
  EXPECT_STREQ(nnex_value_text(map.get()), "map of 3");
  ASSERT_EQ(nnex_value_count(map.get()), 4u);
  const auto sorted = made<ValueHandle>([&](nnex_value** v) { return nnex_value_item(map.get(), 0, v); });
  EXPECT_STREQ(nnex_tensor_string(sorted.get(), 0), "a");
  const auto first = made<ValueHandle>([&](nnex_value** v) { return nnex_value_item(map.get(), 1, v); });
  EXPECT_EQ(numbers_of(first.get()), (std::vector<float>{4}));

  constexpr std::string_view kVector =
      "<ir_version: 8, opset_import: [\"\": 17, \"ai.onnx.ml\": 3]>\n"
      "net (map(string, float[]) m) => (float[1,3] y) {\n"
      "  y = ai.onnx.ml.DictVectorizer <string_vocabulary = [\"c\", \"x\", \"a\"]> (m)\n}\n";
  const auto model = made<ModelHandle>(
      [&](nnex_model** m) { return nnex_model_load_memory(kVector.data(), kVector.size(), nullptr, m); });
  ASSERT_TRUE(model);
  EXPECT_EQ(numbers_of(run(session_of(model.get()).get(), map).get()), (std::vector<float>{2, 0, 4}));

  const auto empty = made<ValueHandle>([](nnex_value** v) {
    const int64_t none = 0;
    nnex_value* no_keys = nullptr;
    EXPECT_EQ(said(nnex_tensor_make(NNEX_I64, 1, &none, &no_keys)), "ok");
    nnex_error* e = nnex_map_make(no_keys, nullptr, 0, v);
    nnex_value_free(no_keys);
    return e;
  });
  EXPECT_EQ(nnex_value_count(empty.get()), 1u);
}

TEST(CValues, TextsOfAnyBytes) {
  const int64_t three = 3;
  const char* const words[] = {"a\0b", "\xff", ""};
  const size_t sizes[] = {3, 1, 0};
  const auto texts =
      made<ValueHandle>([&](nnex_value** v) { return nnex_tensor_texts(1, &three, words, sizes, 3, v); });
  for (int64_t i = 0; i < 3; ++i) {
    size_t size = 9;
    const char* const found = nnex_tensor_text(texts.get(), i, &size);
    EXPECT_EQ(std::string_view(found, size), std::string_view(words[i], sizes[i])) << i;
  }
  size_t size = 9;
  EXPECT_EQ(nnex_tensor_text(texts.get(), 3, &size), nullptr);
  EXPECT_EQ(size, 0u);
  EXPECT_STREQ(nnex_tensor_string(texts.get(), 0), "a");
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_tensor_texts(1, &three, words, nullptr, 3, v); }),
            "found NULL for 'sizes'");
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_tensor_texts(1, &three, words, sizes, 2, v); }),
            refused<ValueHandle>([&](nnex_value** v) { return nnex_tensor_strings(1, &three, words, 2, v); }));
}

TEST(CValues, TensorsOfDLPackOfVersion1) {
  float numbers[] = {1, 2, 3, 4, 5, 6};
  const int64_t extents[] = {2, 3};
  int released = 0;
  auto v = made<ValueHandle>([&](nnex_value** out) {
    return nnex_tensor_borrow(
        NNEX_F32, 2, extents, numbers, [](void* n) { ++*static_cast<int*>(n); }, &released, out);
  });
  DLManagedTensorVersioned* managed = nullptr;
  ASSERT_EQ(said(nnex_tensor_to_dlpack_versioned(v.get(), &managed)), "ok");
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, 1u);  // to be read alone
  EXPECT_EQ(managed->dl_tensor.data, numbers);
  v.reset();
  EXPECT_EQ(released, 0);
  managed->version.major = 2;
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** out) { return nnex_tensor_from_dlpack_versioned(managed, out); }),
            "a tensor of DLPack 2.1; needed version 1");
  managed->version.major = 1;
  v = made<ValueHandle>([&](nnex_value** out) { return nnex_tensor_from_dlpack_versioned(managed, out); });
  EXPECT_EQ(nnex_tensor_data(v.get()), numbers);
  EXPECT_STREQ(nnex_value_text(v.get()), "f32[2,3]");
  EXPECT_EQ(nnex_tensor_mutable_data(v.get()), nullptr);
  EXPECT_EQ(released, 0);
  v.reset();
  EXPECT_EQ(released, 1);
  EXPECT_EQ(said(nnex_tensor_to_dlpack_versioned(nullptr, &managed)), "found NULL for 'tensor'");
  EXPECT_EQ(managed, nullptr);
}

TEST(CValues, MapsThatAreNone) {
  const ValueHandle one = floats({}, {1}), twice = whole({2}, {5, 5}), flat = whole({1, 2}, {1, 2});
  nnex_value* const values[] = {one.get(), nullptr};
  nnex_value* const both[] = {one.get(), one.get()};
  const auto refusal = [](const nnex_value* keys, nnex_value* const* items, size_t count) {
    return refused<ValueHandle>([&](nnex_value** v) { return nnex_map_make(keys, items, count, v); });
  };
  EXPECT_EQ(refusal(nullptr, both, 2), "found NULL for 'keys'");
  EXPECT_EQ(refusal(twice.get(), both, 2), "found key 0 again as key 1");
  EXPECT_EQ(refusal(twice.get(), values, 2), "found NULL for 'values[1]'");
  EXPECT_EQ(refusal(twice.get(), nullptr, 2), "found NULL for 'values'");
  EXPECT_EQ(refusal(twice.get(), both, 1), "found 2 keys and 1 values; needed as many");
  EXPECT_EQ(refusal(flat.get(), both, 2), "found i64[1,2] for 'keys'; needed i64[n] or str[n]");
  EXPECT_EQ(refusal(one.get(), both, 1), "found f32[] for 'keys'; needed i64[n] or str[n]");
}

TEST(CValues, SparseTensorsAreMadeAndRead) {
  const int64_t extents[] = {2, 3};
  const ValueHandle values = floats({2}, {5, 6}), linear = whole({2}, {1, 5}), pairs = whole({2, 2}, {0, 1, 1, 2});
  for (const nnex_value* indices : {linear.get(), pairs.get()}) {
    const auto sparse =
        made<ValueHandle>([&](nnex_value** v) { return nnex_sparse_make(values.get(), indices, 2, extents, v); });
    EXPECT_EQ(nnex_value_kind(sparse.get()), NNEX_SPARSE);
    EXPECT_STREQ(nnex_value_text(sparse.get()), "sparse f32[2,3]");
    ASSERT_EQ(nnex_sparse_rank(sparse.get()), 2u);
    EXPECT_EQ(nnex_sparse_extents(sparse.get())[1], 3);
    const auto at = made<ValueHandle>([&](nnex_value** v) { return nnex_value_item(sparse.get(), 1, v); });
    EXPECT_EQ(nnex_tensor_data(at.get()), nnex_tensor_data(indices));
    EXPECT_EQ(nnex_tensor_dtype(sparse.get()), NNEX_NONE);
  }
  EXPECT_EQ(nnex_sparse_rank(values.get()), 0u);
  EXPECT_EQ(nnex_sparse_extents(nullptr), nullptr);
}

TEST(CValues, SparseTensorsThatAreNone) {
  const int64_t extents[] = {2, 3}, negative[] = {2, -3};
  const ValueHandle values = floats({2}, {5, 6}), down = whole({2}, {5, 1}), far = whole({2}, {1, 6}),
                    below = whole({2, 2}, {0, 1, -1, 2}), three = whole({3}, {0, 1, 2});
  const auto refusal = [&](const nnex_value* v, const nnex_value* at, const int64_t* shape) {
    return refused<ValueHandle>([&](nnex_value** out) { return nnex_sparse_make(v, at, 2, shape, out); });
  };
  for (const nnex_value* at : {down.get(), far.get(), below.get()})
    EXPECT_EQ(with(refusal(values.get(), at, extents), "index 1 out of order or range; indices must ascend inside"),
              "");
  EXPECT_EQ(with(refusal(values.get(), three.get(), extents), "values f32[2] and indices i64[3] do not fit"), "");
  EXPECT_EQ(with(refusal(values.get(), values.get(), extents), "indices f32[2] do not fit"), "");
  EXPECT_EQ(with(refusal(values.get(), down.get(), negative), "needed extents of 0 or more"), "");
  EXPECT_EQ(refusal(nullptr, down.get(), extents), "found NULL for 'values'");
  EXPECT_EQ(refusal(values.get(), nullptr, extents), "found NULL for 'indices'");
}

/// Who frees or prints a value descends as deep as it nests.
TEST(CValues, NestingHasALimit) {
  const auto in_sequence = [](const ValueHandle& v) {
    return [&](nnex_value** out) {
      nnex_value* const item = v.get();
      return nnex_sequence_make(&item, 1, out);
    };
  };
  const auto in_optional = [](const ValueHandle& v) {
    return [&](nnex_value** out) { return nnex_optional_make(v.get(), out); };
  };
  ValueHandle nested = floats({}, {1});
  for (int i = 0; i < 64; ++i)
    nested = i % 2 ? made<ValueHandle>(in_sequence(nested)) : made<ValueHandle>(in_optional(nested));
  EXPECT_EQ(refused<ValueHandle>(in_sequence(nested)), "values nest deeper than 64");
  EXPECT_EQ(refused<ValueHandle>(in_optional(nested)), "values nest deeper than 64");
  const ValueHandle key = whole({1}, {1});
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** out) {
              nnex_value* const item = nested.get();
              return nnex_map_make(key.get(), &item, 1, out);
            }),
            "values nest deeper than 64");
  // Nor is it forgotten on the way out of a value and into another one.
  const ValueHandle item = made<ValueHandle>([&](nnex_value** out) { return nnex_value_item(nested.get(), 0, out); });
  const ValueHandle again = made<ValueHandle>(in_sequence(item));
  EXPECT_EQ(refused<ValueHandle>(in_sequence(again)), "values nest deeper than 64");
}

TEST(CValues, ListsOfWebNNHaveALimitToo) {
  nnex_ml_value* nested = nnex_ml_value_number(1);
  const char* const key = "key";
  for (int i = 0; i < 64; ++i) {
    nnex_ml_value* const around = i % 2 ? nnex_ml_value_list(&nested, 1) : nnex_ml_value_dictionary(&key, &nested, 1);
    ASSERT_NE(around, nullptr) << i;
    nnex_ml_value_free(nested);
    nested = around;
  }
  EXPECT_EQ(nnex_ml_value_list(&nested, 1), nullptr);
  EXPECT_EQ(nnex_ml_value_dictionary(&key, &nested, 1), nullptr);
  nnex_ml_value_free(nested);
}

/// An error says which of many is meant.
TEST(CValues, ItemsThatAreMissingAreNamed) {
  const int64_t three = 3;
  const char* const texts[] = {"a", nullptr, "c"};
  const ValueHandle one = floats({}, {1});
  nnex_value* const items[] = {one.get(), one.get(), nullptr};
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_tensor_strings(1, &three, texts, 3, v); }),
            "found NULL for 'texts[1]'");
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_sequence_make(items, 3, v); }),
            "found NULL for 'items[2]'");
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_sequence_make(nullptr, 3, v); }),
            "found NULL for 'items'");
}

}  // namespace
