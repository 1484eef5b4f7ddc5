#include "model_out.h"

#include "../remedies.h"

namespace nnex::wasm {
namespace {

/// [[key, value], ...]: keys are a file's, and some mean something to an object.
template <class Pairs>
void put_pairs(Reply& to, const Pairs& pairs) {
  put_each(to, pairs, [&](const auto& pair) {
    to.kind(Kind::list);
    to.u32(2);
    put(to, pair.first);
    put(to, pair.second);
  });
}

void put_remedies(Reply& to, const std::vector<Remedy>& remedies) {
  put_each(to, remedies, [&](const Remedy& remedy) {
    const Remedy r = js::in_javascript(remedy);
    Object(to).set("option", r.option).set("value", r.value).set("effect", r.effect);
  });
}

void put_faults(Reply& to, const std::vector<Fault>& faults) {
  put_each(to, faults, [&](const Fault& f) {
    Object(to)
        .set("severity", name(f.severity))
        .set("code", f.severity == Severity::note ? std::string_view() : name(f.code))
        .set("rule", f.rule)
        .set("where", f.where)
        .set("message", f.message)
        .set("found", f.found)
        .set("needed", f.needed)
        .set("tasks", f.during)
        .with("remedies", [&] { put_remedies(to, f.remedies); })
        .set("text", f.text(js::javascript_words));
  });
}

void put_certificate(Reply& to, const std::optional<Certificate>& c) {
  if (!c) return to.kind(Kind::null);
  Object made(to);
  made.set("safe", c->safe);
  made.with("nodes", [&] {
    put_each(to, c->nodes, [&](const NodeProof& p) {
      Object(to)
          .set("where", p.where)
          .set("op", p.op)
          .set("bitsByRule", p.bits_by_rule)
          .set("bitsProven", p.bits_proven)
          .set("low", p.low)
          .set("high", p.high)
          .set("accumulatorBound", p.accumulator_bound)
          .set("overflows", p.overflows)
          .set("bounded", p.bounded);
    });
  });
  made.with("beyondRule", [&] {
    put_each(to, c->beyond_rule, [&](const BrokenPromise& p) {
      Object(to).set("value", p.value).set("bitsByRule", p.bits_by_rule).set("bitsProven", p.bits_proven);
    });
  });
}

ml::BufferKind array_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::c128:
      return ml::BufferKind::Float64Array;
    case DType::f32:
    case DType::c64:
      return ml::BufferKind::Float32Array;
    case DType::i64:
      return ml::BufferKind::BigInt64Array;
    case DType::u64:
      return ml::BufferKind::BigUint64Array;
    case DType::i32:
      return ml::BufferKind::Int32Array;
    case DType::u32:
      return ml::BufferKind::Uint32Array;
    case DType::i16:
      return ml::BufferKind::Int16Array;
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      return ml::BufferKind::Uint16Array;
    case DType::i8:
      return ml::BufferKind::Int8Array;
    default:
      return ml::BufferKind::Uint8Array;
  }
}

void put_bytes(Reply& to, ml::BufferKind kind, const void* at, int64_t size) {
  to.kind(Kind::buffer);
  to.u8(static_cast<uint8_t>(kind));
  to.address(at);
  to.u32(static_cast<uint32_t>(size));
}

void put_dims(Reply& to, const Shape& shape) {
  put_each(to, shape.extents(), [&](int64_t extent) { put(to, extent); });
}

void put_tensor(Reply& to, const Tensor& t) {
  Object made(to);
  made.set("type", static_cast<int>(t.dtype()));
  made.with("dims", [&] { put_dims(to, t.shape()); });
  made.with("data", [&] {
    if (t.dtype() == DType::str)
      put_each(to, t.strings(), [&](const std::string& text) { put(to, text); });
    else
      put_bytes(to, array_of(t.dtype()), t.data(), t.bytes());
  });
}

}  // namespace

void put(Reply& to, const std::vector<PortInfo>& ports) {
  put_each(to, ports, [&](const PortInfo& p) {
    Object(to)
        .set("name", p.name)
        .set("text", p.type)
        .set("dtype", static_cast<int>(p.dtype))
        .set("knownRank", p.known_rank)
        .set("extents", p.extents)
        .set("dims", p.dims);
  });
}

void put(Reply& to, const Metadata& m) {
  Object(to)
      .set("graphName", m.graph_name)
      .set("producer", m.producer)
      .set("producerVersion", m.producer_version)
      .set("domain", m.domain)
      .set("doc", m.doc)
      .set("irVersion", m.ir_version)
      .set("modelVersion", m.model_version)
      .with("opsets", [&] { put_pairs(to, m.opsets); })
      .with("properties", [&] { put_pairs(to, m.properties); });
}

void put(Reply& to, const std::vector<NodeTime>& times) {
  put_each(to, times, [&](const NodeTime& t) {
    Object(to)
        .set("place", t.place)
        .set("op", t.op)
        .set("kernel", t.kernel)
        .set("start", t.start_us)
        .set("duration", t.us);
  });
}

void put(Reply& to, const CheckReport& r) {
  Object(to)
      .set("format", name(r.format))
      .set("sound", r.sound())
      .with("faults", [&] { put_faults(to, r.faults); })
      .set("faultCount", r.fault_count)
      .with("notes", [&] { put_faults(to, r.notes); })
      .with("certificate", [&] { put_certificate(to, r.certificate); });
}

void put(Reply& to, const Inspection& i) {
  Object made(to);
  made.set("format", name(i.format))
      .set("graphName", i.graph_name)
      .set("producer", i.producer)
      .set("producerVersion", i.producer_version)
      .set("irVersion", i.ir_version)
      .with("opsets", [&] { put_pairs(to, i.opsets); });
  made.with("metadata", [&] {
    put_each(to, i.metadata, [&](const MetadataEntry& m) {
      Object(to).set("key", m.key).set("text", m.text).set("internal", m.internal);
    });
  });
  made.set("inputs", i.inputs)
      .set("outputs", i.outputs)
      .set("states", i.states)
      .set("symbols", i.symbols)
      .set("nodes", i.nodes);
  made.with("operators", [&] {
    put_each(to, i.operators, [&](const OperatorCount& o) { Object(to).set("name", o.name).set("nodes", o.nodes); });
  });
  made.set("parameters", i.parameters)
      .set("parameterBytes", i.parameter_bytes)
      .set("multiplyAdds", i.multiply_adds)
      .set("multiplyAddCount", i.multiply_add_count)
      .set("activationBytes", i.activation_bytes);
}

void put(Reply& to, const SaveReport& r) {
  Object(to)
      .set("format", name(r.format))
      .set("files", r.files)
      .set("bytes", r.bytes)
      .set("operations", r.operations)
      .set("opset", r.opset)
      .set("notes", r.notes);
}

void put(Reply& to, const std::vector<NamedBytes>& files) {
  put_each(to, files, [&](const NamedBytes& file) {
    to.kind(Kind::list);
    to.u32(2);
    put(to, file.name);
    put_bytes(to, ml::BufferKind::Uint8Array, file.bytes.data(), static_cast<int64_t>(file.bytes.size()));
  });
}

void put(Reply& to, const Value& value) {
  if (const Tensor* t = value.tensor()) return put_tensor(to, *t);
  if (value.empty()) return to.kind(Kind::null);
  Object made(to);
  if (const Sequence* s = value.sequence()) {
    made.set("element", static_cast<int>(s->element)).set("items", s->items);
  } else if (const Map* m = value.map()) {
    made.set("keys", Value(m->keys)).set("values", m->values);
  } else if (const Optional* o = value.optional()) {
    made.with("item", [&] { o->item ? put(to, *o->item) : to.kind(Kind::null); });
  } else if (const SparseTensor* s = value.sparse()) {
    made.set("values", Value(s->values)).set("indices", Value(s->indices));
    made.with("dims", [&] { put_dims(to, s->shape); });
  }
}

void put(Reply& to, const std::vector<Value>& values) {
  put_each(to, values, [&](const Value& value) { put(to, value); });
}

}  // namespace nnex::wasm
