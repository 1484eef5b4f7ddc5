#include "api/recognise.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/built.h"
#include "base/failure.h"
#include "base/joined.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "standards/container.h"
#include "standards/cvm/read_params.h"
#include "standards/nnef/model.h"
#include "standards/onnx/schema.h"
#include "standards/onnx/text.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;
using namespace std::literals;

/// Bytes that begin files of other programs.
constexpr struct {
  size_t at;
  std::string_view bytes, what;
} kOthers[] = {
    {0, "version https://git-lfs"sv, "a pointer of Git LFS, not the file itself; 'git lfs pull' fetches that"},
    {4, "TFL3"sv, "a TensorFlow Lite model; nnex reads it once it is exported as ONNX (tf2onnx)"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own form; needed the .onnx file it was made from"},
    {0, "GGUF"sv, "a GGUF file: weights without a network"},
    {8, "{\""sv, "a safetensors file: weights without a network"},
    {0, "\x89HDF\r\n"sv, "an HDF5 file (Keras); nnex reads the model once it is exported as ONNX (tf2onnx)"},
    {0, "\x93NUMPY"sv, "a NumPy array, not a model"},
    {0, "\x89PNG\r\n"sv, "a picture (PNG), not a model"},
    {0, "\xff\xd8\xff"sv, "a picture (JPEG), not a model"},
    {0, "GIF8"sv, "a picture (GIF), not a model"},
    {0, "%PDF-"sv, "a PDF document, not a model"},
    {0,
     "\x7f"
     "ELF"sv,
     "a program (ELF), not a model"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "packed by xz; of archives .tar, .tgz and .tar.gz are read"},
    {0, "\x28\xb5\x2f\xfd"sv, "packed by zstd; of archives .tar, .tgz and .tar.gz are read"},
    {0, "BZh"sv, "packed by bzip2; of archives .tar, .tgz and .tar.gz are read"},
    {0, "7z\xbc\xaf"sv, "packed by 7-Zip; of archives .tar, .tgz and .tar.gz are read"},
};

constexpr std::string_view kPickled =
    "a PyTorch file (a pickle); nnex reads the model once it is exported as ONNX (torch.onnx.export)";

constexpr std::string_view kJavaScript =
    "JavaScript, which is written and not read; needed the model that it was made from";
constexpr std::string_view kModule =
    "a JavaScript module that nnex wrote, for engines of WebNN; needed the model that it was made from, or a .webnn";

/// What a zip archive holds, by the names in front.
std::string zip_of(std::string_view begin) {
  const auto holds = [&](std::string_view name) { return begin.find(name) != std::string_view::npos; };
  if (holds("data.pkl") || holds("constants.pkl")) return std::string(kPickled);
  if (holds(".npy")) return "a NumPy archive (.npz), not a model";
  if (holds("model.weights.h5")) return "a Keras model (.keras); nnex reads it once it is exported as ONNX (tf2onnx)";
  return "a zip archive; of archives .tar, .tgz and .tar.gz are read";
}

/// The text after a byte order mark, spaces and line ends.
std::string_view text_of(std::string_view begin) {
  if (begin.starts_with("\xef\xbb\xbf")) begin.remove_prefix(3);
  while (!begin.empty() && (begin.front() == ' ' || (begin.front() >= '\t' && begin.front() <= '\r')))
    begin.remove_prefix(1);
  return begin;
}

bool is_web_page(std::string_view text) {
  std::string first(text.substr(0, 14));
  std::transform(first.begin(), first.end(), first.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return first.starts_with("<!doctype html") || first.starts_with("<html") || first.starts_with("<head");
}

/// Whether a JSON object has a member "format" that is a program's, among those that are seen.
bool is_program(std::string_view object) {
  int depth = 0;
  bool key = false;  // a string that comes now is a key of the object itself
  for (size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (depth == 1 && (c == '{' || c == ',')) key = true;
    if (c != '"') continue;
    size_t end = i + 1;
    while (end < object.size() && object[end] != '"') end += object[end] == '\\' ? 2 : 1;
    if (end >= object.size()) return false;
    const std::string_view rest = text_of(object.substr(end + 1));
    if (key && depth == 1 && object.substr(i, end + 1 - i) == "\"format\"" && rest.starts_with(':'))
      return text_of(rest.substr(1)).starts_with("\"nnex.webnn/");
    key = false;
    i = end;
  }
  return false;
}

/// Whether a text begins as a document of NNEF goes on after its version: its checker says what is missing.
bool lacks_version(std::string_view text) {
  while (text.starts_with('#')) text = text_of(text.substr(std::min(text.find('\n'), text.size())));
  for (std::string_view word : {"graph"sv, "fragment"sv, "extension"sv}) {
    if (!text.starts_with(word)) continue;
    const std::string_view rest = text.substr(word.size()), name = text_of(rest);
    const int first = name.empty() ? 0 : name.front() | 0x20;  // a letter in small
    return name.size() < rest.size() && ((first >= 'a' && first <= 'z') || name.starts_with('_'));
  }
  return false;
}

/// Whether a text is a graph as it is printed: the parameters of one have types there.
bool is_printed_graph(std::string_view text) {
  const size_t open = text.find('('), colon = text.find(':');
  return text.starts_with("graph ") && open < colon && colon < text.find(')');
}

/// Whether there are letters, blanks and line ends alone, as in no message of ONNX: each node has a tag below them.
bool is_plain_text(std::string_view begin) {
  return std::all_of(begin.begin(), begin.end(),
                     [](char c) { return (c >= ' ' && c < 0x7f) || (c >= '\t' && c <= '\r'); });
}

constexpr std::string_view kArchives[] = {".tar"sv, ".tgz"sv, ".tar.gz"sv};

bool is_archive_name(std::string_view name) {
  return std::any_of(std::begin(kArchives), std::end(kArchives),
                     [&](std::string_view end) { return has_ending(name, end); });
}

/// What the name says where the bytes say nothing.
FileKind by_name(std::string_view begin, std::string_view name) {
  if (!is_plain_text(begin) && onnx_format::begins_model(begin)) return {ModelFormat::onnx, {}};
  if (has_ending(name, ".nnef")) return {ModelFormat::nnef_text, {}};
  if (has_ending(name, ".webnn")) return {ModelFormat::webnn, {}};
  if (is_archive_name(name)) return {ModelFormat::nnef_archive, {}};
  if (begin.empty()) return {ModelFormat::other, "empty"};
  if (has_ending(name, ".js") || has_ending(name, ".mjs")) return {ModelFormat::other, std::string(kJavaScript)};
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff"))
    return {ModelFormat::other, "text in UTF-16; models' texts are UTF-8"};
  if (is_plain_text(begin) && !has_ending(name, ".onnxtxt")) return {ModelFormat::other, "text, not a model"};
  return {ModelFormat::onnx, {}};
}

/// Whether a file among others is a model by its name. A text of NNEF is none: in a folder it is called graph.nnef.
bool is_named_model(std::string_view name) {
  for (std::string_view end : {".onnx"sv, ".onnxtxt"sv, ".webnn"sv, ".symbol"sv})
    if (has_ending(name, end)) return true;
  return is_archive_name(name);
}

/// The one of `found`, models in what is `shown`; nothing where there is none.
Result<std::string> only_of(const std::string& shown, std::vector<std::string> found) {
  std::sort(found.begin(), found.end());
  if (found.size() > 1)
    return failure(Code::unreadable, "{} holds {} models; name one of them: {}{}", shown, found.size(),
                   joined(std::span(found).first(std::min<size_t>(4, found.size())), ", "),
                   found.size() > 4 ? ", ..." : "");
  return found.empty() ? std::string() : found[0];
}

/// The folder that all these files lie in; empty: there is none.
std::string common_folder(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const size_t slash = names[0].find('/');
  const std::string begin = slash == std::string::npos ? "" : names[0].substr(0, slash + 1);
  const bool all = !begin.empty() && std::all_of(names.begin(), names.end(),
                                                 [&](const std::string& name) { return name.starts_with(begin); });
  return all ? begin.substr(0, slash) : std::string();
}

/// The one model in a folder that is none itself.
Result<std::string> only_model(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (is_named_model(entry.path().filename().string()) && entry.is_regular_file(error))
      found.push_back(entry.path().string());
  NNEX_ASSIGN(std::string only, only_of("'" + folder + "'", std::move(found)));
  return only.empty() ? folder : only;
}

/// The folder of a file among others, with its slash; empty: there is none.
std::string folder_of(const std::string& name) { return name.substr(0, name.rfind('/') + 1); }

/// Which of a model's files on callbacks, in memory or in an archive is the model.
class FileFinder {
 public:
  /// `above`: what a path to them has in front of their names.
  FileFinder(std::string shown, Recognised& out, std::string above = {})
      : shown_(std::move(shown)), above_(std::move(above)), out_(out), files_(*out.files), names_(files_.names()) {
    out_.alone = names_.size() == 1;
  }

  Status find() {
    if (names_.empty()) return failure(Code::unreadable, "{} holds no files", shown_);
    if (out_.alone) return model(names_[0]);
    if (std::count(names_.begin(), names_.end(), out_.path)) return model(out_.path);
    if (files_.has("graph.nnef")) return model("graph.nnef");
    NNEX_ASSIGN(const bool found, find_named());
    return found ? Status() : by_content();
  }

  /// Whether a name tells it.
  Result<bool> find_named() {
    if (files_.has("symbol") && files_.has("params")) {
      NNEX_TRY(cvm("symbol", "params"));
      return true;
    }
    std::vector<std::string> named = those(is_named_model);
    if (named.empty()) named = those([&](const std::string& name) { return is_folders(name); });
    for (std::string& name : named) name = above_ + name;
    NNEX_ASSIGN(const std::string only, only_of(shown_, std::move(named)));
    if (only.empty()) return false;
    NNEX_TRY(model(only.substr(above_.size())));
    return true;
  }

 private:
  template <class F>
  std::vector<std::string> those(F is) const {
    std::vector<std::string> out;
    std::copy_if(names_.begin(), names_.end(), std::back_inserter(out), is);
    return out;
  }
  /// Whether a file makes the folder that it is in a model.
  bool is_folders(const std::string& name) const {
    const std::string folder = folder_of(name), file = name.substr(folder.size());
    return file == "graph.nnef" || (file == "symbol" && files_.has(folder + "params"));
  }

  /// This file is the model; what it names lies beside it.
  Status model(const std::string& name) {
    const std::string folder = folder_of(name), last = name.substr(folder.size());
    if (!out_.alone && last == "graph.nnef") {
      out_.format = ModelFormat::nnef_folder;
    } else {
      NNEX_TRY(file(name));
    }
    if (folder.empty() || out_.format == ModelFormat::cvm || out_.format == ModelFormat::cvm_lone) return {};
    out_.files = std::make_shared<const Container>(files_.below(folder.substr(0, folder.size() - 1)));
    out_.main = last;
    return {};
  }

  Status cvm(std::string symbol, std::string params) {
    out_.format = ModelFormat::cvm;
    out_.cvm = {std::move(symbol), std::move(params)};
    return {};
  }

  Result<FileKind> kind(const std::string& name) const {
    NNEX_ASSIGN(const FileBytes bytes, files_.read(name));
    return kind_of(bytes.bytes.substr(0, kLookedAt), name);
  }

  /// This file is the model.
  Status file(const std::string& name) {
    NNEX_ASSIGN(FileKind found, kind(name));
    const std::string shown = out_.alone ? shown_ : fmt::format("'{}'", files_.place(name));
    if (found.format == ModelFormat::other) return failure(Code::unreadable, "{} is {}", shown, found.what);
    out_.format = found.format;
    out_.main = name;
    if (found.format == ModelFormat::cvm_symbol) {
      const std::string folder = folder_of(name), last = name.substr(folder.size());
      for (const std::string& params : {last.substr(0, last.rfind('.')) + ".params", std::string("params")})
        if (files_.has(folder + params)) return cvm(name, folder + params);
      out_.format = ModelFormat::cvm_lone;
      out_.lone = {fmt::format("{} is CVM's symbol without its params; needed both files", shown), name};
    } else if (found.format == ModelFormat::cvm_params) {
      out_.format = ModelFormat::cvm_lone;
      out_.lone = {fmt::format("{} is CVM's params without its symbol; needed both files", shown), {}};
    }
    if (!out_.alone) out_.path = files_.place(name);
    return {};
  }

  /// No name tells: CVM's two files have many, and any other model may be the only file that begins as one.
  Status by_content() {
    constexpr size_t kMaxLookedInto = 16;
    std::vector<std::string> symbols, params;
    std::string other;
    for (const std::string& name : names_) {
      if (names_.size() > kMaxLookedInto) break;
      NNEX_ASSIGN(const FileKind found, kind(name));
      if (found.format == ModelFormat::cvm_symbol) symbols.push_back(name);
      if (found.format == ModelFormat::cvm_params) params.push_back(name);
      const bool script = found.what == kModule || found.what == kJavaScript;
      if (found.format == ModelFormat::webnn || found.format == ModelFormat::nnef_text || (script && other.empty()))
        other = name;
    }
    if (params.size() > 1 && symbols.size() > 1) NNEX_TRY(only_of(shown_, symbols));
    if (!symbols.empty() && !params.empty()) return cvm(symbols[0], params[0]);
    if (!symbols.empty() || !params.empty()) return file(symbols.empty() ? params[0] : symbols[0]);
    if (!other.empty()) return model(other);
    const std::string hint = files_.elsewhere("graph.nnef");
    return failure(Code::unreadable,
                   "none of the {} files of {} is a model; needed a name in .onnx, .webnn, .tar, .tgz, "
                   ".tar.gz, graph.nnef, or symbol and params; found {}{}",
                   names_.size(), shown_, joined(std::span(names_).first(std::min<size_t>(4, names_.size())), ", "),
                   hint.empty() ? "" : fmt::format("; there is '{}'", hint));
  }

  std::string shown_, above_;
  Recognised& out_;
  const Container files_;
  std::vector<std::string> names_;
};

}  // namespace

FileKind kind_of(std::string_view begin, std::string_view name) {
  for (const auto& other : kOthers)
    if (begin.size() >= other.at && begin.substr(other.at).starts_with(other.bytes) &&
        (other.at == 0 || begin.substr(other.at - 2, 2) == "\0\0"sv))  // behind the upper half of a number
      return {ModelFormat::other, std::string(other.what)};
  if (begin.size() > 16 && begin.find_first_not_of('\0') == std::string_view::npos)
    return {ModelFormat::other, "nothing but zeros where models begin"};
  if (begin.starts_with("PK\x03\x04")) return {ModelFormat::other, zip_of(begin)};
  if (begin.size() > 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5 &&
      (begin[2] == '\x8a' || begin[2] == '\x95'))
    return {ModelFormat::other, std::string(kPickled)};
  if (cvm_format::begins_params(begin)) return {ModelFormat::cvm_params, {}};
  if (Container::is_archive(begin)) return {ModelFormat::nnef_archive, {}};
  const std::string_view text = text_of(begin);
  if (is_web_page(text))
    return {ModelFormat::other, "a web page (HTML), not a model: what was downloaded was a page about it"};
  if (onnx_format::is_model_text(text)) return {ModelFormat::onnx, {}};
  if (text.starts_with("<?xml") || text.starts_with("<net"))
    return {ModelFormat::other, "XML (OpenVINO?); nnex reads the ONNX file it was made from"};
  if (text.starts_with('{'))
    return {is_program(text) || has_ending(name, ".webnn") ? ModelFormat::webnn : ModelFormat::cvm_symbol, {}};
  if (text.starts_with("/* Written by nnex;") || text.starts_with("/* A neural network, written by nnex"))
    return {ModelFormat::other, "C source, which is written and not read; needed the model that it was made from"};
  if (text.starts_with("// Written by nnex convert.")) return {ModelFormat::other, std::string(kModule)};
  if (is_printed_graph(text))
    return {ModelFormat::other, "a graph as nnex dump prints it, for people; needed the model that it was printed of"};
  if (nnef_format::is_document(text) || lacks_version(text)) return {ModelFormat::nnef_text, {}};
  return by_name(begin, name);
}

namespace {

/// How much of a path to something in an archive is the archive's; 0: there is none.
size_t archive_in(const std::string& path) {
  std::error_code error;
  for (size_t end = path.rfind('/'); end != std::string::npos && end > 0; end = path.rfind('/', end - 1)) {
    const std::string above = path.substr(0, end);
    if (is_archive_name(above) && fs::is_regular_file(above, error)) return end;
  }
  return 0;
}

/// A CVM model, or a part of one, that the path stands for.
std::optional<Recognised> cvm_at(const std::string& path) {
  if (auto files = cvm_format::find_files(path))
    return Recognised{ModelFormat::cvm, path, std::move(*files), {}, nullptr, {}, false};
  if (auto lone = cvm_format::lone_file(path))
    return Recognised{ModelFormat::cvm_lone, path, {}, std::move(*lone), nullptr, {}, false};
  return std::nullopt;
}

}  // namespace

Result<Recognised> recognise(const std::string& path) {
  if (!kOpensFiles) return failure(Code::unsupported, "'{}': this build of nnex opens no files", path);
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  if (auto model = is_file ? std::nullopt : cvm_at(path)) return *std::move(model);
  if (fs::is_directory(path, error)) {
    if (fs::exists(fs::path(path) / "graph.nnef", error))
      return Recognised{ModelFormat::nnef_folder, path, {}, {}, nullptr, {}, false};
    NNEX_ASSIGN(const std::string only, only_model(path));
    if (only == path && is_named_model(fs::path(path).filename().string()))
      return failure(Code::unreadable, "'{}' is a folder, and holds no model", path);
    if (only == path) return Recognised{ModelFormat::nnef_folder, path, {}, {}, nullptr, {}, false};
    return recognise(only);
  }
  if (const size_t end = is_file ? 0 : archive_in(path)) {
    NNEX_ASSIGN(Recognised archive, recognise(path.substr(0, end)));
    archive.member = path.substr(end + 1);
    return archive;
  }
  NNEX_ASSIGN(const std::string begin, read_begin(path, kLookedAt));
  FileKind kind = kind_of(begin, path);
  if (kind.format == ModelFormat::other) return failure(Code::unreadable, "'{}' is {}", path, kind.what);
  const bool half = kind.format == ModelFormat::cvm_symbol || kind.format == ModelFormat::cvm_params;
  if (auto model = is_file && half ? cvm_at(path) : std::nullopt) return *std::move(model);
  return Recognised{kind.format, path, {}, {}, nullptr, {}, false};
}

Result<Recognised> recognise(const ModelSource& source) {
  if (!source.reader()) return recognise(source.name());
  Recognised out;
  out.path = source.name();
  NNEX_ASSIGN(Container files, Container::of_reader(source.name(), *source.reader()));
  out.files = std::make_shared<const Container>(std::move(files));
  NNEX_TRY(FileFinder(source.shown(), out).find());
  return out;
}

namespace {

/// What a model of NNEF has beside its structure, or instead of it.
bool is_nnef(std::string_view name) {
  return has_ending(name, ".nnef") || has_ending(name, ".dat") || has_ending(name, ".quant");
}

Result<Recognised> member_of(const Container& archive, const std::string& member) {
  const std::vector<std::string> names = archive.names();
  const bool file = std::count(names.begin(), names.end(), member) > 0;
  const std::string folder = member + "/";
  if (!file && std::none_of(names.begin(), names.end(), [&](const std::string& n) { return n.starts_with(folder); }))
    return failure(Code::unreadable, "'{}' holds no '{}'; it has {}{}", archive.path(), member,
                   joined(std::span(names).first(std::min<size_t>(4, names.size())), ", "),
                   names.size() > 4 ? ", ..." : "");
  Recognised out;
  out.path = member;
  out.files = std::make_shared<const Container>(file ? archive : archive.below(member));
  const std::string path = archive.path() + "/" + member;
  NNEX_TRY(FileFinder(fmt::format("'{}'", path), out, file ? archive.path() + "/" : path + "/").find());
  return out;
}

}  // namespace

Result<std::optional<Recognised>> model_in(const Container& archive, const std::string& member) {
  if (!member.empty()) {
    NNEX_ASSIGN(Recognised found, member_of(archive, member));
    return std::optional(std::move(found));
  }
  if (archive.has("graph.nnef") || !archive.elsewhere("graph.nnef").empty()) return std::optional<Recognised>();
  const std::vector<std::string> names = archive.names();
  const std::string folder = common_folder(names);
  Recognised out;
  out.path = archive.path();
  out.files = std::make_shared<const Container>(folder.empty() ? archive : archive.below(folder));
  const std::string above = archive.path() + "/" + folder + (folder.empty() ? "" : "/");
  FileFinder finder(fmt::format("'{}'", archive.path()), out, above);
  NNEX_ASSIGN(const bool found, finder.find_named());
  if (!found && std::none_of(names.begin(), names.end(), is_nnef)) NNEX_TRY(finder.find());
  return found ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace nnex
