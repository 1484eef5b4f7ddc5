#include "standards/onnx/signatures.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/name_index.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

constexpr Types kOfOpset1 =
    types(DType::f16, DType::f32, DType::f64, DType::boolean, DType::str, DType::c64, DType::c128) | kI;
constexpr Types kPlainInts = types(DType::i8, DType::i16, DType::i32, DType::i64);
constexpr Types kPlainUints = types(DType::u8, DType::u16, DType::u32, DType::u64);
constexpr Types kPlainFloats = types(DType::f16, DType::f32, DType::f64);

/// Cuts the text at the first `at`: what stands before it; `text` keeps the rest.
std::string_view cut(std::string_view& text, char at) {
  const size_t end = text.find(at);
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return head;
}

/// Takes the character off the end, where it stands there.
bool take_last(std::string_view& text, char last) {
  if (text.empty() || text.back() != last) return false;
  text.remove_suffix(1);
  return true;
}

/// The types that a group's name or a type's own stands for.
Types named_types(std::string_view word) {
  constexpr std::pair<std::string_view, Types> kNames[] = {
      {"all", kOfOpset1},
      {"num", kPlainInts | kPlainUints | kPlainFloats},
      {"int", kPlainInts},
      {"uint", kPlainUints},
      {"float", kPlainFloats},
      {"f8", types(DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz)},
      {"b4", types(DType::i4, DType::u4)},
      {"b2", types(DType::i2, DType::u2)},
      {"f4", only(DType::f4e2m1)},
      {"e8", only(DType::f8e8m0)},
      {"bool", only(DType::boolean)}};
  for (const auto& [name, set] : kNames)
    if (name == word) return set;
  for (int t = 1; t < kDTypes; ++t)
    if (name(static_cast<DType>(t)) == word) return only(static_cast<DType>(t));
  return 0;
}

/// The inside of `seq(..)`; nothing where the text is something else.
std::optional<std::string_view> inside(std::string_view text, std::string_view of) {
  if (text.size() < of.size() + 2 || text.substr(0, of.size()) != of || text[of.size()] != '(') return std::nullopt;
  return text.substr(of.size() + 1, text.size() - of.size() - 2);
}

/// Cuts at the first '+' that stands in no brackets.
std::string_view cut_member(std::string_view& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] != '+' || depth) continue;
    const std::string_view head = text.substr(0, i);
    text.remove_prefix(i + 1);
    return head;
  }
  return std::exchange(text, {});
}

TypeSet parse_types(std::string_view text) {
  TypeSet out;
  while (!text.empty()) {
    const std::string_view member = cut_member(text);
    if (const auto of = inside(member, "seq")) {
      out.sequences_of_maps |= *of == "map";
      out.sequences |= parse_types(*of).tensors;
    } else if (const auto of = inside(member, "opt")) {
      const TypeSet element = parse_types(*of);
      out.optionals |= element.tensors, out.optional_sequences |= element.sequences;
    } else if (member == "map") {
      out.maps = true;
    } else {
      out.tensors |= named_types(member);
    }
  }
  return out;
}

/// A port's types one by one, as "f16, f32, sequence(f16, f32)".
std::string listed(std::string_view text) {
  std::string out;
  const auto add = [&](std::string_view word) { out.append(out.empty() ? "" : ", ").append(word); };
  while (!text.empty()) {
    const std::string_view member = cut_member(text);
    if (const auto sequence = inside(member, "seq")) {
      add(fmt::format("sequence({})", listed(*sequence)));
    } else if (const auto optional = inside(member, "opt")) {
      add(fmt::format("optional({})", listed(*optional)));
    } else if (member == "map") {
      add(member);
    } else {
      const Types types = named_types(member);
      for (int t = 1; t < kDTypes; ++t)
        if (types & only(static_cast<DType>(t))) add(name(static_cast<DType>(t)));
    }
  }
  return out;
}

FormPort parse_port(std::string_view word, const std::vector<FormPort>& before) {
  using Many = FormPort::Many;
  FormPort p;
  p.may_be_none = take_last(word, '?');
  p.many = take_last(word, '*') ? Many::variadic : take_last(word, '~') ? Many::mixed : Many::one;
  if (p.may_be_none && p.many == Many::one) p.many = Many::optional;
  p.counts_from_start = take_last(word, '+');
  p.is_whole = take_last(word, '=');
  p.by_channel = take_last(word, '@');
  if (const size_t slash = word.find('/'); slash != std::string_view::npos) {
    p.rank = word[slash + 1] - '0';
    word = word.substr(0, slash);
  }
  const bool variable = word[0] >= 'A' && word[0] <= 'Z';
  if (!variable) {
    p.written = word;
    p.types = parse_types(word);
    return p;
  }
  p.variable = cut(word, ':');
  p.written = word;
  p.types = parse_types(word);
  for (const FormPort& other : before)
    if (word.empty() && other.variable == p.variable) p.types = other.types, p.written = other.written;
  return p;
}

FormAttribute parse_attribute(std::string_view word) {
  FormAttribute a;
  a.name = cut(word, ':');
  a.kind = word[0];
  a.required = word.find('!') != std::string_view::npos;
  const size_t equals = word.find('=');
  if (equals != std::string_view::npos) a.words = word.substr(equals + 1);
  a.is_flag = word.substr(0, equals).find('?') != std::string_view::npos;
  a.is_count = word.substr(0, equals).find('0') != std::string_view::npos;
  if (const size_t mark = word.substr(0, equals).find('#'); mark != std::string_view::npos) {
    a.needs_one = true;
    a.one_for = mark + 1 < word.size() ? word[mark + 1] : '\0';
  }
  if (const size_t mark = word.substr(0, equals).find_first_of("+-"); mark != std::string_view::npos) {
    a.first_axis = word[mark] == '+' ? 0 : -1;
    a.axes_of = mark + 1 < word.size() ? word[mark + 1] : '\0';
  }
  return a;
}

/// One line; `before`: the form of the line before it.
Form parse_form(std::string_view line, const Form* before) {
  Form form;
  std::string_view ports = cut(line, '|');
  const bool same_attributes = line.data() == ports.data() + ports.size();
  std::string_view opset = cut(ports, ' ');
  form.means_other = take_last(opset, '^');
  form.since = 0;
  for (char digit : opset) form.since = form.since * 10 + (digit - '0');
  form.deprecated = ports == "deprecated";
  if (form.deprecated) return form;
  std::vector<FormPort> all;
  bool inputs = true;
  while (!ports.empty()) {
    const std::string_view word = cut(ports, ' ');
    if (word == ">") {
      inputs = false;
    } else if (!word.empty()) {
      all.push_back(parse_port(word, all));
      (inputs ? form.in : form.out).push_back(all.back());
    }
  }
  if (same_attributes && before) form.attributes = before->attributes;
  while (!line.empty())
    if (const std::string_view word = cut(line, ' '); !word.empty()) form.attributes.push_back(parse_attribute(word));
  return form;
}

// ---- Rules

std::string_view noun(bool inputs, size_t count) {
  return inputs ? (count == 1 ? "input" : "inputs") : (count == 1 ? "output" : "outputs");
}

void check_count(const std::vector<FormPort>& ports, const std::vector<const Type*>& given, bool inputs,
                 std::vector<BrokenForm>& out) {
  using Kind = BrokenForm::Kind;
  const bool many = !ports.empty() && ports.back().is_many();
  if (!many && given.size() > ports.size()) {
    const std::string found = fmt::format("{} {}", given.size(), noun(inputs, given.size()));
    const std::string needed = fmt::format("at most {}", ports.size());
    out.push_back({inputs ? Kind::input_count : Kind::output_count,
                   fmt::format("found {}; needed {}", found, needed),
                   {},
                   found,
                   needed});
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const bool needed = ports[i].many == FormPort::Many::one || (ports[i].is_many() && !ports[i].may_be_none);
    // An output that nobody wants may have no name, but for the first.
    if (needed && (i >= given.size() || (!given[i] && (inputs || i == 0))))
      out.push_back({inputs ? Kind::input_required : Kind::output_required,
                     fmt::format("{} {} is required", noun(inputs, 1), i),
                     {},
                     {},
                     {}});
  }
}

void check_attributes(const Form& form, const FormUse& use, std::vector<BrokenForm>& out) {
  using Kind = BrokenForm::Kind;
  constexpr std::pair<char, std::string_view> kKinds[] = {
      {'i', "an integer"},        {'f', "a number"},        {'s', "a text"}, {'t', "a tensor"},
      {'g', "a graph"},           {'p', "a sparse tensor"}, {'T', "a type"}, {'I', "a list of integers"},
      {'F', "a list of numbers"}, {'S', "a list of texts"}};
  const auto words = [&](char kind) {
    for (const auto& [k, text] : kKinds)
      if (k == kind) return text;
    return std::string_view("of a kind that no operator has");
  };
  for (const FormUse::Attribute& a : use.attributes) {
    if (a.name.substr(0, 2) == "__") continue;
    const FormAttribute* declared = form.find(a.name);
    if (!declared) {
      out.push_back({Kind::attribute_unknown,
                     fmt::format("it has no attribute '{}' in its form of opset {}", a.name, form.since),
                     a.name,
                     {},
                     {}});
    } else if (a.kind && a.kind != declared->kind) {
      out.push_back({Kind::attribute_kind,
                     fmt::format("attribute '{}' is {}; needed {}", a.name, words(a.kind), words(declared->kind)),
                     a.name, std::string(words(a.kind)), std::string(words(declared->kind))});
    } else if (a.kind == 's' && !declared->words.empty()) {
      std::string_view rest = declared->words;
      bool known = false;
      while (!rest.empty()) known |= cut(rest, ',') == a.word;
      if (!known)
        out.push_back({Kind::attribute_word,
                       fmt::format("attribute '{}' is '{}'; needed one of {}", a.name, a.word, declared->words), a.name,
                       fmt::format("'{}'", a.word), fmt::format("one of {}", declared->words)});
    } else if (declared->first_axis && a.least < *declared->first_axis) {
      out.push_back({Kind::negative_axis,
                     fmt::format("attribute '{}' has {}; axes count from the start in its form of opset {}", a.name,
                                 a.least, form.since),
                     a.name, std::to_string(a.least), fmt::format("{} or more", *declared->first_axis)});
    }
  }
  for (const FormAttribute& a : form.attributes) {
    const auto given = std::find_if(use.attributes.begin(), use.attributes.end(),
                                    [&](const FormUse::Attribute& g) { return g.name == a.name; });
    const bool said = given != use.attributes.end();
    if (a.required && !said)
      out.push_back({Kind::attribute_required, fmt::format("attribute '{}' is required", a.name), a.name, {}, {}});
    const bool matters = a.needs_one && (a.one_for == 'y' ? !use.out.empty() && use.out[0] : use.out.size() < 2);
    if (matters && (!said || (given->kind && given->number == 0)))
      out.push_back({Kind::attribute_off,
                     fmt::format("attribute '{}' is {}, so {}; nnex takes it as 1", a.name, said ? "0" : "left out",
                                 a.one_for == 'y' ? "output 0 is not made" : "it is training"),
                     a.name, said ? "0" : "left out", "1"});
  }
}

/// Whether both can be one variable's: kinds and element types; extents are free.
bool is_one_type(const Type& a, const Type& b) {
  if (a.kind == Kind::unknown || b.kind == Kind::unknown) return true;
  if (a.kind != b.kind) return false;
  if (a.dtype != DType::none && b.dtype != DType::none && a.dtype != b.dtype) return false;
  return !a.element || !b.element || is_one_type(*a.element, *b.element);
}

/// The type without its extents.
std::string kind_text(const Type& t) {
  if (t.is_tensor()) return std::string(name(t.dtype));
  return t.text();
}

class TypeRules {
 public:
  explicit TypeRules(std::vector<BrokenForm>& out) : out_(out) {}

  void check(const std::vector<FormPort>& ports, const std::vector<const Type*>& given, bool inputs) {
    for (size_t i = 0; i < given.size() && !ports.empty(); ++i)
      if (given[i] && (i < ports.size() || ports.back().is_many()))
        port(ports[std::min(i, ports.size() - 1)], *given[i], fmt::format("{} {}", noun(inputs, 1), i));
  }

 private:
  void port(const FormPort& p, const Type& type, const std::string& what) {
    if (!p.types.admits(type)) {
      const auto told = [&](const Bound& b) { return b.variable == p.variable && is_one_type(*b.type, type); };
      if (std::any_of(refused_.begin(), refused_.end(), told)) return;
      if (!p.variable.empty()) refused_.push_back({p.variable, &type, what});
      out_.push_back({BrokenForm::Kind::operand_type,
                      fmt::format("{} is {}; allowed: {}", what, kind_text(type), listed(p.written)),
                      {},
                      kind_text(type),
                      listed(p.written)});
      return;
    }
    if (p.rank && type.dims && static_cast<int64_t>(type.dims->size()) != *p.rank)
      out_.push_back({BrokenForm::Kind::operand_rank,
                      fmt::format("{} has {} axes; needed {}", what, type.dims->size(), *p.rank),
                      {},
                      fmt::format("{} axes", type.dims->size()),
                      std::to_string(*p.rank)});
    if (p.variable.empty() || p.many == FormPort::Many::mixed) return;
    for (const auto& [variable, first, where] : bound_) {
      if (variable != p.variable) continue;
      if (!is_one_type(*first, type))
        out_.push_back(
            {BrokenForm::Kind::one_type,
             fmt::format("{} is {}, {} is {}; needed one type", where, kind_text(*first), what, kind_text(type)),
             {},
             fmt::format("{} and {}", kind_text(*first), kind_text(type)),
             "one type"});
      return;
    }
    if (type.kind != Kind::unknown && !(type.is_tensor() && type.dtype == DType::none))
      bound_.push_back({p.variable, &type, what});
  }

  struct Bound {
    std::string_view variable;
    const Type* type;
    std::string where;
  };
  std::vector<BrokenForm>& out_;
  std::vector<Bound> bound_, refused_;
};

/// Whether both have one shape; where that may be or not, `otherwise`.
bool is_one_shape(const MaybeDims& a, const MaybeDims& b, bool otherwise) {
  if (!a || !b) return otherwise;
  if (a->size() != b->size()) return false;
  for (size_t i = 0; i < a->size(); ++i) {
    const Dim &x = (*a)[i], &y = (*b)[i];
    if (x == y && !x.has_unknown()) continue;
    if ((x.is_number() && y.is_number()) || !otherwise) return false;
  }
  return true;
}

/// Inputs that have the result's shape, or one number a channel.
void check_shapes(const Form& form, const FormUse& use, std::vector<BrokenForm>& out) {
  for (size_t i = 0; use.result && i < use.in.size() && !form.in.empty(); ++i) {
    const FormPort& port = form.in[std::min(i, form.in.size() - 1)];
    const bool may_spread = form.find("broadcast") && i + 1 == form.in.size();
    if (!use.in[i] || (port.is_whole && may_spread && use.broadcast)) continue;
    const Type& type = *use.in[i];
    if (port.is_whole && !is_one_shape(type.dims, use.result->dims, !use.is_known))
      out.push_back(
          {BrokenForm::Kind::operand_shape,
           fmt::format("input {} is {}, the result {}; they have one shape in its form of opset {}{}", i, type.text(),
                       use.result->text(), form.since, may_spread ? ", where attribute 'broadcast' is not 1" : ""),
           {},
           type.text(),
           use.result->text()});
    if (port.by_channel && use.is_known && (!type.dims || type.dims->size() != 1))
      out.push_back({BrokenForm::Kind::operand_shape,
                     fmt::format("input {} is {}; it has one number a channel in its form of opset {}", i, type.text(),
                                 form.since),
                     {},
                     type.text(),
                     "one number a channel"});
  }
}

}  // namespace

bool TypeSet::admits(const Type& type) const {
  const auto in = [](Types set, const Type& t) { return set && (t.dtype == DType::none || (set & only(t.dtype))); };
  switch (type.kind) {
    case Kind::unknown:
      return true;
    case Kind::tensor:
    case Kind::sparse:
      return in(tensors, type);
    case Kind::map:
      return maps;
    case Kind::sequence:
      if (!type.element || type.element->kind == Kind::unknown) return sequences || sequences_of_maps;
      return type.element->kind == Kind::map ? sequences_of_maps : in(sequences, *type.element);
    case Kind::optional: {
      if (!type.element || type.element->kind == Kind::unknown) return optionals || optional_sequences;
      if (type.element->is_tensor()) return in(optionals, *type.element);
      const Type* of = type.element->element.get();
      return of ? in(optional_sequences, *of) : optional_sequences != 0;
    }
  }
  return false;
}

const FormAttribute* Form::find(std::string_view attribute) const {
  for (const FormAttribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

namespace {

std::vector<Form> parse_forms(std::string_view text) {
  std::vector<Form> out;
  while (!text.empty()) {
    Form form = parse_form(cut(text, '\n'), out.empty() ? nullptr : &out.back());
    out.push_back(std::move(form));
  }
  return out;
}

}  // namespace

const std::vector<Form>& parsed_forms(std::string_view text) {
  static std::mutex mutex;
  static std::unordered_map<const char*, std::vector<Form>> parsed;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = parsed.try_emplace(text.data());
  if (fresh) at->second = parse_forms(text);
  return at->second;
}

namespace {

/// Null: no such operator.
const OperatorForms* find_forms(std::string_view domain, std::string_view name) {
  static const auto all = [] {
    NameIndex<const OperatorForms*> index;
    for (const auto& part : {forms_a_l(), forms_m_z(), forms_ml()})
      for (const OperatorForms& o : part) index.add(o.name, &o);
    return index;
  }();
  const OperatorForms* found = nullptr;
  all.each(name, [&](const OperatorForms* o) {
    if (o->domain == domain) found = o;
  });
  return found;
}

}  // namespace

const std::vector<Form>& forms_of(std::string_view domain, std::string_view name) {
  static const std::vector<Form> none;
  const OperatorForms* const found = find_forms(domain, name);
  return found ? parsed_forms(found->text) : none;
}

bool names_attribute(std::string_view domain, std::string_view name, std::string_view attribute) {
  const OperatorForms* const found = find_forms(domain, name);
  if (!found) return false;
  const std::string_view text = found->text;
  for (size_t at = text.find(attribute); at != std::string_view::npos; at = text.find(attribute, at + 1)) {
    const std::string_view behind = text.substr(at + attribute.size());
    if (at > 0 && text[at - 1] == ' ' && !behind.empty() && behind[0] == ':') return true;
  }
  return false;
}

const Form* find_form(std::string_view domain, std::string_view name, int64_t opset) {
  const Form* out = nullptr;
  for (const Form& form : forms_of(domain, name))
    if (form.since <= opset) out = &form;
  return out;
}

bool is_standard(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx.ml" || domain == "ai.onnx.preview.training";
}

std::vector<BrokenForm> broken_rules(const Form& form, const FormUse& use) {
  std::vector<BrokenForm> out;
  if (form.deprecated) {
    out.push_back({BrokenForm::Kind::withdrawn, fmt::format("it was withdrawn with opset {}", form.since), {}, {}, {}});
    return out;
  }
  check_count(form.in, use.in, true, out);
  check_count(form.out, use.out, false, out);
  check_attributes(form, use, out);
  for (BrokenForm& rule : broken_types(form, use)) out.push_back(std::move(rule));
  return out;
}

int64_t least_number(const Tensor* numbers) {
  int64_t least = 0;
  if (!numbers || !is_int(numbers->dtype()) || numbers->count() > 64) return least;
  for (int64_t i = 0; i < numbers->count(); ++i) least = std::min(least, int_at(*numbers, i));
  return least;
}

std::vector<BrokenForm> broken_types(const Form& form, const FormUse& use) {
  std::vector<BrokenForm> out;
  TypeRules types(out);
  types.check(form.in, use.in, true);
  types.check(form.out, use.out, false);
  check_shapes(form, use, out);
  for (size_t i = 0; i < use.least.size() && i < form.in.size(); ++i)
    if (form.in[i].counts_from_start && use.least[i] < 0)
      out.push_back({BrokenForm::Kind::negative_axis,
                     fmt::format("input {} has {}; it counts from the start in its form of opset {}", i, use.least[i],
                                 form.since),
                     {},
                     std::to_string(use.least[i]),
                     "0 or more"});
  return out;
}

std::string sentences(const std::vector<BrokenForm>& broken) {
  std::string out;
  for (const BrokenForm& b : broken) out += (out.empty() ? "" : "; ") + b.text;
  return out;
}

}  // namespace nnex::onnx_format
