#include "kernels/kernel.h"

#include <cstdlib>

#include "kernels/convert/widened.h"
#include "tensor/memory_account.h"

namespace nnex::kernels {

#define NNEX_FAMILY(kernels) std::span<const KernelDef> kernels();
#include "kernels/families.def"
#undef NNEX_FAMILY

Result<Packs::Bytes> Packs::get(const std::string& key, int64_t bytes, const std::function<void(std::byte*)>& pack) {
  std::lock_guard lock(mutex_);
  if (auto it = packs_.find(key); it != packs_.end() && it->second.bytes == bytes) return it->second.packed;
  const BlockScope scope(blocks_);
  NNEX_ASSIGN(Tensor memory, Tensor::make(DType::u8, Shape{bytes}));
  pack(memory.mutable_data());
  Bytes shared(memory.owner(), memory.data());
  Pack& kept = packs_[key];
  bytes_ += bytes - kept.bytes;
  kept = {shared, bytes};
  return shared;
}

void Packs::put(std::string key, Bytes packed, int64_t bytes) {
  std::lock_guard lock(mutex_);
  if (packs_.try_emplace(std::move(key), Pack{std::move(packed), bytes}).second) bytes_ += bytes;
}

void Packs::each(const std::function<void(const std::string& key, std::span<const std::byte> packed)>& tell) const {
  std::lock_guard lock(mutex_);
  for (const auto& [key, pack] : packs_) tell(key, {pack.packed.get(), static_cast<size_t>(pack.bytes)});
}

int64_t Packs::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

namespace {

struct Registry {
  std::vector<const KernelDef*> all;
  std::unordered_map<std::string_view, std::vector<const KernelDef*>> by_op;

  void add(std::span<const KernelDef> family) {
    for (const KernelDef& def : family) {
      all.push_back(&def);
      by_op[def.op].push_back(&def);
    }
  }
  Registry() {
#define NNEX_FAMILY(kernels) add(kernels());
#include "kernels/families.def"
#undef NNEX_FAMILY
  }
};

const Registry& registry() {
  static const Registry r;
  return r;
}

}  // namespace

std::span<const KernelDef* const> all_kernels() { return registry().all; }

std::span<const KernelDef* const> kernels_of(std::string_view op) {
  const auto it = registry().by_op.find(op);
  return it == registry().by_op.end() ? std::span<const KernelDef* const>() : it->second;
}

Result<Chosen> choose_kernel(const KernelRequest& request) {
  for (const KernelDef* def : kernels_of(request.op.name)) {
    NNEX_ASSIGN(auto kernel, def->make(request));
    if (kernel) return Chosen{std::move(kernel), def};
  }
  return widened_kernel(request);
}

}  // namespace nnex::kernels
