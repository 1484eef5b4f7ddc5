#include "ops/call.h"

#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>

#include "base/copy_bytes.h"
#include "base/failure.h"
#include "base/interrupt.h"
#include "base/split.h"
#include "ops/share_out.h"

namespace nnex {

void Call::no_memory(size_t o) const {
  throw std::logic_error(fmt::format("{}: output {} has no memory: its extents were not known", op_->name, o));
}

Status Call::interrupted() const {
  if (!Interrupt::wanted()) return {};
  return failure(Code::cancelled, "{}: the run was cancelled or passed its deadline", op_->name);
}

Result<Tensor*> Call::make(size_t o, DType type, const Shape& shape) const {
  if (!wants(o)) return failure(Code::internal, "{}: output {} was made though nobody wants it", op_->name, o);
  Tensor* ready = out_[o]->tensor();
  const bool shared = ready && ready->owner().use_count() > 1;  // an earlier step's value that somebody holds
  if (ready && !shared && ready->dtype() == type && ready->shape() == shape) return ready;
  NNEX_ASSIGN(Tensor made, Tensor::make(type, shape));
  *out_[o] = Value(std::move(made));
  return out_[o]->tensor();
}

namespace {

const TypedKernel* kernel_for(const Reference& r, DType type) {
  for (const TypedKernel& k : r.kernels)
    if (k.type == type) return &k;
  return nullptr;
}

DType word_of_width(DType type) {
  if (is_object(type)) return type;
  switch (bits(type)) {
    case 16:
      return DType::u16;
    case 32:
      return DType::u32;
    case 64:
      return DType::u64;
    case 128:
      return DType::c128;
    default:
      return DType::u8;
  }
}

/// The type that stands in for one without a kernel; none when there is no such type.
DType wider(const Reference& r, DType type) {
  if (r.choice == Reference::Choice::by_width) return bits(type) < 8 ? DType::u8 : DType::none;
  if (is_real(type) && type != DType::f64 && kernel_for(r, DType::f32)) return DType::f32;
  if (type == DType::f64 || type == DType::u64 || is_object(type) || is_complex(type)) return DType::none;
  return kernel_for(r, DType::i64) ? DType::i64 : DType::none;
}

DType choosing_type(const Call& c, const Reference& r) {
  size_t port = static_cast<size_t>(r.port);
  if (c.has(port)) return c.value(port).tensor() ? c.in(port).dtype() : DType::none;
  for (size_t i = 0; i < c.inputs(); ++i)
    if (c.has(i) && c.value(i).tensor()) return c.in(i).dtype();
  for (size_t o = 0; o < c.outputs(); ++o)
    if (c.wants(o)) return c.out(o).dtype();
  return DType::none;
}

bool follows(const TypeRule& rule, std::string_view port_name) { return rule.from.empty() && rule.same == port_name; }

/// Sub-byte elements as bytes (their bits, not their values) when they are only moved; else their values in the wider
/// type.
Result<Tensor> widened(const Tensor& t, DType wide, bool moved) {
  if (!moved) return convert(t, wide);
  DType bits_type = bits(t.dtype()) == 4 ? DType::u4 : DType::u2;
  return convert(t.reinterpreted(bits_type), wide);
}

Result<Tensor> narrowed(const Tensor& t, DType narrow, bool moved) {
  if (!moved) return convert(t, narrow);
  NNEX_ASSIGN(Tensor packed, convert(t, bits(narrow) == 4 ? DType::u4 : DType::u2));
  return packed.reinterpreted(narrow);
}

/// Runs `kernel` on wide copies of every tensor that shares the choosing port's type.
Status run_widened(Call& c, const Reference& r, KernelFn kernel, DType narrow, DType wide) {
  const OpDef& op = c.op();
  const bool moved = r.choice == Reference::Choice::by_width;
  std::string_view chooser =
      static_cast<size_t>(r.port) < op.inputs.size() ? op.inputs[static_cast<size_t>(r.port)].name : "";
  std::vector<Value> held(c.inputs() + c.outputs());
  std::vector<const Value*> in(c.inputs());
  std::vector<Value*> out(c.outputs());
  for (size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    const Port& port = op.inputs[std::min(i, op.inputs.size() - 1)];
    const bool shared = port.name == chooser || follows(port.type, chooser);
    in[i] = &c.value(i);
    if (!shared || !c.value(i).tensor() || c.in(i).dtype() != narrow) continue;
    NNEX_ASSIGN(held[i], widened(c.in(i), wide, moved));
    in[i] = &held[i];
  }
  std::vector<bool> back(c.outputs());
  for (size_t o = 0; o < c.outputs(); ++o) {
    if (!c.wants(o)) continue;
    Value& slot = held[c.inputs() + o];
    out[o] = &slot;
    const Port& port = op.outputs[std::min(o, op.outputs.size() - 1)];
    back[o] = follows(port.type, chooser) || (port.type.from.empty() && port.type.same.empty() && op.inputs.empty());
    if (const Tensor* ready = c.ready(o)) {
      NNEX_ASSIGN(slot, Tensor::make(back[o] ? wide : ready->dtype(), ready->shape()));
    }
  }
  Call inner(op, c.attrs(), in, out);
  inner.team = c.team, inner.random = c.random, inner.narrowed = narrow;
  NNEX_TRY(kernel(inner));
  for (size_t o = 0; o < c.outputs(); ++o) {
    if (!c.wants(o)) continue;
    Tensor* made = out[o]->tensor();
    if (!made || made->dtype() != wide || !back[o]) {
      if (made && c.ready(o) && !is_object(made->dtype())) {
        NNEX_ASSIGN(Tensor * y, c.make(o, made->dtype(), made->shape()));
        copy_bytes(y->mutable_data(), made->data(), made->bytes());
      } else {
        c.set(o, std::move(*out[o]));
      }
      continue;
    }
    NNEX_ASSIGN(Tensor result, narrowed(*made, narrow, moved));
    NNEX_ASSIGN(Tensor * y, c.make(o, narrow, made->shape()));
    copy_bytes(y->mutable_data(), result.data(), result.bytes());
  }
  return {};
}

}  // namespace

Status run_reference(Call& c) { return run_reference(c, c.op().reference); }

Status run_reference(Call& c, const Reference& r) {
  bool wanted = c.outputs() == 0;
  for (size_t o = 0; o < c.outputs(); ++o) wanted |= c.wants(o);
  if (!wanted) return {};
  if (r.choice == Reference::Choice::any) return r.kernels[0].run(c);
  const DType type = choosing_type(c, r);
  const DType word = r.choice == Reference::Choice::by_width ? word_of_width(type) : type;
  if (const TypedKernel* k = kernel_for(r, word); k && (bits(type) >= 8 || r.choice == Reference::Choice::by_type))
    return k->run(c);
  const DType wide = r.choice == Reference::Choice::none ? DType::none : wider(r, type);
  if (wide == DType::none)
    return failure(Code::unsupported, "{}: no kernel for elements of type {}", c.op().name, name(type));
  return run_widened(c, r, kernel_for(r, wide)->run, type, wide);
}

bool has_reference(const OpDef& op, DType type) {
  const Reference& r = op.reference;
  if (r.choice == Reference::Choice::none) return false;
  if (r.choice == Reference::Choice::any) return true;
  if (kernel_for(r, r.choice == Reference::Choice::by_width ? word_of_width(type) : type)) return true;
  return wider(r, type) != DType::none;
}

void share_out(const Call& c, int64_t count, int64_t bytes, FunctionRef<void(int64_t, int64_t)> work) {
  Team alone;
  std::mutex mutex;
  std::exception_ptr thrown;
  split(c.team ? *c.team : alone, count, bytes, 1, [&](int64_t begin, int64_t end) {
    try {
      work(begin, end);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace nnex
