#include "hostile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "tensor/convert.h"
#include "tensor/dim_type.h"

namespace nnex::test {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();

std::vector<DType> allowed_types(Types allowed) {
  std::vector<DType> out;
  for (int t = 1; t < static_cast<int>(kDimType); ++t)
    if (allowed & only(static_cast<DType>(t))) out.push_back(static_cast<DType>(t));
  return out;
}

const Port& port_at(const OpDef& op, size_t i) { return op.inputs[std::min(i, op.inputs.size() - 1)]; }

/// The same elements as another type, or zeros where there is no conversion.
Tensor as_type(const Tensor& t, DType type) {
  if (auto converted = convert(t, type); converted.ok()) return std::move(converted).value();
  Tensor zeros = Tensor::make(type, t.shape()).value();
  if (!is_object(type)) std::fill_n(zeros.mutable_data(), zeros.bytes(), std::byte{0});
  return zeros;
}

Tensor filled(DType type, const Shape& shape, int64_t first) {
  Tensor t = Tensor::make(DType::i64, shape).value();
  for (int64_t i = 0; i < t.count(); ++i) set_int(t, i, (first + i) % 4);
  return as_type(t, type);
}

}  // namespace

std::string HostileCase::text() const {
  std::string out = fmt::format("{}", op->name);
  if (spelling) out += fmt::format(" as {} {}-{}", nnex::name(spelling->format), spelling->name, spelling->since);
  for (const auto& in : inputs) {
    if (!in) {
      out += " -";
      continue;
    }
    out += fmt::format(" {}{}{}{}", in->constant ? "constant " : "", in->symbolic ? "symbolic " : "",
                       name(in->content.dtype()), in->content.shape().text());
    if (!is_object(in->content.dtype()) && !is_complex(in->content.dtype()) && in->content.count() <= 8) {
      out += " =";
      for (int64_t i = 0; i < in->content.count(); ++i) out += " " + element_text(in->content, i);
    }
    out += ",";
  }
  for (const auto& [name, value] : attrs) out += fmt::format(" {} = {}", name, nnex::text(value));
  return out + fmt::format(" ({} outputs, {:#x} wanted{})", outputs, wanted, optimize ? "" : ", unoptimised");
}

HostileMaker::HostileMaker(const std::string& cases_folder) {
  for (const OpDef* op : all_ops()) {
    stored_.emplace_back();
    const std::string file = cases_folder + "/" + std::string(op->name) + ".case";
    if (std::filesystem::exists(file))
      if (auto cases = read_op_cases(file); cases.ok()) stored_.back() = std::move(cases).value();
    if (op->spelled.empty() && op->blocks.size()) continue;  // passes alone make these
    rows_.push_back({op, nullptr});
    for (const Spelling& s : op->spelled) rows_.push_back({op, &s});
  }
}

HostileCase HostileMaker::make(uint64_t n) {
  random_.seed(n * 0x9e3779b97f4a7c15 + 1);
  HostileCase c = sound(rows_[n % rows_.size()]);
  for (int64_t faults = 1 + below(3); faults > 0; --faults) spoil(c);
  return c;
}

HostileCase HostileMaker::sound(const Row& row) {
  HostileCase c;
  c.op = row.op, c.spelling = row.spelling, c.seed = random_();
  const size_t at = static_cast<size_t>(std::find(all_ops().begin(), all_ops().end(), row.op) - all_ops().begin());
  const auto& stored = stored_[at];
  const size_t ports = row.op->outputs.size();
  c.outputs = ports ? 1 + static_cast<size_t>(below(static_cast<int64_t>(ports))) : 1;
  c.wanted = one_in(4) ? static_cast<uint32_t>(below(int64_t{1} << c.outputs)) : ~0U;
  c.optimize = !one_in(3);
  if (!stored.empty() && !one_in(4)) {
    const OpCase& s = stored[static_cast<size_t>(below(static_cast<int64_t>(stored.size())))];
    for (const auto& t : s.inputs)
      c.inputs.push_back(t ? std::optional(HostileInput{*t, false, one_in(4)}) : std::nullopt);
    c.attrs = s.attrs;
    c.outputs = std::max(c.outputs, s.output_count());
  } else {
    Ints extents(static_cast<size_t>(one_in(3) ? below(6) : 4));
    for (int64_t& e : extents) e = 1 + below(4);
    for (const Port& p : row.op->inputs) {
      if (p.arity == Arity::optional && one_in(2)) {
        c.inputs.emplace_back();
        continue;
      }
      auto types = allowed_types(p.type.allowed & only(DType::f32) && !one_in(4) ? only(DType::f32) : p.type.allowed);
      if (types.empty()) types = {DType::f32};
      const DType type = types[static_cast<size_t>(below(static_cast<int64_t>(types.size())))];
      const Shape shape = p.by_value ? Shape{1 + below(4)} : Shape(extents);
      c.inputs.push_back(HostileInput{filled(type, shape, below(4)), false, one_in(4)});
    }
    while (!c.inputs.empty() && !c.inputs.back() && one_in(2)) c.inputs.pop_back();
  }
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i]) c.inputs[i]->constant = one_in(port_at(*c.op, i).by_value ? 2 : 6);
  return c;
}

void HostileMaker::spoil(HostileCase& c) {
  if (!c.op->attrs.fields.size() || (!c.inputs.empty() && one_in(2)))
    spoil_input(c);
  else
    spoil_attribute(c);
}

void HostileMaker::spoil_input(HostileCase& c) {
  if (c.inputs.empty()) return;
  const auto i = static_cast<size_t>(below(static_cast<int64_t>(c.inputs.size())));
  auto& in = c.inputs[i];
  if (one_in(5)) {
    in.reset();
    if (one_in(2)) c.inputs.resize(i);
  } else if (!in) {
    in = HostileInput{filled(DType::i64, Shape{below(4)}, 1), one_in(2), false};
  } else {
    in->content = spoiled(in->content);
    if (one_in(3)) in->constant = !in->constant;
  }
}

Tensor HostileMaker::spoiled(const Tensor& t) {
  switch (below(6)) {
    case 0:  // a scalar
      return filled(t.dtype(), Shape{}, below(4));
    case 1: {  // no elements, or another extent
      Shape s = t.shape();
      if (s.rank() > 0) s.set(below(s.rank()), below(4));
      return filled(t.dtype(), s, 1);
    }
    case 2: {  // another type
      const auto types = allowed_types(kA);
      return as_type(t, types[static_cast<size_t>(below(static_cast<int64_t>(types.size())))]);
    }
    case 3: {  // another rank
      Ints extents(t.shape().begin(), t.shape().end());
      if (one_in(2) || extents.empty())
        extents.insert(extents.begin(), 1 + below(2));
      else
        extents.erase(extents.begin());
      return filled(t.dtype(), Shape(extents), 1);
    }
    default: {  // other contents
      auto copy = t.clone();
      if (!copy.ok() || t.count() == 0 || is_object(t.dtype()) || is_complex(t.dtype())) return t;
      for (int64_t n = 1 + below(2); n > 0; --n) {
        if (is_real(t.dtype()))
          set_real(*copy, below(t.count()), real());
        else
          set_int(*copy, below(t.count()), integer());
      }
      return std::move(copy).value();
    }
  }
}

int64_t HostileMaker::integer() {
  constexpr int64_t kValues[] = {0,          -1,         1,           2,          3,         5,
                                 2147483647, 2147483648, -2147483648, 4294967296, kMax >> 1, (kMax >> 1) + 1,
                                 kMax,       kMin,       -kMax,       256,        1000000,   kMin >> 1};
  return kValues[below(static_cast<int64_t>(std::size(kValues)))];
}

double HostileMaker::real() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {0, -0.0, 1, -1, 0.5, 1e-30, 1e300, -1e300, kInf, -kInf, 3.5, 4294967296.0};
  return one_in(10) ? std::nan("") : kValues[below(static_cast<int64_t>(std::size(kValues)))];
}

void HostileMaker::spoil_attribute(HostileCase& c) {
  const auto& fields = c.op->attrs.fields;
  const Field& f = fields[static_cast<size_t>(below(static_cast<int64_t>(fields.size())))];
  const int64_t rank = !c.inputs.empty() && c.inputs[0] ? c.inputs[0]->content.shape().rank() : 4;
  auto at = std::find_if(c.attrs.begin(), c.attrs.end(), [&](const auto& a) { return a.first == f.name; });
  const AttrValue now = at == c.attrs.end() ? AttrValue{} : at->second;
  AttrValue value = hostile_value(f, now, rank);
  if (at != c.attrs.end())
    at->second = std::move(value);
  else
    c.attrs.emplace_back(std::string(f.name), std::move(value));
}

AttrValue HostileMaker::hostile_value(const Field& f, const AttrValue& now, int64_t rank) {
  if (f.kind == "bool") return one_in(2);
  if (f.kind == "int") return integer();
  if (f.kind == "real") return real();
  if (f.kind == "str") return std::string(one_in(2) ? "" : "ij,jk->ik");
  if (f.kind == "enum") return std::string(f.words[static_cast<size_t>(below(static_cast<int64_t>(f.words.size())))]);
  if (f.kind == "dtype") return static_cast<DType>(1 + below(static_cast<int64_t>(kDimType) - 1));
  const int64_t lengths[] = {rank, rank - 2, 2 * rank, 2 * rank - 4, 0, 1, 2, 3};
  const auto count = static_cast<size_t>(std::max<int64_t>(lengths[below(8)], 0));
  if (f.kind == "ints") {
    Ints list(count, 1);
    if (auto* given = std::get_if<Ints>(&now); given && !one_in(4)) list = *given;
    for (int64_t n = below(3); n > 0 && !list.empty(); --n)
      list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))] = integer();
    return list;
  }
  if (f.kind == "pairs") {
    Pairs list(count, {0, 0});
    if (auto* given = std::get_if<Pairs>(&now); given && !one_in(4)) list = *given;
    for (int64_t n = below(3); n > 0 && !list.empty(); --n) {
      auto& pair = list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
      (one_in(2) ? pair.first : pair.second) = integer();
    }
    return list;
  }
  if (f.kind == "reals") {
    Reals list(count, 1.0);
    for (double& x : list) x = one_in(2) ? real() : x;
    return list;
  }
  if (f.kind == "strs") return Texts(count, one_in(2) ? "a" : "");
  return filled(one_in(2) ? DType::i64 : DType::f32, Shape{below(3)}, 1);
}

}  // namespace nnex::test
