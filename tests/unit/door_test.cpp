// The public door for files: any standard from a path, from memory and from callbacks (door_check_test.cpp: checked and
// inspected; door_convert_test.cpp: converted). Only bytes of models are made by other means than include/nnex.

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "door.h"

namespace nnex::test {
namespace {

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

TEST(Door, WhatTheBytesSayCountsMoreThanTheName) {
  const std::string onnx = to_bytes(*load_graph(ModelSource::memory(onnx_files())), Format::onnx).value()[0].bytes;
  const std::string text = "version 1.0;\ngraph g(x) -> (y)\n{\n  x = external(shape = [2, 3]);\n  y = relu(x);\n}\n";
  for (const char* name : {"x.bin", "x.nnef", "x.webnn", "x.tgz", "x.tar.gz", "x.js", "x.onnxtxt", "x"}) {
    SCOPED_TRACE(name);
    const auto format = format_of_model(ModelSource::memory(onnx, name));
    ASSERT_TRUE(format.ok()) << format.error().text();
    EXPECT_EQ(*format, Format::onnx);
    expect_answers(load_model(ModelSource::memory(onnx, name)), kReal);
    expect_answers(load_model(ModelSource::memory(text, name)), {1, 0, 3, 0, 5, 0});
  }
  EXPECT_EQ(*format_of_model(ModelSource::memory("nothing of the kind", "x.nnef")),
            Format::nnef);  // whose checker says why
}

TEST(Door, WeightsAreNotCopied) {
  const Files files = onnx_files();
  auto bytes = std::make_shared<std::string>(files[0].bytes);
  const std::weak_ptr<std::string> seen = bytes;
  auto graph = load_graph(ModelSource::memory(OwnedBytes{*bytes, bytes}, "net.onnx"));
  expect_error(graph, Code::unreadable, "its data lie in 'weights.bin'");
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

/// The files in a folder, the first model file under a name of its own.
Files in_folder(const std::string& folder, Files files, const std::string& called = {}) {
  if (!called.empty()) files[0].name = called;
  for (NamedBytes& file : files) file.name = folder + "/" + file.name;
  return files;
}
Files operator+(Files a, const Files& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Door, WhatAModelNamesLiesBesideIt) {
  const Files readme = {{"README", "text"}};
  for (Format format : kFormats) {
    SCOPED_TRACE(name(format));
    expect_answers(load_model(ModelSource::memory(in_folder("a/b", files_of(format)) + readme)), wanted(format));
    expect_answers(load_model(ModelSource::memory(in_folder("./a", files_of(format)))), wanted(format));
  }
  const Files apart = in_folder("a", {onnx_files()[0]}) + Files{onnx_files()[1]};
  expect_error(load_model(ModelSource::memory(apart)), Code::unreadable, "no such file");
  Files nnef = in_folder("a", files_of(Format::nnef));
  nnef.pop_back();
  expect_error(load_model(ModelSource::memory(nnef + readme, "box")), Code::unreadable, "'box' holds no 'a/");
}

TEST(Door, OneOfSeveralModelsIsNamed) {
  for (Format format : kFormats) {
    SCOPED_TRACE(name(format));
    Files other = files_of(format);
    const auto cvm = {cvm_model::Param{"w", Tensor::of<int8_t>(Shape{3}, {50, 60, 70})}, cvm_model::base_params()[1]};
    other[1].bytes.back() ^= 1;
    if (format == Format::cvm) other[1].bytes = cvm_model::write_params(cvm);
    const Files two = in_folder("a", files_of(format)) + in_folder("b", other), first = files_of(format);
    expect_answers(load_model(ModelSource::memory(two, "a/" + first[0].name)), wanted(format));
    auto b = load_model(ModelSource::memory(two, "b/" + first[0].name));
    ASSERT_TRUE(b.ok()) << b.error().text();
    EXPECT_NE(answers(*b), wanted(format)) << "weights of its own";
    expect_error(load_model(ModelSource::memory(two)), Code::unreadable,
                 "the model holds 2 models; name one of them: a/" + first[0].name + ", b/" + first[0].name);
  }
  const Files pairs = in_folder("a", cvm_files(), "one") + in_folder("b", cvm_files(), "two");
  expect_error(load_model(ModelSource::memory(pairs, "box")), Code::unreadable,
               "'box' holds 2 models; name one of them");
  const Files models = {onnx_files()[0], {"other.onnx", "?"}, onnx_files()[1]};
  expect_answers(load_model(ModelSource::memory(models, "net.onnx")), kReal);
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
  expect_error(memory({onnx[0], onnx[0]}), Code::invalid_argument,
               "found two files of the name '" + onnx[0].name + "'");
  const std::string cut = onnx[0].bytes.substr(0, onnx[0].bytes.size() - 3);
  expect_error(memory({{"net.onnx", cut}, onnx[1]}), Code::invalid_model, "");
  expect_error(memory({onnx[0], {"weights.bin", "1234"}}), Code::invalid_model, "w");

  Files webnn = files_of(Format::webnn);
  ASSERT_EQ(webnn.size(), 2u);
  expect_error(memory({webnn[0], {"other.bin", ""}}), Code::unreadable, "model.weights");
  auto graph = load_graph(ModelSource::memory(webnn));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  SaveOptions options;
  for (const WebnnForm form : {WebnnForm::module, WebnnForm::script}) {
    options.webnn.form = form;
    auto written = to_bytes(*graph, Format::webnn, options);
    ASSERT_TRUE(written.ok()) << written.error().text();
    expect_error(memory(*written), Code::unreadable, "a JavaScript module that nnex wrote");
    expect_error(load_model(ModelSource::memory((*written)[0].bytes)), Code::unreadable, "a JavaScript module");
  }
  expect_error(load_model(ModelSource::memory("import x from 'y';", "a.mjs")), Code::unreadable, "JavaScript");
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
      reader.read = [&](const std::string& file) -> Result<OwnedBytes> {
        if (file == bad.name) return Error(Code::unreadable, "the vault is shut").at("door 3");
        return read(file);
      };
      expect_error(load_model(ModelSource::callbacks(reader, "vault")), Code::unreadable,
                   "\n  while reading '" + bad.name + "'");
    }
}

}  // namespace
}  // namespace nnex::test
