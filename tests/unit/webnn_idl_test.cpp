// Conversions of Web IDL: which JavaScript value becomes which argument, and which is refused.

#include "webnn/idl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "webnn/builder.h"
#include "webnn/call.h"
#include "webnn/interface.h"
#include "webnn/method.h"

namespace nnex::ml::idl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(WebnnIdl, EnforcedUnsignedLong) {
  const struct {
    const char* name;
    Value value;
    std::optional<uint32_t> expected;
  } rows[] = {
      {"whole", 7, 7},
      {"fraction is cut", 7.9, 7},
      {"just below zero is zero", -0.5, 0},
      {"largest", 4294967295.0, 4294967295u},
      {"one more", 4294967296.0, std::nullopt},
      {"negative", -1, std::nullopt},
      {"no number", std::nan(""), std::nullopt},
      {"infinite", kInfinity, std::nullopt},
      {"text with a number", "0x10", 16},
      {"empty text", "", 0},
      {"another text", "12px", std::nullopt},
      {"nothing", Null{}, 0},
      {"undefined", Undefined{}, std::nullopt},
      {"truth", true, 1},
      {"a BigInt is no Number", BigInt{false, 1}, std::nullopt},
      {"an array of one", Sequence{Value(3)}, 3},
      {"an object", Dictionary{}, std::nullopt},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto got = to_unsigned_long(row.value, "axis");
    ASSERT_EQ(got.ok(), row.expected.has_value());
    if (row.expected)
      EXPECT_EQ(*got, *row.expected);
    else
      EXPECT_EQ(got.error().kind, ErrorKind::TypeError);
  }
}

TEST(WebnnIdl, WrappedUnsignedLong) {
  EXPECT_EQ(*to_wrapped_unsigned_long(-1, "axis"), 4294967295u);
  EXPECT_EQ(*to_wrapped_unsigned_long(4294967297.0, "axis"), 1u);
  EXPECT_EQ(*to_wrapped_unsigned_long(std::nan(""), "axis"), 0u);
  EXPECT_EQ(*to_wrapped_unsigned_long(kInfinity, "axis"), 0u);
}

TEST(WebnnIdl, Floats) {
  EXPECT_FALSE(to_double(kInfinity, "alpha").ok());
  EXPECT_FALSE(to_float(3.5e38, "scales").ok());
  EXPECT_EQ(*to_float(3.4028235e38, "scales"), std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(*to_ml_number(std::nan(""), "value")->number()));
  EXPECT_EQ(to_ml_number(BigInt{true, 5}, "value")->big_int()->magnitude, 5u);
}

TEST(WebnnIdl, BigIntsBeyond64BitsSaturate) {
  EXPECT_EQ(big_int_of("-12")->magnitude, 12u);
  EXPECT_TRUE(big_int_of("-12")->negative);
  EXPECT_EQ(big_int_of("184467440737095516150")->magnitude, std::numeric_limits<uint64_t>::max());
  EXPECT_FALSE(big_int_of("-0")->negative);
  EXPECT_FALSE(big_int_of("1.5"));
  EXPECT_FALSE(big_int_of(""));
}

TEST(WebnnIdl, Sequences) {
  const uint32_t numbers[] = {2, 3};
  const View view{BufferSource(BufferKind::Uint32Array, std::as_bytes(std::span<const uint32_t>(numbers))), nullptr};
  ASSERT_TRUE(to_sequence(view, "shape").ok());
  EXPECT_EQ(*(*to_sequence(view, "shape"))[1].number(), 3);
  EXPECT_FALSE(to_sequence("23", "shape").ok());
  EXPECT_FALSE(to_sequence(Dictionary{}, "shape").ok());
}

TEST(WebnnIdl, Descriptors) {
  const Value good = Dictionary{{"dataType", "float16"}, {"shape", Sequence{Value(2), Value(3)}}, {"readable", 1}};
  ASSERT_TRUE(to_tensor_descriptor(good, "createTensor").ok());
  EXPECT_TRUE(to_tensor_descriptor(good, "createTensor")->readable);
  EXPECT_EQ(to_tensor_descriptor(good, "createTensor")->shape, (std::vector<uint32_t>{2, 3}));
  EXPECT_EQ(to_operand_descriptor(Dictionary{{"shape", Sequence{}}}, "input").error().message,
            "input.dataType is required");
  EXPECT_FALSE(to_operand_descriptor(Dictionary{{"dataType", "int16"}, {"shape", Sequence{}}}, "input").ok());
  EXPECT_TRUE(to_context_options(Dictionary{{"deviceType", "npu"}}, "createContext").ok());
  EXPECT_FALSE(to_context_options(Dictionary{{"deviceType", "xpu"}}, "createContext").ok());
  EXPECT_FALSE(to_context_options(Dictionary{{"powerPreference", "much"}}, "createContext").ok());
  EXPECT_FALSE(to_context_options(3, "createContext").ok());
}

TEST(WebnnIdl, FourBitTypesAreNoWordsOfTheInterface) {
  for (int i = 0; i < kDataTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(to_data_type(std::string(name(type)), "cast").ok(), in_interface(type)) << name(type);
  }
}

/// A call of the method with operands, zeros and empty lists for what is required.
std::vector<Value> required(const Method& m, const Operand& x) {
  std::vector<Value> args;
  for (const Param& p : m.params) {
    const bool list = p.kind == ArgKind::unsigned_longs || p.kind == ArgKind::wrapped_longs;
    if (p.kind == ArgKind::operand)
      args.push_back(x);
    else if (p.kind == ArgKind::operands)
      args.push_back(Sequence{Value(x)});
    else
      args.push_back(list ? Value(Sequence{}) : p.kind == ArgKind::data_type ? Value("int32") : Value(1));
  }
  return args;
}

/// Every option of every operation: which words an enumeration takes, where a BigInt may stand.
TEST(WebnnIdl, OptionsOfAllOperations) {
  const auto context = createContext().get();
  auto builder = GraphBuilder::create(*context);
  const Operand x = *builder->input("x", {DataType::float32, {2}});
  size_t enumerations = 0, numbers = 0;
  for (const Method& m : methods())
    for (const Param& p : m.options->members) {
      SCOPED_TRACE(std::string(m.name) + "." + std::string(p.name));
      const auto converts = [&](Value v) {
        std::vector<Value> args = required(m, x);
        args.push_back(Dictionary{{std::string(p.name), std::move(v)}});
        const auto made = convert_arguments(m, args);
        EXPECT_TRUE(made.ok() || made.error().kind == ErrorKind::TypeError);
        return made.ok();
      };
      const auto word = [&](std::string_view w) {
        return p.kind == ArgKind::words ? Value(Sequence{Value(std::string(w))}) : Value(std::string(w));
      };
      EXPECT_TRUE(converts(Undefined{}));
      if (p.words) {
        ++enumerations;
        for (std::string_view w : p.words->words) EXPECT_TRUE(converts(word(w))) << w;
        for (std::string_view w : {"", "NCHW", "default", "sideways", "relu "}) EXPECT_FALSE(converts(word(w))) << w;
      }
      const bool big = p.kind == ArgKind::number || p.kind == ArgKind::boolean;
      numbers += p.kind == ArgKind::number;
      EXPECT_EQ(converts(BigInt{false, 1}), big);
    }
  EXPECT_EQ(enumerations, 23u);
  EXPECT_EQ(numbers, 3u);
}

/// Limits of a clamp, what pad() pads with and constants in every type: a BigInt is for integers of 64 bits.
TEST(WebnnIdl, BigIntsAreForLongIntegers) {
  const auto context = createContext().get();
  auto builder = GraphBuilder::create(*context);
  for (int i = 0; i < kDataTypes; ++i) {
    const auto type = static_cast<DataType>(i);
    if (!in_interface(type)) continue;
    const bool wide = type == DataType::int64 || type == DataType::uint64;
    const Operand x = *builder->input("x" + std::to_string(i), {type, {2}});
    for (const char* limit : {"minValue", "maxValue"}) {
      SCOPED_TRACE(std::string(name(type)) + " " + limit);
      const Value args[] = {x, Dictionary{{limit, BigInt{false, 3}}}}, plain[] = {x, Dictionary{{limit, 3}}};
      EXPECT_EQ(call(*builder->state(), "clamp", args).ok(), wide);
      EXPECT_TRUE(call(*builder->state(), "clamp", plain).ok());
    }
    const Value one = Sequence{Value(1)};
    const Value big[] = {x, one, one, Dictionary{{"value", BigInt{false, 3}}}};
    const Value plain[] = {x, one, one, Dictionary{{"value", 3}}};
    EXPECT_EQ(call(*builder->state(), "pad", big).ok(), wide) << name(type);
    EXPECT_TRUE(call(*builder->state(), "pad", plain).ok()) << name(type);
    EXPECT_EQ(builder->constant(type, Number(BigInt{false, 3})).ok(), wide);
    EXPECT_TRUE(builder->constant(type, Number(3)).ok());
  }
}

TEST(WebnnIdl, TextThatCannotBeSeenIsEscaped) {
  EXPECT_EQ(printable("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202Eb");
  EXPECT_EQ(printable(std::string("\0\n", 2)), "\\u0000\\u000A");
  EXPECT_EQ(printable("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\xff"), "\\uFFFD");
}

}  // namespace
}  // namespace nnex::ml::idl
