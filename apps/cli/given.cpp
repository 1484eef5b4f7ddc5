// The inputs of a run, from the command line.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli.h"
#include "nnex/inspect.h"
#include "nnex/suggest.h"

namespace nnex::cli {

std::pair<std::string, std::string> named(const std::string& word) {
  const size_t eq = word.find('=');
  return eq == std::string::npos ? std::pair<std::string, std::string>{"", word}
                                 : std::pair{word.substr(0, eq), word.substr(eq + 1)};
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
              "something for")
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

/// The error of a name that no input has, where it is one's that the file has a default for.
Error unknown_input(Error e, const std::string& name, const ModelOptions& o) {
  const auto source = source_of(o.path);
  if (!source.ok()) return e;
  const auto model = inspect(*source);
  if (!model.ok() || std::find(model->defaults.begin(), model->defaults.end(), name) == model->defaults.end()) return e;
  return Error(Code::invalid_argument,
               fmt::format("input '{}' has a default in the file, which is a constant here: it cannot be given", name));
}

/// A file or folder; "-" is standard input.
Result<InputFile> open_input(const std::string& path) {
  if (path != "-") return InputFile::open(path);
  NNEX_ASSIGN(const std::string all, read_standard_input());
  return InputFile::from_bytes(path, all);
}

}  // namespace

std::string InputOptions::picture_option() const {
  if (!fit.picture.mean.empty()) return "--mean";
  if (!fit.picture.scale.empty()) return "--scale";
  if (fit.picture.bgr) return "--bgr";
  return layout.empty() ? "" : "--layout";
}

Result<std::vector<Given>> InputOptions::values(const Model& model, const ModelOptions& o,
                                                const std::function<Result<Given>(size_t input)>& otherwise) const {
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
    const auto [name, path] = named(word);
    size_t at = next;
    if (!name.empty()) {
      auto known = port_at("input", ports, name);
      if (!known.ok()) return unknown_input(std::move(known).error(), name, o);
      at = *known;
    }
    NNEX_ASSIGN(const InputFile file, open_input(path));
    pictures = pictures || file.may_be_picture(), sounds = sounds || file.may_be_sound();
    if (name.empty() && file.by_names()) {
      std::vector<PortInfo> declared = ports;
      if (std::error_code none; std::filesystem::is_directory(path, none)) {
        NNEX_ASSIGN(declared, o.declared_inputs(model));
      }
      NNEX_ASSIGN(auto all, file.values(declared, options));
      for (auto& [port, v] : all) by_name.try_emplace(port, Given{std::move(v), path});
      continue;
    }
    if (at >= ports.size())
      return Error(Code::invalid_argument,
                   fmt::format("found {} inputs; the model takes {}", files.size(), ports.size()));
    NNEX_ASSIGN(Value v, file.value(ports[at], options));
    NNEX_TRY(give(at, std::move(v), path));
    next = at + 1;
  }
  if (const std::string option = picture_option(); !option.empty() && !pictures)
    return Error(Code::invalid_argument, fmt::format("{}: no input is a picture", option));
  if (fit.audio.sample_rate != 0 && !sounds)
    return Error(Code::invalid_argument, "--sample-rate: no input is a .wav file");
  std::vector<Given> out;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (given[i]) {
      out.push_back(std::move(*given[i]));
    } else if (const auto it = by_name.find(ports[i].name); it != by_name.end()) {
      out.push_back(it->second);
    } else if (random) {
      NNEX_ASSIGN(Given made, random_numbers(model, i));
      out.push_back(std::move(made));
    } else {
      NNEX_ASSIGN(Given other, otherwise(i));
      out.push_back(std::move(other));
    }
  }
  return out;
}

Result<Given> InputOptions::random_numbers(const Model& model, size_t input) const {
  NNEX_ASSIGN(Value v, random_input(model.inputs()[input], seed.value_or(0) + input + 1, {}, 1, bits_of(model)));
  return Given{std::move(v), "random numbers"};
}

Result<Given> stored_or_random(const Model& model, size_t input, const ModelOptions& o, const InputOptions& inputs) {
  const PortInfo& port = model.inputs()[input];
  NNEX_ASSIGN(const auto declared, o.declared_inputs(model));
  const auto at =
      std::find_if(declared.begin(), declared.end(), [&](const PortInfo& p) { return p.name == port.name; });
  const auto file =
      std::filesystem::path(o.path).parent_path() / kStoredInputs / fmt::format("input_{}.pb", at - declared.begin());
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return inputs.random_numbers(model, input);
  NNEX_ASSIGN(const InputFile stored, InputFile::open(file.string()));
  NNEX_ASSIGN(Value v, stored.value(port, inputs.file_options(o)));
  return Given{std::move(v), kStoredInputs};
}

std::vector<Value> values_of(const std::vector<Given>& given) {
  std::vector<Value> out;
  for (const Given& g : given) out.push_back(g.value);
  return out;
}

}  // namespace nnex::cli
