#include "model_reports.h"

#include <cstring>

#include "../remedies.h"
#include "buffers.h"
#include "model_errors.h"

namespace nnex::js {
namespace {

Napi::Value js(Napi::Env env, const std::string& text) { return Napi::String::New(env, text); }
Napi::Value js(Napi::Env env, std::string_view text) { return Napi::String::New(env, std::string(text)); }
Napi::Value js(Napi::Env env, bool b) { return Napi::Boolean::New(env, b); }
Napi::Value js(Napi::Env env, double x) { return Napi::Number::New(env, x); }
Napi::Value js(Napi::Env env, int64_t x) { return Napi::Number::New(env, static_cast<double>(x)); }
template <class T>
Napi::Value js(Napi::Env env, const std::optional<T>& x) {
  return x ? js(env, *x) : env.Null();
}

/// An array of what f makes of each.
template <class List, class F>
Napi::Value each(Napi::Env env, const List& list, F f) {
  auto to = Napi::Array::New(env, list.size());
  uint32_t i = 0;
  for (const auto& item : list) to.Set(i++, f(item));
  return to;
}
template <class T>
Napi::Value js(Napi::Env env, const std::vector<T>& list) {
  return each(env, list, [&](const T& item) { return js(env, item); });
}

/// An object, member by member.
class Made {
 public:
  explicit Made(Napi::Env env) : env_(env), object_(Napi::Object::New(env)) {}
  template <class T>
  Made& set(const char* name, const T& value) {
    if constexpr (std::is_convertible_v<T, napi_value>)
      object_.Set(name, static_cast<napi_value>(value));
    else
      object_.Set(name, js(env_, value));
    return *this;
  }
  operator Napi::Value() const { return object_; }  // NOLINT: implicit on purpose

 private:
  Napi::Env env_;
  Napi::Object object_;
};

/// [[key, value], ...]: keys are a file's, and some mean something to an object.
template <class Pairs>
Napi::Value pairs_to_js(Napi::Env env, const Pairs& pairs) {
  return each(env, pairs, [&](const auto& pair) {
    auto to = Napi::Array::New(env, 2);
    to.Set(0U, js(env, pair.first));
    to.Set(1U, js(env, pair.second));
    return Napi::Value(to);
  });
}

Napi::Value fault_to_js(Napi::Env env, const Fault& f) {
  return Made(env)
      .set("severity", name(f.severity))
      .set("code", f.severity == Severity::note ? std::string_view() : name(f.code))
      .set("rule", f.rule)
      .set("where", f.where)
      .set("message", f.message)
      .set("found", f.found)
      .set("needed", f.needed)
      .set("tasks", f.during)
      .set("remedies", remedies_to_js(env, f.remedies))
      .set("text", f.text(javascript_words));
}

Napi::Value proof_to_js(Napi::Env env, const NodeProof& p) {
  return Made(env)
      .set("where", p.where)
      .set("op", p.op)
      .set("bitsByRule", p.bits_by_rule)
      .set("bitsProven", p.bits_proven)
      .set("low", p.low)
      .set("high", p.high)
      .set("accumulatorBound", p.accumulator_bound)
      .set("overflows", p.overflows)
      .set("bounded", p.bounded);
}

Napi::Value certificate_to_js(Napi::Env env, const std::optional<Certificate>& c) {
  if (!c) return env.Null();
  return Made(env)
      .set("safe", c->safe)
      .set("nodes", each(env, c->nodes, [&](const NodeProof& p) { return proof_to_js(env, p); }))
      .set("beyondRule", each(env, c->beyond_rule, [&](const BrokenPromise& p) {
             return Napi::Value(
                 Made(env).set("value", p.value).set("bitsByRule", p.bits_by_rule).set("bitsProven", p.bits_proven));
           }));
}

}  // namespace

Napi::Value to_js(Napi::Env env, const std::vector<PortInfo>& ports) {
  return each(env, ports, [&](const PortInfo& p) {
    return Napi::Value(Made(env)
                           .set("name", p.name)
                           .set("text", p.type)
                           .set("dtype", static_cast<double>(p.dtype))
                           .set("knownRank", p.known_rank)
                           .set("extents", p.extents)
                           .set("dims", p.dims));
  });
}

Napi::Value to_js(Napi::Env env, const Metadata& m) {
  return Made(env)
      .set("graphName", m.graph_name)
      .set("producer", m.producer)
      .set("producerVersion", m.producer_version)
      .set("domain", m.domain)
      .set("doc", m.doc)
      .set("irVersion", m.ir_version)
      .set("modelVersion", m.model_version)
      .set("opsets", pairs_to_js(env, m.opsets))
      .set("properties", pairs_to_js(env, m.properties));
}

Napi::Value to_js(Napi::Env env, const std::vector<NodeTime>& times) {
  return each(env, times, [&](const NodeTime& t) {
    return Napi::Value(Made(env)
                           .set("place", t.place)
                           .set("op", t.op)
                           .set("kernel", t.kernel)
                           .set("start", t.start_us)
                           .set("duration", t.us));
  });
}

Napi::Value to_js(Napi::Env env, const CheckReport& r) {
  const auto faults = [&](const std::vector<Fault>& list) {
    return each(env, list, [&](const Fault& f) { return fault_to_js(env, f); });
  };
  return Made(env)
      .set("format", name(r.format))
      .set("sound", r.sound())
      .set("faults", faults(r.faults))
      .set("faultCount", static_cast<double>(r.fault_count))
      .set("notes", faults(r.notes))
      .set("certificate", certificate_to_js(env, r.certificate));
}

Napi::Value to_js(Napi::Env env, const Inspection& i) {
  return Made(env)
      .set("format", name(i.format))
      .set("graphName", i.graph_name)
      .set("producer", i.producer)
      .set("producerVersion", i.producer_version)
      .set("irVersion", i.ir_version)
      .set("opsets", pairs_to_js(env, i.opsets))
      .set("metadata",
           each(env, i.metadata,
                [&](const MetadataEntry& m) {
                  return Napi::Value(Made(env).set("key", m.key).set("text", m.text).set("internal", m.internal));
                }))
      .set("inputs", to_js(env, i.inputs))
      .set("outputs", to_js(env, i.outputs))
      .set("states", to_js(env, i.states))
      .set("symbols", i.symbols)
      .set("nodes", i.nodes)
      .set("operators", each(env, i.operators,
                             [&](const OperatorCount& o) {
                               return Napi::Value(Made(env).set("name", o.name).set("nodes", o.nodes));
                             }))
      .set("parameters", i.parameters)
      .set("parameterBytes", i.parameter_bytes)
      .set("multiplyAdds", i.multiply_adds)
      .set("multiplyAddCount", i.multiply_add_count)
      .set("activationBytes", i.activation_bytes);
}

Napi::Value to_js(Napi::Env env, const SaveReport& r) {
  return Made(env)
      .set("format", name(r.format))
      .set("files", r.files)
      .set("bytes", r.bytes)
      .set("operations", r.operations)
      .set("opset", r.opset)
      .set("notes", r.notes);
}

Napi::Value to_js(Napi::Env env, const std::vector<NamedBytes>& files) {
  return each(env, files, [&](const NamedBytes& file) {
    auto buffer = make_buffer(env, file.bytes.size());
    if (!file.bytes.empty()) std::memcpy(buffer.Data(), file.bytes.data(), file.bytes.size());
    auto pair = Napi::Array::New(env, 2);
    pair.Set(0U, js(env, file.name));
    pair.Set(1U, view_of(env, napi_uint8_array, file.bytes.size(), buffer));
    return Napi::Value(pair);
  });
}

}  // namespace nnex::js
