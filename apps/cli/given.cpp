// The inputs of a run, from the command line.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli.h"
#include "nnex/inspect.h"
#include "nnex/suggest.h"
#include "nnex/tensor_file.h"

namespace nnex::cli {

std::pair<std::string, std::string> named(const std::string& word) {
  const size_t eq = word.find('=');
  return eq == std::string::npos ? std::pair<std::string, std::string>{"", word}
                                 : std::pair{word.substr(0, eq), word.substr(eq + 1)};
}

namespace {

/// Whether a word with '=' in it is a file's name as it stands.
bool is_file(const std::string& word) {
  const std::filesystem::path path(word);
  const std::filesystem::path folder = path.parent_path();
  std::error_code error;
  return std::filesystem::exists(path, error) ||
         (folder.string().find('=') != std::string::npos && std::filesystem::is_directory(folder, error));
}

}  // namespace

std::pair<std::string, std::string> named(const std::string& word,
                                          const std::function<bool(const std::string& name)>& is_name) {
  for (size_t end = word.size(); end > 0;) {
    const size_t eq = word.rfind('=', end - 1);
    if (eq == std::string::npos) break;
    if (std::string name = word.substr(0, eq); is_name(name)) return {std::move(name), word.substr(eq + 1)};
    end = eq;
  }
  if (is_file(word)) return {"", word};
  return named(word);
}

std::pair<std::string, std::string> named(const std::string& word, const std::vector<PortInfo>& ports) {
  return named(word, [&](const std::string& name) {
    return std::any_of(ports.begin(), ports.end(), [&](const PortInfo& p) { return p.name == name; });
  });
}

Result<size_t> port_at(std::string_view kind, const std::vector<PortInfo>& ports, std::string_view name) {
  std::vector<std::string_view> names;
  for (const PortInfo& p : ports) names.push_back(p.name);
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return Error(Code::invalid_argument, no_such(kind, name, names));
  return static_cast<size_t>(at - names.begin());
}

void InputOptions::add_to(Verb verb) {
  verb.option("-i,--input", files,
              "An input: FILE in the model's order, or NAME=FILE (.npy .npz .pb .dat .json .csv .wav .raw .png .jpg; - "
              "is standard input); a .npz FILE, a JSON object or a folder (test_data_set_0) gives every input it has "
              "something for, and what else it has is passed over")
      .type("[NAME=]FILE");
  verb.flag("--random", random, "Random numbers for inputs that are not given");
  verb.option("--seed", seed, "Of random inputs");
  add_fit_to(verb);
}

void InputOptions::add_fit_to(Verb verb) {
  verb.group("How inputs are read");
  verb.flag("--cast", fit.cast,
            "Convert inputs of another element type: reals to integers toward zero, within their range; integers wrap");
  verb.option("--layout", layout, "How a picture lies in the input").one_of({"nchw", "nhwc"});
  verb.option("--mean", fit.picture.mean, "Subtracted from a picture's channels (0 to 1)").commas();
  verb.option("--scale", fit.picture.scale, "Divides a picture's channels after that").commas();
  verb.flag("--bgr", fit.picture.bgr, "A picture's channels blue first");
  verb.option("--sample-rate", fit.audio.sample_rate,
              "Samples a second that the model takes of a .wav: another rate is refused, as nothing is resampled");
}

InputFileOptions InputOptions::file_options(const ReadingOptions& limits) const {
  constexpr int64_t kMiB = int64_t{1} << 20;
  InputFileOptions out = fit;
  if (!layout.empty()) out.picture.layout = layout == "nchw" ? PictureLayout::nchw : PictureLayout::nhwc;
  out.archive_ratio = limits.archive_ratio;
  out.archive_limit = kMiB * (limits.archive_limit ? limits.archive_limit : limits.memory_limit);
  return out;
}

namespace {

/// The error of a name that no input has, where it is one's that the file has a default for, or that is carried.
Error unknown_input(Error e, const std::string& name, const ModelOptions& o) {
  const auto source = source_of(o.path);
  if (!source.ok()) return e;
  const auto model = inspect(*source);
  const auto is_it = [&](const PortInfo& p) { return p.name == name; };
  if (model.ok() && !o.carry.empty() && std::any_of(model->inputs.begin(), model->inputs.end(), is_it))
    return Error(Code::invalid_argument,
                 fmt::format("input '{}' is carried from one step to the next: the first has zeros, and it cannot be "
                             "given",
                             name));
  if (!model.ok() || std::find(model->defaults.begin(), model->defaults.end(), name) == model->defaults.end()) return e;
  return Error(Code::invalid_argument,
               fmt::format("input '{}' has a default in the file, which is a constant here: it cannot be given", name));
}

/// An input's file, and the bytes of it where it is a stream.
struct Opened {
  InputFile file;
  std::string bytes;
};

/// A file or folder, or what a stream holds.
Result<Opened> open_input(const std::string& path) {
  if (!is_stream(path)) {
    NNEX_ASSIGN(InputFile file, InputFile::open(path));
    return Opened{std::move(file), {}};
  }
  NNEX_ASSIGN(std::string all, read_stream(path));
  NNEX_ASSIGN(InputFile file, InputFile::from_bytes(path, all));
  return Opened{std::move(file), std::move(all)};
}

/// The names of an object's values.
Result<std::vector<std::string>> names_in_json(const std::string& text) {
  std::vector<std::string> out;
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object())
    for (const auto& [name, value] : json.items()) out.push_back(name);
  return out;
}

/// The names of what a file has for inputs by their names; none of a folder, of which what is for no input is not read.
Result<std::vector<std::string>> names_in(const std::string& path, const Opened& opened,
                                          const InputFileOptions& options) {
  std::error_code error;
  const bool is_piped = !opened.bytes.empty();
  if (!is_piped && std::filesystem::is_directory(path, error)) return std::vector<std::string>();
  if (is_piped ? opened.bytes[0] != 'P' : has_ending(path, ".json")) {
    if (is_piped) return names_in_json(opened.bytes);
    NNEX_ASSIGN(const std::string text, read_file(path));
    return names_in_json(text);
  }
  std::string archive = path;
  ScratchFolder scratch;
  if (is_piped) {
    NNEX_ASSIGN(scratch, ScratchFolder::make());
    archive = (std::filesystem::path(scratch.path()) / "inputs.npz").string();
    NNEX_TRY(write_file(archive, opened.bytes));
  }
  NNEX_ASSIGN(const auto arrays, read_tensors(archive, options.archive_limit, options.archive_ratio));
  std::vector<std::string> out;
  for (const auto& [name, array] : arrays) out.push_back(name);
  return out;
}

bool is_helped_by_cast(const Error& e) {
  return std::any_of(e.remedies().begin(), e.remedies().end(), [](const Remedy& r) { return r.option == "cast"; });
}

/// What `read` gives. Where that wants --cast, or had it, and there is no such conversion, the error says so.
template <class Read>
auto read_or_cast(const InputFileOptions& options, const Read& read) -> decltype(read(options)) {
  auto found = read(options);
  if (found.ok() || (!options.cast && !is_helped_by_cast(found.error()))) return found;
  InputFileOptions other = options;
  other.cast = !options.cast;
  auto again = read(other);
  auto &plain = options.cast ? again : found, &cast = options.cast ? found : again;
  if (cast.ok() || cast.error().code() != Code::unsupported || plain.ok() || !is_helped_by_cast(plain.error()))
    return found;
  Error error(plain.error().code(), plain.error().message() + "; there is no conversion of the one to the other");
  for (const std::string& task : plain.error().tasks()) error = std::move(error).during(task);
  return std::move(error).at(plain.error().where());
}

Result<Value> value_for(const InputFile& file, const PortInfo& port, const InputFileOptions& options) {
  return read_or_cast(options, [&](const InputFileOptions& o) { return file.value(port, o); });
}

/// All that a file has for the inputs. What is for none of them is passed over, and told, where something is for one.
Result<std::map<std::string, Value>> values_by_name(const std::string& path, const Opened& opened,
                                                    const std::vector<PortInfo>& ports, const InputFileOptions& options,
                                                    bool quiet) {
  auto all = read_or_cast(options, [&](const InputFileOptions& o) { return opened.file.values(ports, o); });
  if (all.ok() || all.error().code() != Code::invalid_argument) return all;
  const auto names = names_in(path, opened, options);
  if (!names.ok()) return all;
  std::vector<std::string_view> inputs;
  std::vector<const PortInfo*> there;
  for (const PortInfo& p : ports) {
    inputs.push_back(p.name);
    if (std::find(names->begin(), names->end(), p.name) != names->end()) there.push_back(&p);
  }
  if (there.empty() || there.size() == names->size()) return all;
  std::map<std::string, Value> out;
  for (const PortInfo* p : there) {
    NNEX_ASSIGN(out[p->name], value_for(opened.file, *p, options));
  }
  for (const std::string& name : *names)
    if (!quiet && std::find(inputs.begin(), inputs.end(), name) == inputs.end())
      say(stderr, "nnex: '{}' of '{}' is passed over: no input is called so{}\n", one_line(name), path,
          one_line(did_you_mean(name, inputs)));
  return out;
}

}  // namespace

Result<std::map<std::string, Value>> values_in(const std::string& path, const std::vector<PortInfo>& ports,
                                               const InputFileOptions& options, bool quiet) {
  NNEX_ASSIGN(const Opened opened, open_input(path));
  return values_by_name(path, opened, ports, options, quiet);
}

std::string InputOptions::picture_option() const {
  if (!fit.picture.mean.empty()) return "--mean";
  if (!fit.picture.scale.empty()) return "--scale";
  if (fit.picture.bgr) return "--bgr";
  return layout.empty() ? "" : "--layout";
}

namespace {

/// The extents of given values where inputs have names for them; where two differ the run tells.
void add_extents(const PortInfo& port, const Value& value, KnownExtents& known) {
  const Tensor* t = value.tensor();
  if (!t || static_cast<size_t>(t->shape().rank()) != port.extents.size()) return;
  for (size_t i = 0; i < port.extents.size(); ++i)
    if (port.extents[i] < 0 && port.dims[i].find('?') == std::string::npos)
      known.emplace(port.dims[i], t->shape()[static_cast<int64_t>(i)]);
}

/// Files without names go on behind the input that the last one was for.
Error nothing_follows(const std::string& path, const std::vector<PortInfo>& ports, size_t files,
                      const std::vector<std::optional<Given>>& given) {
  std::string left;
  for (size_t i = 0; i < ports.size(); ++i)
    if (!given[i]) left += fmt::format("{}{}={}", left.empty() ? "" : " or ", ports[i].name, path);
  if (left.empty() || ports.empty())
    return Error(Code::invalid_argument, fmt::format("found {} inputs; the model takes {}", files, ports.size()));
  return Error(Code::invalid_argument, fmt::format("'{}': no input follows '{}', which was given before it; needed {}",
                                                   path, ports.back().name, left));
}

}  // namespace

Result<std::vector<Given>> InputOptions::values(const Model& model, const ModelOptions& o,
                                                const Otherwise& otherwise) const {
  const auto& ports = model.inputs();
  std::vector<std::optional<Given>> given(ports.size());
  std::map<std::string, Given> by_name;  // what a file has for several inputs gives way to a file for one
  const auto give = [&](size_t at, Value v, const std::string& from) -> Status {
    if (given[at])
      return Error(Code::invalid_argument, fmt::format("input '{}' is given twice: by '{}' and by '{}'", ports[at].name,
                                                       given[at]->from, from));
    given[at] = Given{std::move(v), from};
    return {};
  };
  const InputFileOptions options = file_options(o);
  size_t next = 0;
  bool pictures = false, sounds = false;
  for (const std::string& word : files) {
    const auto [name, path] = named(word, ports);
    size_t at = next;
    if (!name.empty()) {
      auto known = port_at("input", ports, name);
      if (!known.ok()) return unknown_input(std::move(known).error(), name, o);
      at = *known;
    }
    NNEX_ASSIGN(const Opened opened, open_input(path));
    const InputFile& file = opened.file;
    pictures = pictures || file.may_be_picture(), sounds = sounds || file.may_be_sound();
    if (name.empty() && file.by_names()) {
      std::vector<PortInfo> declared = ports;
      if (std::error_code none; std::filesystem::is_directory(path, none)) {
        NNEX_ASSIGN(declared, o.declared_inputs(model));
      }
      NNEX_ASSIGN(auto all, values_by_name(path, opened, declared, options, quiet));
      for (auto& [port, v] : all) by_name.try_emplace(port, Given{std::move(v), path});
      continue;
    }
    if (at >= ports.size()) return nothing_follows(path, ports, files.size(), given);
    NNEX_ASSIGN(Value v, value_for(file, ports[at], options));
    NNEX_TRY(give(at, std::move(v), path));
    next = at + 1;
  }
  if (const std::string option = picture_option(); !option.empty() && !pictures)
    return Error(Code::invalid_argument, fmt::format("{}: no input is a picture", option));
  if (fit.audio.sample_rate != 0 && !sounds)
    return Error(Code::invalid_argument, "--sample-rate: no input is a .wav file");
  KnownExtents known;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (const auto it = by_name.find(ports[i].name); !given[i] && it != by_name.end()) given[i] = it->second;
    if (given[i]) add_extents(ports[i], given[i]->value, known);
  }
  std::vector<Given> out;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (given[i]) {
      out.push_back(std::move(*given[i]));
      continue;
    }
    NNEX_ASSIGN(Given made, random ? random_numbers(model, i, known) : otherwise(i, known));
    out.push_back(std::move(made));
  }
  return out;
}

Result<Given> InputOptions::random_numbers(const Model& model, size_t input, const KnownExtents& known) const {
  NNEX_ASSIGN(Value v,
              random_input(model.inputs()[input], seed.value_or(0) + input + 1, known, 1, bits_of(model), random_from));
  return Given{std::move(v), "random numbers"};
}

Result<std::optional<Given>> stored_input(const Model& model, size_t input, const ModelOptions& o,
                                          const InputOptions& inputs) {
  const PortInfo& port = model.inputs()[input];
  NNEX_ASSIGN(const auto declared, o.declared_inputs(model));
  const auto at =
      std::find_if(declared.begin(), declared.end(), [&](const PortInfo& p) { return p.name == port.name; });
  std::error_code error;
  const std::filesystem::path path(o.path);  // beside a folder lie the data of other models
  const auto file = (std::filesystem::is_directory(path, error) ? path : path.parent_path()) / kStoredInputs /
                    fmt::format("input_{}.pb", at - declared.begin());
  if (!std::filesystem::exists(file, error)) return std::optional<Given>();
  NNEX_ASSIGN(const InputFile stored, InputFile::open(file.string()));
  NNEX_ASSIGN(Value v, value_for(stored, port, inputs.file_options(o)));
  return std::optional(Given{std::move(v), kStoredInputs});
}

Result<Given> stored_or_random(const Model& model, size_t input, const ModelOptions& o, const InputOptions& inputs,
                               const KnownExtents& known) {
  NNEX_ASSIGN(std::optional<Given> stored, stored_input(model, input, o, inputs));
  if (stored) return std::move(*stored);
  return inputs.random_numbers(model, input, known);
}

std::vector<Value> values_of(const std::vector<Given>& given) {
  std::vector<Value> out;
  for (const Given& g : given) out.push_back(g.value);
  return out;
}

}  // namespace nnex::cli
