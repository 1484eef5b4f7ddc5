// The public door for files: any standard from a path, from memory and from callbacks; checked, inspected, converted.
// Only bytes of models are made by other means than include/nnex.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "cvm_model.h"
#include "nnex/check.h"
#include "nnex/inspect.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "onnx_bytes.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;
namespace pb = test::onnx;

using Files = std::vector<NamedBytes>;

constexpr Format kFormats[] = {Format::nnef, Format::onnx, Format::webnn, Format::cvm};

/// A folder that ends with the test.
class Folder {
 public:
  Folder() {
    std::string path = testing::TempDir() + "/nnex_door_XXXXXX";
    path_ = mkdtemp(path.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  /// Writes the files: the path of the folder.
  std::string put(const Files& files) const {
    for (const NamedBytes& file : files) {
      fs::create_directories(fs::path(*this / file.name).parent_path());
      std::ofstream(*this / file.name, std::ios::binary) << file.bytes;
    }
    return path_;
  }

 private:
  std::string path_;
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Callbacks over files, which are scrambled until they are asked for; `asked` counts.
FileReader scrambled(const Files& files, std::map<std::string, int>& asked) {
  auto kept = std::make_shared<std::map<std::string, std::string>>();
  for (const NamedBytes& file : files)
    for (char c : file.bytes) (*kept)[file.name] += static_cast<char>(c ^ 0x5a);
  FileReader out;
  out.list = [kept]() -> Result<std::vector<std::string>> {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : *kept) names.push_back(name);
    return names;
  };
  out.read = [kept, &asked](const std::string& name) -> Result<OwnedBytes> {
    ++asked[name];
    auto bytes = std::make_shared<std::string>(kept->at(name));
    for (char& c : *bytes) c = static_cast<char>(c ^ 0x5a);
    return OwnedBytes{*bytes, bytes};
  };
  return out;
}

// ---- Models

/// y = relu(x * w + b) of f32[2,3]; w lies in weights.bin.
Files onnx_files() {
  const std::string w = pb::raw_bytes(std::vector<float>{1, -2, 3});
  pb::Graph g{{pb::node("Mul", {"x", "w"}, {"m"}), pb::node("Add", {"m", "b"}, {"a"}), pb::node("Relu", {"a"}, {"y"})},
              {pb::value("x", {2, 3})},
              {pb::value("y", {2, 3})},
              {pb::external("w", {3}, {{"location", "weights.bin"}}),
               pb::tensor("b", {3}, pb::raw_bytes(std::vector<float>{0.5f, 1, -1}))}};
  return {{"net.onnx", pb::model(g)}, {"weights.bin", w}};
}

Files cvm_files() {
  return {{"symbol", cvm_model::write_symbol(cvm_model::base_symbol())},
          {"params", cvm_model::write_params(cvm_model::base_params())}};
}

/// A model of each standard, as the files it has in memory.
Files files_of(Format format) {
  if (format == Format::cvm) return cvm_files();
  if (format == Format::onnx) return onnx_files();
  auto graph = load_graph(ModelSource::memory(onnx_files()));
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  SaveOptions options;
  auto files = to_bytes(*graph, format, options);
  EXPECT_TRUE(files.ok()) << files.error().text();
  return files.ok() ? *files : Files();
}

/// What a model makes of 1, -2, 3, ... in its input, as numbers.
std::vector<double> answers(const Model& model) {
  const PortInfo& port = model.inputs()[0];
  Tensor x = *Tensor::make(port.dtype, Shape(port.extents));
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    const int number = static_cast<int>(i % 2 ? -i - 1 : i + 1);
    if (port.dtype == DType::f32) x.mutable_as<float>()[at] = static_cast<float>(number);
    if (port.dtype == DType::i32) x.mutable_as<int32_t>()[at] = number;
    if (port.dtype == DType::i64) x.mutable_as<int64_t>()[at] = number;
    if (port.dtype == DType::i8) x.mutable_as<int8_t>()[at] = static_cast<int8_t>(number);
  }
  const std::vector<Value> in = {Value(std::move(x))};
  auto out = model.session().run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  std::vector<double> numbers;
  if (!out.ok()) return numbers;
  const Tensor& y = *(*out)[0].tensor();
  for (int64_t i = 0; i < y.count(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (y.dtype() == DType::f32) numbers.push_back(y.as<float>()[at]);
    if (y.dtype() == DType::i32) numbers.push_back(y.as<int32_t>()[at]);
    if (y.dtype() == DType::i64) numbers.push_back(static_cast<double>(y.as<int64_t>()[at]));
    if (y.dtype() == DType::i8) numbers.push_back(y.as<int8_t>()[at]);
  }
  return numbers;
}

const std::vector<double> kReal = {1.5, 5, 8, 0, 0, 0}, kWhole = {0, 0, 1, 0, 1, 0};
const std::vector<double>& wanted(Format format) { return format == Format::cvm ? kWhole : kReal; }

void expect_answers(Result<Model> model, const std::vector<double>& wanted) {
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(answers(*model), wanted);
}

template <class T>
void expect_error(const Result<T>& result, Code code, const std::string& says) {
  ASSERT_FALSE(result.ok()) << "needed: " << says;
  EXPECT_EQ(name(result.error().code()), name(code)) << result.error().text();
  EXPECT_NE(result.error().text().find(says), std::string::npos) << result.error().text() << "\nneeded: " << says;
}

// ---- Loading

TEST(Door, EveryStandardFromEverywhere) {
  for (Format format : kFormats) {
    SCOPED_TRACE(name(format));
    const Files files = files_of(format);
    const Folder folder;
    expect_answers(load_model(folder.put(files)), wanted(format));
    expect_answers(load_model(ModelSource::memory(files, "a model")), wanted(format));
    std::map<std::string, int> asked;
    expect_answers(load_model(ModelSource::callbacks(scrambled(files, asked), "packed")), wanted(format));
    EXPECT_EQ(asked.size(), files.size());
    for (const auto& [name, times] : asked) EXPECT_EQ(times, 1) << name;
    auto graph = load_graph(ModelSource::memory(files));
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    expect_answers(Model::compile(*graph), wanted(format));
  }
}

TEST(Door, OneFileInMemory) {
  auto graph = load_graph(ModelSource::memory(onnx_files()));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (Format format : {Format::nnef, Format::onnx}) {
    SaveOptions options;
    for (NnefPacking packing : {NnefPacking::tar, NnefPacking::tgz}) {
      options.nnef.packing = packing;
      auto files = to_bytes(*graph, format, options);
      ASSERT_TRUE(files.ok()) << files.error().text();
      ASSERT_EQ(files->size(), 1u);
      expect_answers(load_model(ModelSource::memory((*files)[0].bytes)), kReal);
      expect_answers(Model::from_bytes((*files)[0].bytes), kReal);
    }
  }
  // A text without files beside it, of both standards that are texts.
  const std::string text = "version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [2, 3]);\n  y = relu(x);\n}\n";
  expect_answers(Model::from_bytes(text), {1, 0, 3, 0, 5, 0});
  auto small = load_graph(ModelSource::memory(text));
  ASSERT_TRUE(small.ok()) << small.error().text();
  auto program = to_bytes(*small, Format::webnn);
  ASSERT_TRUE(program.ok()) << program.error().text();
  ASSERT_EQ(program->size(), 1u);
  expect_answers(Model::from_bytes((*program)[0].bytes), {1, 0, 3, 0, 5, 0});
}

TEST(Door, WeightsAreNotCopied) {
  const Files files = onnx_files();
  auto bytes = std::make_shared<std::string>(files[0].bytes);
  const std::weak_ptr<std::string> seen = bytes;
  auto graph = load_graph(ModelSource::memory(OwnedBytes{*bytes, bytes}, "net.onnx"));
  expect_error(graph, Code::invalid_model, "its data lie in another file");
  FileReader reader;
  reader.list = []() -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"net.onnx", "weights.bin"};
  };
  reader.read = [&](const std::string& name) -> Result<OwnedBytes> {
    if (name == "net.onnx") return OwnedBytes{*bytes, bytes};
    return OwnedBytes{files[1].bytes, nullptr};
  };
  auto model = load_graph(ModelSource::callbacks(reader));
  ASSERT_TRUE(model.ok()) << model.error().text();
  bytes.reset();
  reader = {};
  EXPECT_FALSE(seen.expired()) << "b's bytes are the file's";
  model = Graph();
  EXPECT_TRUE(seen.expired());
}

TEST(Door, TheSourceOutlivesItsModels) {
  const ModelSource source = ModelSource::memory(onnx_files());
  for (int i = 0; i < 3; ++i) expect_answers(load_model(source), kReal);  // plans give no memory of the caller's back
}

TEST(Door, TwoFilesOfCvmUnderAnyNames) {
  Files files = cvm_files();
  files[0].name = "net.json", files[1].name = "net.params";
  expect_answers(load_model(ModelSource::memory(files)), kWhole);
  files[0].name = "a", files[1].name = "b";
  expect_answers(load_model(ModelSource::memory(files)), kWhole);
  files[0].name = "net.symbol", files[1].name = "net.params";
  expect_answers(load_model(ModelSource::memory(files)), kWhole);
}

TEST(Door, OptionsOfLoading) {
  pb::Graph g{{pb::node("Relu", {"x"}, {"y"})}, {pb::value("x", {-1, 3})}, {pb::value("y", {-1, 3})}};
  LoadOptions options;
  options.symbols["N"] = 2;
  auto model = load_model(ModelSource::memory(pb::model(g)), options);
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->inputs()[0].extents, (std::vector<int64_t>{2, 3}));
  auto graph = load_graph(ModelSource::memory(pb::model(g)), options);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ((*Model::compile(*graph)).inputs()[0].extents, (std::vector<int64_t>{2, 3}));
  options.symbols = {{"M", 2}};
  expect_error(load_graph(ModelSource::memory(pb::model(g)), options), Code::invalid_argument, "M");

  const Folder folder;
  folder.put({onnx_files()[1]});
  options = {};
  options.external_folder = folder / "";
  expect_answers(load_model(ModelSource::memory(onnx_files()[0].bytes), options), kReal);
}

TEST(Door, BrokenSources) {
  const Files onnx = onnx_files(), cvm = cvm_files();
  const auto memory = [](Files files) { return load_model(ModelSource::memory(std::move(files), "box")); };
  expect_error(load_model("/nosuch/net.onnx"), Code::unreadable, "/nosuch/net.onnx");
  expect_error(load_model(ModelSource::memory("")), Code::unreadable, "empty");
  expect_error(load_model(ModelSource::memory("GGUF and so on")), Code::unreadable, "weights without a network");
  expect_error(load_model(ModelSource::memory(cvm[0].bytes)), Code::unreadable, "symbol without its params");
  expect_error(load_model(ModelSource::memory(cvm[1].bytes)), Code::unreadable, "params without its symbol");
  expect_error(memory({}), Code::unreadable, "'box' holds no files");
  expect_error(memory({onnx[0], {"other.onnx", onnx[0].bytes}}), Code::unreadable, "holds 2 models");
  expect_error(memory({{"a.txt", "?"}, {"b.txt", "?"}}), Code::unreadable, "none of the 2 files of 'box' is a model");
  expect_error(memory({{"../a.onnx", "?"}, {"b.txt", "?"}}), Code::invalid_model, "..");
  expect_error(memory({onnx[0], {"other.bin", ""}}), Code::unreadable, "no such file");
  const std::string cut = onnx[0].bytes.substr(0, onnx[0].bytes.size() - 3);
  expect_error(memory({{"net.onnx", cut}, onnx[1]}), Code::invalid_model, "");
  expect_error(memory({onnx[0], {"weights.bin", "1234"}}), Code::invalid_model, "w");

  Files webnn = files_of(Format::webnn);
  ASSERT_EQ(webnn.size(), 2u);
  expect_error(memory({webnn[0], {"other.bin", ""}}), Code::unreadable, "model.weights");
  webnn[1].bytes.resize(4);
  expect_error(memory(webnn), Code::invalid_model, "");
  Files nnef = files_of(Format::nnef);
  expect_error(memory({nnef[0], {"other.dat", ""}}), Code::unreadable, "box");
}

TEST(Door, ErrorsOfCallbacks) {
  expect_error(load_model(ModelSource::callbacks({})), Code::invalid_argument, "callbacks");
  std::map<std::string, int> asked;
  FileReader reader = scrambled(onnx_files(), asked);
  const auto read = reader.read;
  reader.read = [read](const std::string& name) -> Result<OwnedBytes> {
    if (name == "weights.bin") return Error(Code::unreadable, "no key for this file");
    return read(name);
  };
  expect_error(load_model(ModelSource::callbacks(reader, "vault")), Code::unreadable, "no key for this file");
  expect_error(load_model(ModelSource::callbacks(reader, "vault")), Code::unreadable, "vault: weights.bin");
  reader.list = []() -> Result<std::vector<std::string>> { return Error(Code::cancelled, "the vault is closed"); };
  expect_error(load_model(ModelSource::callbacks(reader)), Code::cancelled, "the vault is closed");
}

TEST(Door, CallbacksThatThrow) {
  std::map<std::string, int> asked;
  FileReader reader = scrambled(onnx_files(), asked);
  const auto read = reader.read;
  reader.read = [read](const std::string& name) -> Result<OwnedBytes> {
    if (name == "weights.bin") throw std::runtime_error("the disk is gone");
    return read(name);
  };
  expect_error(load_model(ModelSource::callbacks(reader, "vault")), Code::fault,
               "vault: weights.bin: the disk is gone");
  expect_error(load_model(ModelSource::callbacks(reader, "vault")), Code::fault, "while the host's reader read a file");
  reader.read = [](const std::string&) -> Result<OwnedBytes> { throw 7; };
  expect_error(load_model(ModelSource::callbacks(reader)), Code::fault, "what is no std::exception");
  reader.read = [](const std::string&) -> Result<OwnedBytes> { throw std::bad_alloc(); };
  expect_error(load_model(ModelSource::callbacks(reader)), Code::limit, "out of memory");
  reader.list = []() -> Result<std::vector<std::string>> { throw std::runtime_error("no key"); };
  expect_error(load_model(ModelSource::callbacks(reader)), Code::fault,
               "no key\n  while the host's reader listed its files");
}

/// Whatever the standard, the file is named that could not be read.
TEST(Door, ErrorsOfCallbacksNameTheFile) {
  for (Format format : kFormats)
    for (const NamedBytes& bad : files_of(format)) {
      SCOPED_TRACE(std::string(name(format)) + " " + bad.name);
      std::map<std::string, int> asked;
      FileReader reader = scrambled(files_of(format), asked);
      const auto read = reader.read;
      reader.read = [&](const std::string& file) -> Result<OwnedBytes> {
        if (file == bad.name) return Error(Code::unreadable, "the vault is shut");
        return read(file);
      };
      const auto model = load_model(ModelSource::callbacks(reader, "vault"));
      ASSERT_FALSE(model.ok());
      EXPECT_NE(model.error().text().find("vault: " + bad.name), std::string::npos) << model.error().text();
      EXPECT_NE(model.error().text().find("the vault is shut"), std::string::npos) << model.error().text();
    }
}

// ---- Checking

TEST(Door, EveryStandardIsChecked) {
  for (Format format : kFormats) {
    SCOPED_TRACE(name(format));
    auto found = check(ModelSource::memory(files_of(format)));
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_TRUE(found->sound()) << found->faults[0].text();
    EXPECT_EQ(found->format, format);
    EXPECT_EQ(found->fault_count, 0u);
    EXPECT_EQ(found->certificate.has_value(), format == Format::cvm);
  }
}

TEST(Door, FaultsSayWhatWhereAndWhy) {
  pb::Graph g{{pb::node("Relu", {"x"}, {"a"}), pb::node("Nosuch", {"a"}, {"y"}, {}, "com.example"),
               pb::node("MatMul", {"x", "x"}, {"z"})},
              {pb::value("x", {2, 3})},
              {pb::value("y", {2, 3}), pb::value("z", {2, 3})}};
  auto found = check(ModelSource::memory(pb::model(g, pb::opset("com.example", 1))));
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_FALSE(found->sound());
  EXPECT_EQ(found->fault_count, found->faults.size());
  bool missing = false, product = false;
  for (const Fault& f : found->faults) {
    if (f.severity == Severity::warning && f.code == Code::unsupported) missing = true;
    if (f.severity == Severity::error && f.where.find("MatMul") != std::string::npos) product = true;
    EXPECT_EQ(f.text().find(f.where), 0u);
    EXPECT_NE(f.text().find(f.message), std::string::npos);
  }
  EXPECT_TRUE(missing);
  EXPECT_TRUE(product);

  // A document of NNEF names the rule; found and needed are parts of the sentence.
  auto text =
      check(ModelSource::memory("version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [2, 3]);\n"
                                "  y = relu(nobody);\n}\n",
                                "g.nnef"));
  ASSERT_TRUE(text.ok()) << text.error().text();
  ASSERT_FALSE(text->faults.empty());
  EXPECT_EQ(text->format, Format::nnef);
  EXPECT_EQ(text->faults[0].where.find("g.nnef:5:"), 0u) << text->faults[0].where;
  Files folder = files_of(Format::nnef);
  folder.push_back({"graph.quant", "x: nosuch(bits = 8)\n"});
  auto quant = check(ModelSource::memory(folder));
  ASSERT_TRUE(quant.ok()) << quant.error().text();
  ASSERT_FALSE(quant->faults.empty());
  EXPECT_EQ(quant->faults[0].rule[0], 'Q') << quant->faults[0].text();
  EXPECT_EQ(quant->faults[0].message.find(quant->faults[0].rule + ": "), 0u);
}

TEST(Door, FoundAndNeeded) {
  Files files = files_of(Format::webnn);
  const size_t shape = files[0].bytes.find('[', files[0].bytes.find("\"shape\""));
  ASSERT_NE(shape, std::string::npos) << files[0].bytes;
  files[0].bytes.insert(shape + 1, "0, ");
  auto found = check(ModelSource::memory(files));
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_EQ(found->faults.size(), 1u);
  EXPECT_EQ(found->faults[0].needed.find("1 to "), 0u) << found->faults[0].text();
  EXPECT_FALSE(found->faults[0].during.empty());
}

TEST(Door, IntegerModelsHaveACertificate) {
  auto found = check(ModelSource::memory(cvm_files()));
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_TRUE(found->certificate.has_value());
  EXPECT_TRUE(found->certificate->safe);
  EXPECT_EQ(found->blame, CvmBlame::none);
  ASSERT_FALSE(found->certificate->nodes.empty());
  for (const NodeProof& n : found->certificate->nodes) {
    EXPECT_FALSE(n.overflows);
    EXPECT_LE(n.low, n.high);
    EXPECT_FALSE(n.where.empty());
    EXPECT_GT(n.bits_proven, 0);
  }

  Files broken = cvm_files();
  const std::string shift = "shift_bit";
  broken[0].bytes.replace(broken[0].bytes.find(shift), shift.size(), "shaft_bit");
  auto refused = check(ModelSource::memory(broken));
  ASSERT_TRUE(refused.ok()) << refused.error().text();
  EXPECT_FALSE(refused->sound());
  EXPECT_NE(refused->blame, CvmBlame::none);
}

TEST(Door, WhatCannotBeLookedInto) {
  expect_error(check("/nosuch.onnx"), Code::unreadable, "/nosuch.onnx");
  expect_error(check(ModelSource::memory("BZh")), Code::unreadable, "bzip2");
  expect_error(check(ModelSource::memory(cvm_files()[0].bytes)), Code::unreadable, "without its params");
  expect_error(inspect(ModelSource::memory("BZh")), Code::unreadable, "bzip2");
}

// ---- Inspecting

TEST(Door, EveryStandardIsInspected) {
  for (Format format : kFormats) {
    SCOPED_TRACE(name(format));
    auto model = inspect(ModelSource::memory(files_of(format)));
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ(model->format, format);
    ASSERT_EQ(model->inputs.size(), 1u);
    ASSERT_EQ(model->outputs.size(), 1u);
    EXPECT_EQ(model->inputs[0].extents, (std::vector<int64_t>{2, 3}));
    EXPECT_GT(model->nodes, 2);
    int64_t nodes = 0;
    for (const OperatorCount& op : model->operators) nodes += op.nodes;
    EXPECT_EQ(nodes, model->nodes);
    EXPECT_GE(model->parameter_bytes, model->parameters);
    EXPECT_TRUE(model->multiply_add_count.has_value());
    ASSERT_TRUE(model->activation_bytes.has_value());
    EXPECT_GE(*model->activation_bytes, 2 * 6 * 4);  // an operator's input and result
  }
  auto onnx = inspect(ModelSource::memory(onnx_files()));
  EXPECT_EQ(onnx->parameters, 6);
  EXPECT_EQ(onnx->parameter_bytes, 24);
  EXPECT_EQ(*onnx->activation_bytes, 2 * 6 * 4);
  EXPECT_EQ(onnx->opsets, (std::vector<std::pair<std::string, int64_t>>{{"", 17}}));
}

TEST(Door, WorkOfUnknownExtentsIsAFormula) {
  pb::Graph g{{pb::node("MatMul", {"x", "w"}, {"y"})},
              {pb::value("x", {-1, 3})},
              {pb::value("y", {-1, 2})},
              {pb::tensor("w", {3, 2}, pb::raw_bytes(std::vector<float>{1, 2, 3, 4, 5, 6}))}};
  auto model = inspect(ModelSource::memory(pb::model(g)));
  ASSERT_TRUE(model.ok()) << model.error().text();
  EXPECT_EQ(model->symbols, std::vector<std::string>{"N"});
  EXPECT_FALSE(model->multiply_add_count.has_value());
  EXPECT_EQ(model->multiply_adds, "6*N");
  EXPECT_FALSE(model->activation_bytes.has_value());
  LoadOptions options;
  options.symbols["N"] = 4;
  model = inspect(ModelSource::memory(pb::model(g)), options);
  EXPECT_EQ(model->multiply_add_count, 24);
}

// ---- Converting

/// Where a model of a format is written in a folder.
std::string place_of(Format format) {
  constexpr const char* kPlaces[] = {"to/nnef", "to/net.onnx", "to/net.webnn", "to/cvm"};
  return kPlaces[static_cast<size_t>(format)];
}

/// Writes the model in `first` in the format `to`, reads it again, and runs and checks it.
void convert_and_read(const Files& first, Format to, const std::vector<double>& wanted) {
  const Folder folder;
  fs::create_directories(folder / "to");
  ConvertOptions options;
  if (to == Format::cvm) options.save.format = to;
  options.save.custom = to == Format::nnef;
  auto written = convert(ModelSource::memory(first), folder / place_of(to), options);
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(written->format, to);
  ASSERT_FALSE(written->files.empty());
  int64_t bytes = 0;
  for (const std::string& file : written->files) bytes += static_cast<int64_t>(fs::file_size(file));
  EXPECT_EQ(bytes, written->bytes);
  size_t there = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "to")) there += entry.is_regular_file();
  EXPECT_EQ(there, written->files.size());
  expect_answers(load_model(folder / place_of(to)), wanted);
  auto again = check(folder / place_of(to));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_TRUE(again->sound());
}

/// From each of the formats to each, beginning with the files of one.
void convert_all(const Files& files, const std::vector<Format>& formats, const std::vector<double>& wanted) {
  auto graph = load_graph(ModelSource::memory(files));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (Format from : formats) {
    SaveOptions options;
    options.custom = from == Format::nnef;  // NNEF carries CVM's own operations as custom ones
    auto first = to_bytes(*graph, from, options);
    ASSERT_TRUE(first.ok()) << name(from) << ": " << first.error().text();
    for (Format to : formats) {
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(to)));
      convert_and_read(*first, to, wanted);
    }
  }
}

TEST(Door, FromEachStandardToEach) {
  convert_all(onnx_files(), {Format::nnef, Format::onnx, Format::webnn}, kReal);
  convert_all(cvm_files(), {Format::nnef, Format::onnx, Format::cvm}, kWhole);
}

/// A program of WebNN whose numbers are whole goes to CVM.
TEST(Door, WholeNumbersFromWebnnToCvm) {
  constexpr int64_t kInt32 = 6;
  const auto limit = [](const char* name, int32_t n) {
    return pb::tensor(name, {}, pb::raw_bytes(std::vector<int32_t>{n}), kInt32);
  };
  pb::Graph g{{pb::node("Clip", {"x", "low", "high"}, {"c"}), pb::node("Relu", {"c"}, {"y"})},
              {pb::value("x", {2, 3}, kInt32)},
              {pb::value("y", {2, 3}, kInt32)},
              {limit("low", -127), limit("high", 127)}};
  auto graph = load_graph(ModelSource::memory(pb::model(g)));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto program = to_bytes(*graph, Format::webnn);
  ASSERT_TRUE(program.ok()) << program.error().text();
  convert_and_read(*program, Format::cvm, {1, 0, 3, 0, 5, 0});
  auto back = load_graph(ModelSource::memory(cvm_files()));
  ASSERT_TRUE(back.ok());
  expect_error(to_bytes(*back, Format::webnn), Code::unsupported, "cvm_clip");  // which WebNN has no words for
}

TEST(Door, MemoryHasTheBytesOfFiles) {
  auto graph = load_graph(ModelSource::memory(onnx_files()));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const struct {
    const char* path;
    Format format;
    NnefPacking packing = NnefPacking::folder;
    WebnnForm form = WebnnForm::program;
    bool external = false;
  } rows[] = {{"model.onnx", Format::onnx},
              {"model.onnx", Format::onnx, NnefPacking::folder, WebnnForm::program, true},
              {"", Format::nnef},
              {"model.tar", Format::nnef, NnefPacking::tar},
              {"model.tgz", Format::nnef, NnefPacking::tgz},
              {"model.webnn", Format::webnn},
              {"model.mjs", Format::webnn, NnefPacking::folder, WebnnForm::module},
              {"model.js", Format::webnn, NnefPacking::folder, WebnnForm::script}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    SaveOptions options;
    options.format = row.format;
    options.nnef.packing = row.packing;
    options.webnn.form = row.form;
    options.onnx.external_data = row.external;
    const Folder folder;
    auto written = save(*graph, folder / row.path, options);
    ASSERT_TRUE(written.ok()) << written.error().text();
    auto bytes = to_bytes(*graph, row.format, options);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    EXPECT_EQ(bytes->size(), written->files.size());
    for (const NamedBytes& file : *bytes) EXPECT_EQ(content(folder / file.name), file.bytes) << file.name;
    const bool read = row.form == WebnnForm::program;  // modules and scripts are for JavaScript alone
    if (read) expect_answers(load_model(folder / row.path), kReal);
  }
}

TEST(Door, NothingIsOverwrittenUnasked) {
  const Folder folder;
  const std::string path = folder / "net.onnx";
  const ModelSource source = ModelSource::memory(files_of(Format::nnef));
  ASSERT_TRUE(convert(source, path).ok());
  const std::string before = content(path);
  ConvertOptions options;
  options.save.name = "other";
  expect_error(convert(source, path, options), Code::invalid_argument, "exists");
  EXPECT_EQ(content(path), before);
  options.save.overwrite = Overwrite::replace;
  EXPECT_TRUE(convert(source, path, options).ok());
  EXPECT_NE(content(path), before);
}

/// What a standard leaves undefined is a reason, and no mistake of ours.
TEST(Door, WhatAFormCannotSay) {
  const Folder folder;
  ConvertOptions options;
  options.proof = ProofOptions{};
  const auto text = [](const std::string& body) {
    return ModelSource::memory("<ir_version: 8, opset_import: [\"\" : 17]> " + body);
  };
  expect_error(convert(text("g (float[2] x) => (float[2] y) <float[2] w = {nan, 1}> { a = Add (x, w) y = Relu (a) }"),
                       folder / "nan.tgz", options),
               Code::unsupported, "computes NaN");
  expect_error(convert(text("g (float[2] x) => () { a = Relu (x) }"), folder / "none.webnn", options),
               Code::unsupported, "no output");
  const auto indexed =
      convert(text("g (float[3] x, int64[2] i) => (float[2] y) { y = Gather (x, i) }"), folder / "i.tgz", options);
  ASSERT_TRUE(indexed.ok()) << indexed.error().text();
  ASSERT_EQ(indexed->notes.size(), 1U);
  EXPECT_NE(indexed->notes[0].find("not negative"), std::string::npos) << indexed->notes[0];
  ASSERT_FALSE(indexed->proof->probes.empty());
  EXPECT_NE(indexed->proof->probes[0].note.find("not negative"), std::string::npos);
  expect_error(load_model(ModelSource::memory(pb::model({{pb::node("Relu", {"x"}, {"y"})},
                                                         {pb::msg(1, "x") + pb::msg(2, pb::msg(1, pb::msg(2, "")))},
                                                         {pb::value("y", {2})}}))),
               Code::invalid_model, "no element type");
}

/// A label that leaves the folder does so without files, too.
TEST(Door, LabelsAreBelowTheFolder) {
  const Files files = {
      {"graph.nnef",
       "version 1.0;\ngraph g(x) -> (y) { x = external(shape = [1]); a = variable(shape = [1], label = "
       "'../esc'); y = add(x, a); }"},
      {"other.dat", "?"}};
  const auto report = check(ModelSource::memory(files));
  ASSERT_TRUE(report.ok()) << report.error().text();
  ASSERT_FALSE(report->faults.empty());
  EXPECT_EQ(report->faults[0].rule, "C9");
}

TEST(Door, WhatCannotBeWritten) {
  const Folder folder;
  const ModelSource source = ModelSource::memory(onnx_files());
  expect_error(convert(source, folder / "net.xyz"), Code::invalid_argument, "says no standard");
  ConvertOptions options;
  options.save.format = Format::webnn;
  expect_error(convert(source, folder / "net.xyz", options), Code::invalid_argument, "needed a name in .webnn");
  options.save.format = Format::cvm;
  expect_error(convert(source, folder / "cvm", options), Code::unsupported, "");
  options.save.format = static_cast<Format>(9);
  expect_error(convert(source, folder / "net.onnx", options), Code::invalid_argument, "no format 9");
  auto graph = load_graph(source);
  expect_error(to_bytes(*graph, static_cast<Format>(9)), Code::invalid_argument, "no format 9");
  options.save = {};
  options.save.webnn.form = static_cast<WebnnForm>(9);
  expect_error(to_bytes(*graph, Format::webnn, options.save), Code::invalid_argument, "no form 9");
  options.save.nnef.packing = static_cast<NnefPacking>(9);
  expect_error(to_bytes(*graph, Format::nnef, options.save), Code::invalid_argument, "no packing 9");
  EXPECT_FALSE(fs::exists(folder / "net.onnx"));
}

}  // namespace
}  // namespace nnex
