#pragma once
// How the plan finds fast code: a KernelDef serves one operator, or a fused region, where its conditions hold.

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/large_memory.h"
#include "base/threads.h"
#include "nnex/result.h"
#include "ops/built.h"
#include "ops/call.h"

namespace nnex::kernels {

namespace simd {
struct Loops;
}

/// Packed forms of constants, made once and shared by every plan and session of a model. Safe from any thread.
class Packs {
 public:
  using Bytes = std::shared_ptr<const std::byte>;
  /// The bytes under `key` (constant and packing), made by `pack` into 64-byte aligned memory the first time.
  /// Error: limit when the memory cannot be had.
  Result<Bytes> get(const std::string& key, int64_t bytes, const std::function<void(std::byte*)>& pack);
  /// Bytes held by all packs.
  int64_t bytes() const;

  /// Packed bytes of another Packs of the same constants: get() finds them where it asks for as many.
  void put(std::string key, Bytes packed, int64_t bytes);
  /// Every pack, in no order.
  void each(const std::function<void(const std::string& key, std::span<const std::byte> packed)>& tell) const;

 private:
  struct Pack {
    Bytes packed;
    int64_t bytes = 0;
  };
  mutable std::mutex mutex_;
  SharedBlocks blocks_;
  std::unordered_map<std::string, Pack> packs_;
  int64_t bytes_ = 0;
};

/// A value at a node that is being planned: extents are numbers.
struct Operand {
  DType dtype = DType::none;  ///< none: an absent optional input, or an output nobody wants.
  Shape shape;
  const Tensor* constant = nullptr;  ///< Its content when it never changes; possibly unaligned.
  const Tensor* content = nullptr;   ///< Its content when it is known in this plan: a constant, or numbers of a shape.
  uint32_t id = 0;                   ///< Names the constant in Packs keys.

  bool given() const { return dtype != DType::none; }
};

struct KernelRequest {
  const OpDef& op;
  const void* attrs;
  std::span<const Operand> in;
  std::span<const Operand> out;
  const simd::Loops& loops;
  Packs& packs;
  Team& team;  ///< The run's threads, for packing.

  template <class A>
  const A& attr() const {
    NNEX_ASSERT(op.attrs.type == &nnex::detail::type_tag<A>);
    return *static_cast<const A*>(attrs);
  }
  bool has(size_t i) const { return i < in.size() && in[i].given(); }
  bool all_f32() const {
    for (const Operand& o : in)
      if (o.given() && o.dtype != DType::f32) return false;
    return !out.empty() && out[0].dtype == DType::f32;
  }
};

/// Prepared for one node at fixed extents: immutable, shared by threads.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Runs the node. Inputs that were constant and that the kernel packed are not read again.
  virtual Status run(Call& call) const = 0;
  /// Bytes of Call::workspace it needs.
  virtual int64_t workspace() const { return 0; }
  /// Whether output 0 may lie where input i lies.
  virtual bool in_place(size_t /*input*/) const { return false; }
  /// Whether the kernel has its own copy of constant input i, so that the plan need not offer it.
  virtual bool packed(size_t /*input*/) const { return false; }
  /// Whether that copy is none: the kernel reads constant input i where the graph has it.
  virtual bool in_graph(size_t /*input*/) const { return false; }
};

/// A kernel of class K, as a `make` function returns it.
template <class K, class... A>
Result<std::unique_ptr<Kernel>> made(A&&... args) {
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::forward<A>(args)...));
}

struct KernelDef {
  std::string_view op;    ///< The operator it serves; "fused" for regions.
  std::string_view name;  ///< For profiles and tests.
  /// The kernel for a node, or null when its conditions do not hold.
  Result<std::unique_ptr<Kernel>> (*make)(const KernelRequest& request) = nullptr;
  std::string_view needs =
      {};  ///< Of a region: the operator without which none is met in a build that leaves some out.
};

namespace detail {
constexpr bool is_built(const KernelDef& def) {
  return nnex::is_built(def.op) && (def.needs.empty() || nnex::is_built(def.needs));
}

/// Of a family, what this build runs: the others are not linked.
template <const auto& kAll>
struct BuiltKernels {
  static constexpr size_t kCount = [] {
    size_t n = 0;
    for (const KernelDef& def : kAll) n += is_built(def);
    return n;
  }();
  static constexpr auto kKernels = [] {
    std::array<KernelDef, kCount> built = {};
    size_t n = 0;
    for (const KernelDef& def : kAll)
      if (is_built(def)) built[n++] = def;
    return built;
  }();
};
}  // namespace detail

/// What a family gives of its list.
template <const auto& kAll>
std::span<const KernelDef> built() {
  return detail::BuiltKernels<kAll>::kKernels;
}

/// Every kernel, the more special before the more general.
std::span<const KernelDef* const> all_kernels();
/// Those of one operator, in the order in which they are asked.
std::span<const KernelDef* const> kernels_of(std::string_view op);

struct Chosen {
  std::unique_ptr<Kernel> kernel;  ///< Null: the reference kernel runs.
  const KernelDef* def = nullptr;
};
/// The first kernel whose conditions hold.
Result<Chosen> choose_kernel(const KernelRequest& request);

}  // namespace nnex::kernels
