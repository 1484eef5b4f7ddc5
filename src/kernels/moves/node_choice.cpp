// Comparisons, truth and choice: the reference's bytes. Any nonzero byte is true.

#include <array>

#include "kernels/elementwise/elementwise.h"
#include "kernels/kernel.h"
#include "ops/compare.h"

namespace nnex::kernels {
namespace {

bool is_byte(DType type) { return type == DType::boolean || type == DType::u8 || type == DType::i8; }

/// How the inputs meet the result; nothing when there are too many axes.
std::optional<Nest> nest_of(const KernelRequest& r) {
  std::span<const int64_t> shapes[Nest::kMaxOperands];
  for (size_t i = 0; i < r.in.size(); ++i) shapes[i] = r.in[i].shape.extents();
  return broadcast_nest(r.out[0].shape.extents(), {shapes, r.in.size()});
}

// ---- Comparisons

template <class T>
class CompareKernel : public Kernel {
 public:
  CompareKernel(const simd::Loops& loops, CompareKind kind, const Nest& nest)
      : loops_(loops), kind_(kind), nest_(nest) {}
  Status run(Call& c) const override {
    const T *a = c.in<T>(0).data(), *b = c.in<T>(1).data();
    compare_broadcast(loops_, *c.team, kind_, nest_, a, b, c.out<uint8_t>(0).data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  CompareKind kind_;
  Nest nest_;
};

struct NamedComparison {
  std::string_view op;
  CompareKind kind;
};
constexpr NamedComparison kComparisons[] = {{"eq", CompareKind::eq}, {"ne", CompareKind::ne}, {"lt", CompareKind::lt},
                                            {"le", CompareKind::le}, {"gt", CompareKind::gt}, {"ge", CompareKind::ge}};

Result<std::unique_ptr<Kernel>> make_compare(const KernelRequest& r) {
  const DType type = r.in[0].dtype;
  if (type != r.in[1].dtype || !is_byte(r.out[0].dtype)) return nullptr;
  const auto nest = nest_of(r);
  for (const NamedComparison& c : kComparisons) {
    if (!nest || c.op != r.op.name) continue;
    if (type == DType::f32) return made<CompareKernel<float>>(r.loops, c.kind, *nest);
    if (type == DType::i32) return made<CompareKernel<int32_t>>(r.loops, c.kind, *nest);
    if (type == DType::i64) return made<CompareKernel<int64_t>>(r.loops, c.kind, *nest);
  }
  return nullptr;
}

// ---- Truth

class LogicKernel : public Kernel {
 public:
  LogicKernel(LogicKind kind, const Nest& nest, const KernelRequest& r) : kind_(kind), nest_(nest) {
    for (size_t i : {0, 1}) whole_[i] = r.in[i].shape.count() == r.out[0].shape.count();
  }
  bool in_place(size_t input) const override { return whole_[input]; }
  Status run(Call& c) const override {
    logic_broadcast(*c.team, kind_, nest_, c.in<uint8_t>(0).data(), c.in<uint8_t>(1).data(), c.out<uint8_t>(0).data());
    return {};
  }

 private:
  LogicKind kind_;
  Nest nest_;
  bool whole_[2] = {};
};

template <LogicKind kind>
Result<std::unique_ptr<Kernel>> make_logic(const KernelRequest& r) {
  if (!is_byte(r.in[0].dtype) || !is_byte(r.in[1].dtype) || !is_byte(r.out[0].dtype)) return nullptr;
  const auto nest = nest_of(r);
  if (!nest) return nullptr;
  return made<LogicKernel>(kind, *nest, r);
}

class NotKernel : public Kernel {
 public:
  bool in_place(size_t) const override { return true; }
  Status run(Call& c) const override {
    logic_not(*c.team, c.in<uint8_t>(0).data(), c.out<uint8_t>(0).data(), c.in(0).count());
    return {};
  }
};

Result<std::unique_ptr<Kernel>> make_not(const KernelRequest& r) {
  if (!is_byte(r.in[0].dtype) || !is_byte(r.out[0].dtype)) return nullptr;
  return made<NotKernel>();
}

// ---- Kinds of numbers

class NanKernel : public Kernel {
 public:
  explicit NanKernel(const simd::Loops& loops) : loops_(loops) {}
  Status run(Call& c) const override {
    is_nan(loops_, *c.team, c.in<float>(0).data(), c.out<uint8_t>(0).data(), c.in(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
};

class InfKernel : public Kernel {
 public:
  explicit InfKernel(const IsInfAttrs& a) : negative_(a.negative), positive_(a.positive) {}
  Status run(Call& c) const override {
    is_inf(*c.team, negative_, positive_, c.in<float>(0).data(), c.out<uint8_t>(0).data(), c.in(0).count());
    return {};
  }

 private:
  bool negative_, positive_;
};

bool to_bytes(const KernelRequest& r) { return r.in[0].dtype == DType::f32 && is_byte(r.out[0].dtype); }
Result<std::unique_ptr<Kernel>> make_nan(const KernelRequest& r) {
  if (!to_bytes(r)) return nullptr;
  return made<NanKernel>(r.loops);
}
Result<std::unique_ptr<Kernel>> make_inf(const KernelRequest& r) {
  if (!to_bytes(r)) return nullptr;
  return made<InfKernel>(r.attr<IsInfAttrs>());
}

// ---- Choice

class SelectKernel : public Kernel {
 public:
  SelectKernel(const simd::Loops& loops, int bytes, const Nest& nest, const KernelRequest& r)
      : loops_(loops), bytes_(bytes), nest_(nest) {
    for (size_t i : {1, 2}) whole_[i] = r.in[i].shape.count() == r.out[0].shape.count();
  }
  bool in_place(size_t input) const override { return whole_[input]; }
  Status run(Call& c) const override {
    select_broadcast(loops_, *c.team, bytes_, nest_, c.in<uint8_t>(0).data(), c.in(1).data(), c.in(2).data(),
                     c.out(0).mutable_data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  int bytes_;  // of an element
  Nest nest_;
  bool whole_[3] = {};
};

Result<std::unique_ptr<Kernel>> make_select(const KernelRequest& r) {
  const DType type = r.out[0].dtype;
  const int width = bits(type);
  if (!is_byte(r.in[0].dtype) || is_object(type) || (width != 8 && width != 16 && width != 32 && width != 64))
    return nullptr;
  const auto nest = nest_of(r);
  if (!nest) return nullptr;
  return made<SelectKernel>(r.loops, width / 8, *nest, r);
}

constexpr KernelDef kChoiceKernels[] = {
    {"eq", "compare", make_compare},
    {"ne", "compare", make_compare},
    {"lt", "compare", make_compare},
    {"le", "compare", make_compare},
    {"gt", "compare", make_compare},
    {"ge", "compare", make_compare},
    {"and", "logic", make_logic<LogicKind::both>},
    {"or", "logic", make_logic<LogicKind::either>},
    {"xor", "logic", make_logic<LogicKind::one>},
    {"not", "logic", make_not},
    {"select", "select", make_select},
    {"is_nan", "number_kind", make_nan},
    {"is_inf", "number_kind", make_inf},
};

}  // namespace

std::span<const KernelDef> choice_kernels() { return built<kChoiceKernels>(); }

}  // namespace nnex::kernels
