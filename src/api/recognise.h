#pragma once
// Which format a model is in, by what its bytes say; its name decides only where they say nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/cvm_files.h"
#include "base/memory_account.h"
#include "nnex/result.h"
#include "nnex/source.h"
#include "standards/container.h"

namespace nnex {

enum class ModelFormat : uint8_t {
  onnx,
  nnef_text,     ///< The structure alone.
  nnef_archive,  ///< tar, gzip around it or not.
  nnef_folder,
  cvm,         ///< Both files.
  cvm_lone,    ///< One of the two.
  cvm_symbol,  ///< Of bytes alone: which of its files they are.
  cvm_params,
  webnn,  ///< A builder program.
  other   ///< No model's.
};

/// What bytes are that begin like this; `name` is their file's, for what they leave open.
struct FileKind {
  ModelFormat format = ModelFormat::onnx;
  std::string what;  ///< Of others, in words: "a web page (HTML), not a model".
};
FileKind kind_of(std::string_view begin, std::string_view name);
/// How many bytes of a file are looked at.
inline constexpr size_t kLookedAt = 4096;

/// Where a model is, and how it is read.
struct Recognised {
  ModelFormat format = ModelFormat::onnx;
  std::string path;           ///< Of a folder with one model in it, that model. For messages where `files` is there.
  cvm_format::Files cvm;      ///< Of `cvm`.
  cvm_format::LoneFile lone;  ///< Of `cvm_lone`.

  /// Of a model that is no path: its files, in which `main` and the names of `cvm` and `lone` are.
  std::shared_ptr<const Container> files;
  std::string main;    ///< The file that is the model, or its structure.
  bool alone = false;  ///< There is no other file.

  /// Of an archive: which of its models, a file or a folder of it. Empty: the one that it holds.
  std::string member = {};
  /// Of an archive that was opened: its files, and who counts what they take.
  std::shared_ptr<const Container> archive = {};
  std::shared_ptr<MemoryAccount> memory = {};
};

/// Looks at a file, a folder, "SYMBOL+PARAMS", or what lies in an archive ("models.tgz/a.onnx"). A folder that is
/// neither NNEF's nor CVM's stands for the one model in it; an archive is told as NNEF's, whatever lies in it. Errors:
/// unreadable (cannot be opened, no model, a folder of several).
Result<Recognised> recognise(const std::string& path);
/// The same of any source. Of several files the model is told as in a folder; files that no name tells are looked into.
/// Errors: those of the source's callbacks, too.
Result<Recognised> recognise(const ModelSource& source);
/// The member of an archive; without one the model in an archive that has no graph.nnef, told by names as in a folder;
/// where all files lie in one folder of the archive, in that. Nothing: NNEF's archive it is, or was to be. Errors:
/// unreadable (several, none, or what has a model's name is none).
Result<std::optional<Recognised>> model_in(const Container& archive, const std::string& member);

}  // namespace nnex
