// Compiled models in files: found again as they were, by whoever loads the same model in the same way; whatever else
// lies there is as if nothing did.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/content_hash.h"
#include "graph/snapshot.h"
#include "graph/text/printer.h"
#include "graph/verify.h"
#include "kernels/stored_form.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "run/compile.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;

void age(const fs::path& path) { fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1)); }

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class CompiledCache : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __EMSCRIPTEN__
    GTEST_SKIP() << "a page keeps no models";
#endif
    std::string path = testing::TempDir() + "/nnex_cache_XXXXXX";
    folder = mkdtemp(path.data());
  }
  void TearDown() override {
    if (!folder.empty()) fs::remove_all(folder);
  }

  LoadOptions options() const {
    LoadOptions o;
    o.cache = folder / "kept";
    return o;
  }
  std::string entry() const {
    std::string found;
    for (const auto& e : fs::directory_iterator(folder / "kept"))
      found += found.empty() ? e.path().string() : " and more";
    return found;
  }
  /// Writes a network of a convolution, a product and chains behind them, an hour old.
  std::string network(float scale = 1) const {
    Graph g;
    const ValueId x = *g.add_input("x", "f32[1,3,8,8]");
    std::vector<float> filter(4 * 3 * 3 * 3), matrix(4 * 6);
    for (size_t i = 0; i < filter.size(); ++i) filter[i] = scale * static_cast<float>(i % 7) - 2;
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i % 5) - 1;
    const ValueId conv = *g.add("conv", {x, *g.add_constant(Tensor::of<float>({4, 3, 3, 3}, filter))});
    const ValueId pooled =
        *g.add("mean_reduce", {*g.add("relu", {conv}), *g.add_constant(Tensor::of<int64_t>({2}, {2, 3}))});
    const ValueId flat = *g.add("reshape", {pooled, *g.add_constant(Tensor::of<int64_t>({2}, {1, 4}))});
    const ValueId y = *g.add("sigmoid", {*g.add("matmul", {flat, *g.add_constant(Tensor::of<float>({4, 6}, matrix))})});
    EXPECT_TRUE(g.set_outputs({{"y", y}}).ok());
    const std::string path = folder / "model.onnx";
    SaveOptions save_options;
    save_options.overwrite = Overwrite::replace;
    const auto saved = save(g, path, save_options);
    EXPECT_TRUE(saved.ok()) << (saved.ok() ? "" : saved.error().text());
    age(path);
    return path;
  }

  fs::path folder;
};

struct Loaded {
  CacheUse before, after;
  std::string bytes, why;
};

/// Loads the model and runs it on numbers.
Loaded answer(const std::string& path, const LoadOptions& options) {
  auto model = Model::load(path, options);
  if (!model.ok()) return {{}, {}, "", model.error().text()};
  Loaded out{model->cache().use, {}, "", ""};
  std::vector<Value> inputs;
  for (const PortInfo& port : model->inputs()) {
    Tensor x = Tensor::make(port.dtype, Shape(port.extents)).value();
    for (size_t i = 0; i < static_cast<size_t>(x.count()); ++i)
      x.mutable_as<float>()[i] = static_cast<float>(i % 11) / 5 - 1;
    inputs.emplace_back(std::move(x));
  }
  Session session = model->session();
  const auto results = session.run(inputs);
  if (!results.ok()) return {out.before, {}, "", results.error().text()};
  for (const Value& v : *results)
    out.bytes.append(reinterpret_cast<const char*>(v.tensor()->data()), static_cast<size_t>(v.tensor()->bytes()));
  out.after = model->cache().use;
  out.why = model->cache().why;
  return out;
}

TEST_F(CompiledCache, AModelThatRanIsFound) {
  const std::string path = network();
  const std::string plain = answer(path, {}).bytes;
  const Loaded first = answer(path, options());
  EXPECT_EQ(first.before, CacheUse::due);
  EXPECT_EQ(first.after, CacheUse::written) << first.why;
  const Loaded second = answer(path, options());
  EXPECT_EQ(second.before, CacheUse::found);
  EXPECT_EQ(second.after, CacheUse::found);
  EXPECT_EQ(first.bytes, plain);
  EXPECT_EQ(second.bytes, plain);

  const auto told = [](const Model& model) {
    Session session = model.session();
    session.profile(true);
    EXPECT_TRUE(session.prepare().ok());
    const Tensor x = Tensor::of<float>({1, 3, 8, 8}, std::vector<float>(192, 1));
    EXPECT_TRUE(session.run(std::vector<Value>{x}).ok());
    std::string text;
    for (const NodeTime& n : session.nodes()) text += n.op + " " + n.kernel + " " + n.place + "\n";
    return text;
  };
  const Model read = Model::load(path).value(), found = Model::load(path, options()).value();
  EXPECT_EQ(found.inputs()[0].type, read.inputs()[0].type);
  EXPECT_EQ(found.outputs()[0].name, "y");
  EXPECT_EQ(graph_text::print(graph_of(found)), graph_text::print(graph_of(read)));
  EXPECT_EQ(told(found), told(read));
  EXPECT_EQ(found.packed_memory(), read.packed_memory());
}

TEST_F(CompiledCache, PreparingKeepsItToo) {
  const std::string path = network();
  {
    const Model model = Model::load(path, options()).value();
    Session session = model.session();
    ASSERT_TRUE(session.prepare().ok());
    EXPECT_EQ(model.cache().use, CacheUse::written) << model.cache().why;
  }
  EXPECT_EQ(answer(path, options()).before, CacheUse::found);
}

TEST_F(CompiledCache, ASmallFileMayBeShortenedWhileItsModelLives) {
  const std::string path = network();
  const std::string plain = answer(path, options()).bytes;
  const Model model = Model::load(path, options()).value();
  ASSERT_EQ(model.cache().use, CacheUse::found);
  fs::resize_file(entry(), 10);
  const Tensor x = Tensor::of<float>({1, 3, 8, 8}, std::vector<float>(192, 1));
  EXPECT_TRUE(model.session().run(std::vector<Value>{x}).ok());
  EXPECT_EQ(answer(path, options()).bytes, plain);  // and it is written anew
  EXPECT_EQ(answer(path, options()).before, CacheUse::found);
}

TEST_F(CompiledCache, APipeInTheFilesPlaceIsLeftAlone) {
  const std::string path = network();
  answer(path, options());
  const std::string file = entry();
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const Loaded loaded = answer(path, options());
  EXPECT_EQ(loaded.before, CacheUse::due);
  EXPECT_EQ(loaded.after, CacheUse::failed);
  EXPECT_EQ(loaded.why, "'" + file + "' is no regular file");
}

TEST_F(CompiledCache, WhatKilledWritersLeftIsRemoved) {
  const std::string path = network();
  answer(path, options());
  const std::string file = entry();
  write(file + ".1f-1.tmp", "half a model");
  write(file + ".2f-1.tmp", "half a model, just now");
  age(file + ".1f-1.tmp");
  fs::remove(file);
  EXPECT_EQ(answer(path, options()).after, CacheUse::written);
  EXPECT_FALSE(fs::exists(file + ".1f-1.tmp"));
  EXPECT_TRUE(fs::exists(file + ".2f-1.tmp"));
}

TEST_F(CompiledCache, WhatIsNotKeptSaysWhy) {
  const std::string path = network();
  const Model read = Model::from_bytes(content(path), options()).value();
  EXPECT_EQ(read.cache().use, CacheUse::none);
  EXPECT_EQ(read.cache().why, "only models that are loaded from a path are kept");
  EXPECT_EQ(Model::from_bytes(content(path)).value().cache().why, "");
  CustomOperator op;
  op.domain = "com.example", op.name = "Same";
  op.run = [](CustomRun& c) { return c.set(0, *c.input(0)); };
  LoadOptions custom = options();
  ASSERT_TRUE(custom.custom_operators.add(op).ok());
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("com.example:Same", {x})}}).ok());
  const std::string other = folder / "custom.onnx";
  SaveOptions save_options;
  save_options.custom = true;
  ASSERT_TRUE(save(g, other, save_options).ok());
  const Model model = Model::load(other, custom).value();
  EXPECT_EQ(model.cache().use, CacheUse::none);
  EXPECT_EQ(model.cache().why, "the custom operator Same is a function of the program's");
}

TEST_F(CompiledCache, WhatChangedIsReadAgain) {
  const std::string path = network();
  const std::string old = answer(path, options()).bytes;
  ASSERT_EQ(answer(path, options()).before, CacheUse::found);
  network(2);
  const Loaded changed = answer(path, options());
  EXPECT_EQ(changed.before, CacheUse::due);
  EXPECT_EQ(changed.after, CacheUse::written) << changed.why;
  EXPECT_NE(changed.bytes, old);
  EXPECT_EQ(changed.bytes, answer(path, {}).bytes);
  EXPECT_EQ(answer(path, options()).before, CacheUse::found);
  age(path);  // only touched: the content is what it was
  EXPECT_EQ(answer(path, options()).before, CacheUse::found);
  fs::rename(path, folder / "moved.onnx");
  fs::copy_file(folder / "moved.onnx", path);
  EXPECT_EQ(answer(path, options()).before, CacheUse::found);
  EXPECT_EQ(answer(folder / "moved.onnx", options()).before, CacheUse::due);  // another model
  fs::remove(path);
  EXPECT_NE(answer(path, options()).why, "");  // what is not there is not found
}

/// As a release is unpacked over the last one by an archive that sets every file to one time.
TEST_F(CompiledCache, WhatChangedWithItsTimeSetBackIsReadAgain) {
  const std::string path = network(3), other = content(path);
  network();
  const auto modified = fs::last_write_time(path);
  ASSERT_EQ(answer(path, options()).after, CacheUse::written);
  ASSERT_EQ(answer(path, options()).before, CacheUse::found);
  ASSERT_EQ(other.size(), fs::file_size(path));
  write(path, other);
  fs::last_write_time(path, modified);
  const Loaded changed = answer(path, options());
  EXPECT_EQ(changed.before, CacheUse::due);
  EXPECT_EQ(changed.bytes, answer(path, {}).bytes);
}

TEST_F(CompiledCache, WhatWasJustWrittenIsNotKept) {
  const std::string path = network();
  fs::last_write_time(path, fs::file_time_type::clock::now());
  const Loaded fresh = answer(path, options());
  EXPECT_EQ(fresh.after, CacheUse::none);
  EXPECT_NE(fresh.why.find("written just before"), std::string::npos) << fresh.why;
}

TEST_F(CompiledCache, OtherOptionsAreAnotherModel) {
  const std::string path = network();
  ASSERT_EQ(answer(path, options()).after, CacheUse::written);
  LoadOptions plain = options(), exact = options(), scalar = options();
  plain.optimize = false;
  exact.portable = true;
  scalar.isa = InstructionSet::scalar;
  for (const LoadOptions& other : {plain, exact, scalar}) {
    EXPECT_EQ(answer(path, other).before, CacheUse::due);
    EXPECT_EQ(answer(path, other).before, CacheUse::found);
  }
  EXPECT_EQ(answer(path, options()).before, CacheUse::found);
  LoadOptions copied = options();
  copied.map = Mapping::never;
  EXPECT_EQ(answer(path, copied).before, CacheUse::found);
}

TEST_F(CompiledCache, DamageIsFound) {
  const std::string path = network();
  const std::string right = answer(path, options()).bytes;
  const std::string file = entry(), whole = content(file);
  ASSERT_GT(whole.size(), 500u);
  size_t found = 0, tried = 0;
  for (size_t at = 0; at < whole.size(); at += 1 + at % 5) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ (1 << at % 8));
    write(file, broken);
    const Loaded again = answer(path, options());
    EXPECT_EQ(again.bytes, right) << "byte " << at;
    found += again.before == CacheUse::found;
    ++tried;
    EXPECT_EQ(answer(path, options()).before, CacheUse::found) << "byte " << at;  // it was replaced
  }
  EXPECT_LT(found * 4, tried);  // what pads tensors to 64 bytes nobody reads
  for (size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, whole.size() / 2, whole.size() - 1}) {
    write(file, whole.substr(0, size));
    EXPECT_EQ(answer(path, options()).before, CacheUse::due) << size;
  }
  write(file, whole + " ");
  EXPECT_EQ(answer(path, options()).before, CacheUse::due);
}

TEST_F(CompiledCache, AFolderThatCannotBeIsNoError) {
  const std::string path = network();
  write(folder / "kept", "a file");
  const Loaded told = answer(path, options());
  EXPECT_EQ(told.after, CacheUse::failed);
  EXPECT_NE(told.why, "");
  EXPECT_EQ(told.bytes, answer(path, {}).bytes);
}

TEST_F(CompiledCache, ManyAtOnce) {
  const std::string path = network();
  const std::string right = answer(path, {}).bytes;
  std::vector<std::thread> threads;
  std::vector<Loaded> answers(8);
  for (Loaded& a : answers) threads.emplace_back([&] { a = answer(path, options()); });
  for (std::thread& t : threads) t.join();
  for (const Loaded& a : answers) EXPECT_EQ(a.bytes, right) << a.why;
  EXPECT_EQ(answer(path, options()).before, CacheUse::found);
  EXPECT_EQ(entry().find("and more"), std::string::npos) << "temporary files are left";
}

TEST_F(CompiledCache, FoldersAndStates) {
  const fs::path model = folder / "counter";
  write(model / "graph.nnef",
        "version 1.0;\ngraph g(x) -> (y) {\n  x = external(shape = [1]);\n  v = variable(shape = [1], label = 'v');\n"
        "  n = add(v, x);\n  v2 = update(v, n);\n  y = mul(n, 2.0);\n}\n");
  const std::string head("\x4e\xef\x01\x00\x04\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00", 16);
  std::string data = head;
  data.resize(128);
  data[44] = 32;  // bits an item
  data += std::string("\x00\x00\x40\x40", 4);
  write(model / "v.dat", data);
  for (const char* file : {"graph.nnef", "v.dat"}) age(model / file);
  const auto steps = [&](CacheUse expected) {
    const auto loaded = Model::load(model, options());
    EXPECT_TRUE(loaded.ok()) << loaded.error().text();
    if (!loaded.ok()) return std::string();
    EXPECT_EQ(loaded->cache().use, expected) << loaded->cache().why;
    EXPECT_EQ(loaded->states().at(0).name, "v");
    Session session = loaded->session();
    std::string text;
    for (int i = 0; i < 3; ++i) {
      const auto out = session.run(std::vector<Value>{Tensor::of<float>({1}, {1})});
      EXPECT_TRUE(out.ok());
      text += std::to_string((*out)[0].tensor()->as<float>()[0]) + " ";
    }
    EXPECT_EQ(session.state("v")->tensor()->as<float>()[0], 6);
    return text;
  };
  const std::string right = "8.000000 10.000000 12.000000 ";
  EXPECT_EQ(steps(CacheUse::due), right);
  EXPECT_EQ(steps(CacheUse::found), right);
  write(model / "more.txt", "a file beside them");
  EXPECT_EQ(steps(CacheUse::due), right);
  EXPECT_EQ(steps(CacheUse::found), right);
}

TEST_F(CompiledCache, CarriedStatesSymbolsAndDraws) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2,4]"), h = *g.add_input("h_in", "f32[2,4]"),
                s = *g.add_input("s", "f32[N]");
  const ValueId draws = *g.add("bernoulli", {*g.add("sigmoid", {x})});
  const ValueId sum = *g.add("add", {*g.add("mul", {x, draws}), h});
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("relu", {sum})}, {"h_out", sum}, {"z", *g.add("neg", {s})}}).ok());
  const std::string path = folder / "model.onnx";
  ASSERT_TRUE(save(g, path).ok());
  age(path);
  LoadOptions o = options();
  o.carry = {{"h_out", "h_in"}};
  const auto runs = [&](CacheUse expected) {
    const Model model = Model::load(path, o).value();
    EXPECT_EQ(model.cache().use, expected) << model.cache().why;
    EXPECT_EQ(model.inputs().at(1).dims.at(0), "N");
    SessionOptions seeded;
    seeded.seed = 7;
    Session session = model.session(seeded);
    std::vector<float> all;
    for (int i = 0; i < 3; ++i) {
      const std::vector<Value> in = {Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                                     Tensor::of<float>({i + 1}, std::vector<float>(static_cast<size_t>(i) + 1, 1))};
      const auto out = session.run(in);
      EXPECT_TRUE(out.ok()) << out.error().text();
      const auto y = (*out)[0].tensor()->as<float>();
      all.insert(all.end(), y.begin(), y.end());
    }
    return all;
  };
  const std::vector<float> first = runs(CacheUse::due);
  EXPECT_EQ(runs(CacheUse::found), first);
}

TEST_F(CompiledCache, ModelsOfNoPathAreNotKept) {
  const Model model = Model::from_bytes(content(network()), options()).value();
  EXPECT_EQ(model.cache().use, CacheUse::none);
  EXPECT_FALSE(fs::exists(folder / "kept"));
}

// ---- Snapshots

constexpr FormStorage kForms = {kernels::write_form, kernels::read_form};

/// A snapshot and its data.
struct Taken {
  std::string bytes, data;
};

Taken taken(const ir::Graph& graph) {
  Taken out;
  ByteWriter to;
  const Status s = Snapshot::write(graph, kForms, to, [&](const Tensor& t) -> Result<uint64_t> {
    const uint64_t place = out.data.size();
    out.data.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
    out.data.resize((out.data.size() + 63) / 64 * 64);
    return place;
  });
  EXPECT_TRUE(s.ok()) << s.error().text();
  out.bytes = to.bytes();
  return out;
}

Result<ir::Graph> back(const std::string& bytes, const std::string& data) {
  // Of exactly this size, so that a sanitizer sees what is read beyond.
  const auto exact = std::make_shared<std::vector<char>>(data.begin(), data.end());
  ByteReader from(bytes);
  return Snapshot::read(from, kForms, {{exact->data(), exact->size()}, exact});
}

/// A convolution and a chain, both fused.
Model small() {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,3,4,4]");
  const ValueId w = *g.add_constant(Tensor::of<float>({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6}), "w");
  const ValueId b = *g.add("relu", {*g.add("conv", {x, w})});
  EXPECT_TRUE(g.set_outputs({{"y", *g.add("mul", {*g.add("sigmoid", {b}), b})}}).ok());
  return Model::compile(g).value();
}

TEST(Snapshot, BringsTheGraphBack) {
  const Model model = small();
  const ir::Graph& graph = graph_of(model);
  const Taken t = taken(graph);
  const auto again = back(t.bytes, t.data);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(graph_text::print(*again), graph_text::print(graph));
  EXPECT_TRUE(verify(*again, "reading").ok());
  EXPECT_EQ(taken(*again).bytes, t.bytes);
}

TEST(Snapshot, BrokenBytesAreNoGraph) {
  const Model model = small();
  const Taken t = taken(graph_of(model));
  for (size_t size = 0; size < t.bytes.size(); ++size) EXPECT_FALSE(back(t.bytes.substr(0, size), t.data).ok()) << size;
  EXPECT_FALSE(back(t.bytes, "").ok());
  size_t read = 0;
  for (size_t at = 0; at < t.bytes.size(); ++at)
    for (const int byte : {0, 1, 2, 0x7f, 0x80, 0xff}) {
      std::string broken = t.bytes;
      broken[at] = static_cast<char>(byte);
      read += back(broken, t.data).ok();  // names and places may have any letters
    }
  EXPECT_GT(read, 0u);
  EXPECT_LT(read, t.bytes.size() * 6);
}

TEST(Snapshot, FormulasStayEqual) {
  const Dim n = Dim::symbol("N"), t = Dim::symbol("past + new");
  const Dim unknown = Dim::unknown("test");
  for (const Dim& d :
       {Dim(0), Dim(-3), Dim(INT64_MAX), n, t, n * t + 1, Dim(2) * n - t * t, floor_div(n + 1, 2),
        ceil_div(n * t, Dim(3)) + floor_div(floor_div(n + 5, 2) + 1, 3), floor_mod(n, t), min(n, t), Dim::overflow()}) {
    ByteWriter to;
    write_dim(d, to);
    ByteReader from(to.bytes());
    const Dim same = read_dim(from);
    EXPECT_TRUE(from.ok() && from.at_end()) << d.text();
    EXPECT_TRUE(same == d) << d.text() << " became " << same.text();
    EXPECT_EQ(same.text(), d.text());
    EXPECT_EQ(same.overflowed(), d.overflowed());
    EXPECT_TRUE(same.with({{"N", 7}, {"past + new", 4}}) == d.with({{"N", 7}, {"past + new", 4}})) << d.text();
  }
  ByteWriter to;
  write_dim(unknown, to);
  ByteReader from(to.bytes());
  EXPECT_FALSE(read_dim(from) == unknown);
}

TEST(ContentHash, TellsBytesApart) {
  EXPECT_EQ(content_hash("").text(), "99aa06d3014798d86001c324468d497f");  // XXH3's own test value of nothing
  EXPECT_FALSE(content_hash("a") == content_hash("b"));
}

}  // namespace
}  // namespace nnex
