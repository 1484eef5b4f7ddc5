// How fast NNEF texts and tensor files are read.
//
//   nnef_front                      tables on standard output
//   nnef_front --write FILE [N]     the text of N groups (2000: 10,002 operations), to try other readers with
//   nnef_front --once [N]           that text checked once with its shapes: for tools that count instructions
//
// The text is a chain of groups of five operations (two variables, a convolution, a relu, an add) between one external
// and one copy. Each time is the least of runs that parse the text anew; bytes are the most that were allocated at
// once, over the operations.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "graph/text/rules.h"
#include "standards/container.h"
#include "standards/nnef/import_calls.h"
#include "standards/nnef/read_quant.h"
#include "standards/nnef/read_tensor.h"
#include "standards/nnef/weights.h"

namespace {

size_t live = 0, most = 0;  ///< Bytes that operator new handed out.

void* counted(size_t n) {
  auto* p = static_cast<size_t*>(std::malloc(n + 16));
  if (!p) throw std::bad_alloc();
  *p = n;
  live += n;
  most = std::max(most, live);
  return p + 2;
}

}  // namespace

void* operator new(size_t n) { return counted(n); }
void* operator new[](size_t n) { return counted(n); }
void operator delete(void* p) noexcept {
  if (!p) return;
  size_t* block = static_cast<size_t*>(p) - 2;
  live -= *block;
  std::free(block);
}
void operator delete[](void* p) noexcept { operator delete(p); }
void operator delete(void* p, size_t) noexcept { operator delete(p); }
void operator delete[](void* p, size_t) noexcept { operator delete(p); }

namespace nnex {
namespace {

using nnef_format::NoSink;
using nnef_format::ShapeChecker;
using nnef_format::Tensors;

/// A document of 5 * groups + 2 operations.
std::string chain(int groups) {
  std::string s = "version 1.0;\n\ngraph chain(input) -> (output)\n{\n";
  s += "    input = external(shape = [1, 16, 32, 32]);\n";
  std::string x = "input";
  for (int i = 0; i < groups; ++i) {
    s += fmt::format("    filter_{} = variable(shape = [16, 16, 3, 3], label = 'layer_{}/filter');\n", i, i);
    s += fmt::format("    bias_{} = variable(shape = [1, 16], label = 'layer_{}/bias');\n", i, i);
    s += fmt::format(
        "    conv_{} = conv({}, filter_{}, bias_{}, border = 'constant', padding = [(1, 1), (1, 1)], stride = [1, 1], "
        "dilation = [1, 1], groups = 1);\n",
        i, x, i, i);
    s += fmt::format("    relu_{} = relu(conv_{});\n", i, i);
    s += fmt::format("    add_{} = add(relu_{}, {});\n", i, i, x);
    x = fmt::format("add_{}", i);
  }
  return s + fmt::format("    output = copy({});\n}}\n", x);
}

/// The least time of a piece of work in ms, and the bytes it held at most.
struct Cost {
  double ms = 0;
  size_t bytes = 0;
};
template <class F>
Cost cost(int runs, F&& work) {
  Cost out;
  out.ms = 1e300;
  for (int i = 0; i < runs; ++i) {
    const size_t before = live;
    most = live;
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    out.ms = std::min(out.ms, taken.count());
    out.bytes = most - before;
  }
  return out;
}

void fail(const Error& e) {
  fmt::print(stderr, "{}\n", e.text());
  std::exit(3);
}

void parse(std::string_view text) {
  Faults faults;
  graph_text::Arena memory, scratch;
  graph_text::ParseLimits limits;
  limits.bytes = text.size();
  graph_text::Parser parser(text, "chain.nnef", limits, faults, memory, graph_text::TextKind::document);
  graph_text::Document d;
  parser.start();
  parser.head(d);
  parser.use(scratch);
  graph_text::Assignment a;
  while (parser.more()) {
    scratch.reset();
    parser.assignment(a);
  }
  parser.tail(false);
  if (!faults.none()) fail(faults.list()[0]);
}

template <class S>
void check(std::string_view text) {
  Faults faults;
  Tensors tensors;
  S sink;
  nnef_format::evaluate(text, "chain.nnef", sink, tensors, faults);
  if (!faults.none()) fail(faults.list()[0]);
}

void texts() {
  fmt::print("{:>10} {:>9} {:>10} {:>12} {:>15} {:>9} {:>8}\n", "operations", "MB", "parse ms", "+ check ms",
             "+ shapes ms", "ns/op", "bytes/op");
  for (int groups : {200, 2000, 20000}) {
    const std::string text = chain(groups);
    const double operations = 5.0 * groups + 2;
    const int runs = groups > 2000 ? 9 : 51;
    const Cost parsed = cost(runs, [&] { parse(text); });
    const Cost checked = cost(runs, [&] { check<NoSink>(text); });
    const Cost shaped = cost(runs, [&] { check<ShapeChecker>(text); });
    fmt::print("{:>10} {:>9.2f} {:>10.2f} {:>12.2f} {:>15.2f} {:>9.0f} {:>8.0f}\n", operations,
               static_cast<double>(text.size()) / 1e6, parsed.ms, checked.ms, shaped.ms, shaped.ms * 1e6 / operations,
               static_cast<double>(shaped.bytes) / operations);
  }
}

/// A tensor file of bytes, in memory as a mapping would be.
std::string byte_file(nnef_format::StoredItem item, const Ints& extents) {
  auto codes = Tensor::make(DType::i8, Shape(extents));
  if (!codes.ok()) fail(codes.error());
  auto items = codes->mutable_as<int8_t>();
  for (size_t i = 0; i < items.size(); ++i) items[i] = static_cast<int8_t>(i * 37);
  const nnef_format::StoreAs as{item, 8};
  auto file = nnef_format::write_tensor_file(*codes, &as);
  if (!file.ok()) fail(file.error());
  return file->joined();
}

void files() {
  const Ints extents = {64, 1 << 20};
  const double gigabytes = static_cast<double>(extents[0] * extents[1]) * 1e-9;
  const auto row = [&](const char* what, const Cost& c) {
    fmt::print("{:>42} {:>9.2f} ms {:>8.2f} GB/s of file\n", what, c.ms, gigabytes * 1e3 / c.ms);
  };
  const std::string plain = byte_file(nnef_format::StoredItem::signed_integer, extents);
  std::string to(plain.size(), '\0');
  fmt::print("\n");
  row("memory copied", cost(9, [&] { std::memcpy(to.data(), plain.data(), plain.size()); }));
  // What a result has to take at least: memory that is new to the process, written once by one thread.
  const auto fresh = [&](const char* what, DType type) {
    row(what, cost(5, [&] {
          auto t = Tensor::make(type, Shape(extents));
          if (!t.ok()) fail(t.error());
          std::memset(t->mutable_data(), 1, static_cast<size_t>(t->bytes()));
        }));
  };
  fresh("new memory set, 8 bytes an item", DType::i64);
  fresh("new memory set, 4 bytes an item", DType::f32);
  row("int8 file read (borrowed)", cost(9, [&] {
        auto file = nnef_format::read_tensor_file(plain);
        if (!file.ok()) fail(file.error());
        auto t = nnef_format::items(*file);
        if (!t.ok() || static_cast<const void*>(t->data()) != plain.data() + nnef_format::kTensorHeaderBytes)
          fail(Error(Code::internal, "copied"));
      }));
  row("int8 file as an integer variable", cost(5, [&] {
        auto file = nnef_format::read_tensor_file(plain);
        if (!file.ok()) fail(file.error());
        auto t = nnef_format::variable_content(*file, nnef_format::ItemType::integer, extents, nullptr);
        if (!t.ok()) fail(t.error());
      }));
  const std::string codes = byte_file(nnef_format::StoredItem::quantized_signed, extents);
  const auto quantised = [&](const char* what, const std::string& scale) {
    auto records = nnef_format::parse_quant(
        fmt::format("'w': zero_point_linear_quantize(zero_point = 0, scale = {}, bits = 8, signed = true, symmetric = "
                    "false);",
                    scale),
        "graph.quant");
    if (!records.ok()) fail(records.error());
    row(what, cost(5, [&] {
          auto file = nnef_format::read_tensor_file(codes);
          if (!file.ok()) fail(file.error());
          auto t = nnef_format::variable_content(*file, nnef_format::ItemType::scalar, extents, &records->front());
          if (!t.ok()) fail(t.error());
        }));
  };
  quantised("quantised int8 file, one scale", "0.25");
  std::string scales = "[";
  for (int64_t i = 0; i < extents[0]; ++i)
    scales += fmt::format("{}[{}]", i ? ", " : "", 0.25 + static_cast<double>(i));
  quantised("quantised int8 file, a scale a row", scales + "]");
}

/// A folder's file of 256 MB, as models are read: mapped, and then every byte seen once.
void mapped_file() {
  const Ints extents = {256, 1'000'000};
  const auto folder = std::filesystem::temp_directory_path() / "nnef_front";
  std::error_code none;
  std::filesystem::create_directories(folder, none);
  const auto row = [&](const char* what, const Cost& c) {
    fmt::print("{:>42} {:>9.2f} ms {:>8.2f} GB/s of file\n", what, c.ms, 256.0 / c.ms);
  };
  {
    const std::string bytes = byte_file(nnef_format::StoredItem::signed_integer, extents);
    std::FILE* f = std::fopen((folder / "w.dat").c_str(), "wb");
    if (!f || std::fwrite(bytes.data(), 1, bytes.size(), f) != bytes.size() || std::fclose(f) != 0)
      fail(Error(Code::unreadable, "no room for a file of 256 MB"));
  }
  const auto open = [&] {
    auto bytes = Container::of_folder(folder.string()).read("w.dat");
    if (!bytes.ok()) fail(bytes.error());
    auto file = nnef_format::read_tensor_file(bytes->bytes, bytes->owner);
    if (!file.ok()) fail(file.error());
    auto t = nnef_format::items(*file);
    if (!t.ok()) fail(t.error());
    return std::move(t).value();
  };
  fmt::print("\n");
  row("256 MB of int8 in a folder, opened", cost(9, [&] { open(); }));
  uint64_t sum = 0;
  row("... and read once", cost(9, [&] {
        const Tensor t = open();
        for (size_t i = 0; i + 8 <= static_cast<size_t>(t.bytes()); i += 8) {
          uint64_t word = 0;
          std::memcpy(&word, t.data() + i, 8);
          sum ^= word;
        }
      }));
  if (sum == 1) fmt::print("\n");  // what was read is used
  std::filesystem::remove_all(folder, none);
}

int write(const char* path, int groups) {
  std::FILE* f = std::fopen(path, "wb");
  const std::string text = chain(groups);
  const bool fine = f && std::fwrite(text.data(), 1, text.size(), f) == text.size();
  return f && std::fclose(f) == 0 && fine ? 0 : 3;
}

}  // namespace
}  // namespace nnex

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--write") == 0)
    return nnex::write(argv[2], argc > 3 ? std::atoi(argv[3]) : 2000);
  if (argc > 1 && std::strcmp(argv[1], "--once") == 0)
    return nnex::check<nnex::ShapeChecker>(nnex::chain(argc > 2 ? std::atoi(argv[2]) : 2000)), 0;
  nnex::texts();
  nnex::files();
  nnex::mapped_file();
  return 0;
}
