#pragma once
/// ModelSource: where a model comes from: a path, memory, or callbacks of a program that keeps its files its own way.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/result.h"

#pragma GCC visibility push(default)
namespace nnex {

/// Bytes, and who keeps them. Weights are not copied: graphs and models hold the owner. Null: the bytes outlive every
/// graph and model that is read from them.
struct OwnedBytes {
  std::string_view bytes = {};
  std::shared_ptr<const void> owner = {};
};

/// A file in memory: its name, '/' between folders ("graph.nnef", "weights/conv1.dat"), and its bytes.
struct NamedBytes {
  std::string name = {};
  std::string bytes = {};
};

/// Files of a model that nobody but the program can open: encrypted, packed, in a database. Every file that a model
/// needs (external tensors, variables, weights) is asked for here, each at most once while a model is read. Calls come
/// one after the other, on the thread that reads. What they throw becomes an Error of code fault that says what was
/// asked for.
struct FileReader {
  /// The names of all files, '/' between folders.
  std::function<Result<std::vector<std::string>>()> list = {};
  /// The bytes of a file that list() names.
  std::function<Result<OwnedBytes>(const std::string& name)> read = {};
};

/// Where a model comes from. Copies share the bytes.
class ModelSource {
 public:
  /// What lies at a path: a file, a folder or an archive of NNEF (.tar, .tgz, .tar.gz), a folder of CVM, or CVM's
  /// "SYMBOL+PARAMS". A folder that is none of these stands for the one model in it.
  ModelSource(std::string path);  // NOLINT: implicit on purpose
  ModelSource(const char* path);  // NOLINT
  /// The bytes of a file of any format, an archive too, copied. `name` is for messages; its ending tells the format
  /// where the bytes do not.
  static ModelSource memory(std::string_view bytes, std::string name = "the model");
  /// The same, not copied.
  static ModelSource memory(OwnedBytes bytes, std::string name = "the model");
  /// Several files: CVM's symbol and params, a .webnn text with its weights, an .onnx file with its external tensors,
  /// graph.nnef with its variables. `name` tells which is the model where a file is called so; else the names do, as in
  /// a folder on disk, or the only model in folders among them. What it names lies beside it; two files that are CVM's
  /// may have any names. Two files of one name are refused by whoever reads: invalid_argument.
  static ModelSource memory(std::vector<NamedBytes> files, std::string name = "the model");
  /// The files that callbacks give; which is the model is told as of several files in memory.
  static ModelSource callbacks(FileReader reader, std::string name = "the model");

  /// The path, or the name for messages.
  const std::string& name() const { return name_; }
  /// The name in quotes, as messages have it; "the model" has none.
  std::string shown() const;
  /// The callbacks behind it; null: it is a path.
  const FileReader* reader() const { return reader_.get(); }

 private:
  ModelSource(std::string name, FileReader reader);
  std::string name_;
  std::shared_ptr<const FileReader> reader_;
};

}  // namespace nnex
#pragma GCC visibility pop
