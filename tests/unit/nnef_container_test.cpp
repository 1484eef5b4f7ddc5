#include "standards/container.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "standards/gzip.h"
#include "standards/nnef/model.h"
#include "standards/nnef/weights.h"
#include "standards/tar.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;

/// An archive of these files.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out;
  for (const auto& [name, bytes] : files) {
    out += tar_header(name, bytes.size()) + bytes;
    out.append(tar_padding(bytes.size()), '\0');
  }
  return out.append(kTarEnd, '\0');
}

/// The archive with other bytes in its first header, and the checksum made right again.
std::string with_bytes(std::string tar, size_t at, const std::string& bytes, bool sign = false) {
  tar.replace(at, bytes.size(), bytes);
  int64_t sum = 0;
  for (size_t i = 0; i < 512; ++i)
    sum += i >= 148 && i < 156 ? ' ' : sign ? static_cast<int8_t>(tar[i]) : static_cast<uint8_t>(tar[i]);
  snprintf(tar.data() + 148, 7, "%06o", static_cast<unsigned>(sum));
  return tar;
}
std::string with_kind(std::string tar, char kind) { return with_bytes(std::move(tar), 156, std::string(1, kind)); }

/// An archive whose first entry is of a kind that speaks of the file behind it.
std::string announced(char kind, const std::string& content) {
  const std::string tar = tar_of({{"about", content}, {"a", "12"}});
  return with_kind(tar, kind);
}

std::string zipped(const std::string& bytes) {
  std::string out;
  auto gzip = Gzip::start();
  EXPECT_TRUE(gzip.ok() && gzip->add(bytes, out).ok() && gzip->finish(out).ok());
  return out;
}

Result<Container> opened(const std::string& bytes, ContainerLimits limits = {}) {
  auto kept = std::make_shared<const std::string>(bytes);
  return Container::from_bytes("x.tar", {*kept, kept}, limits);
}

std::string fault_of(const std::string& bytes, ContainerLimits limits = {}) {
  auto c = opened(bytes, limits);
  return c.ok() ? "" : c.error().message();
}

bool says(const std::string& message, const char* what) { return message.find(what) != std::string::npos; }

TEST(Container, FilesOfAnArchive) {
  const std::string deep = std::string(90, 'd') + "/" + std::string(90, 'e') + "/w.dat";
  const std::string long_name = std::string(200, 'n') + ".dat";
  for (bool zip : {false, true}) {
    const std::string tar = tar_of({{"./graph.nnef", "text"}, {deep, "deep"}, {long_name, std::string(600, 'l')}});
    auto c = opened(zip ? zipped(tar) : tar);
    ASSERT_TRUE(c.ok()) << c.error().text();
    EXPECT_EQ(c->read("graph.nnef")->bytes, "text");
    EXPECT_EQ(c->read("./graph.nnef")->bytes, "text");
    EXPECT_EQ(c->read(deep)->bytes, "deep");
    EXPECT_EQ(c->read(long_name)->bytes.size(), 600u);
    EXPECT_FALSE(c->has("nothing"));
    EXPECT_FALSE(c->read("../graph.nnef").ok());
    EXPECT_EQ(c->elsewhere("w.dat"), deep);
  }
}

TEST(Container, TheSameBytesEveryTime) {
  const std::string tar = tar_of({{"a", "1"}, {"b/c", "2"}});
  EXPECT_EQ(zipped(tar), zipped(tar));
}

TEST(Container, HostileArchives) {
  const std::string good = tar_of({{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(fault_of(good), "");
  EXPECT_PRED2(says, fault_of("not an archive"), "C8: ");
  EXPECT_PRED2(says, fault_of(std::string(4096, 'x')), "C8: ");
  for (size_t cut : {512u, 600u, 1024u, 1500u, 2048u}) EXPECT_PRED2(says, fault_of(good.substr(0, cut)), "C8: ");
  EXPECT_PRED2(says, fault_of(tar_of({{"../a", "1"}})), "C9: ");
  EXPECT_PRED2(says, fault_of(tar_of({{"b/../../a", "1"}})), "C9: ");
  EXPECT_PRED2(says, fault_of(tar_of({{"/etc/a", "1"}})), "C9: ");
  EXPECT_PRED2(says, fault_of(tar_of({{"a", "1"}, {"./a", "2"}})), "twice");
  for (char link : {'1', '2', '3', '6'}) EXPECT_PRED2(says, fault_of(with_kind(good, link)), "C9: ");
  std::string changed = good;
  changed[3] = 'x';
  EXPECT_PRED2(says, fault_of(changed), "C8: ");
  ContainerLimits few;
  few.entries = 1;
  EXPECT_PRED2(says, fault_of(good, few), "more than 1 entries");
}

TEST(Container, HostileGzip) {
  const std::string packed = zipped(tar_of({{"a", std::string(1 << 20, '\0')}}));
  EXPECT_EQ(fault_of(packed), "");
  for (size_t cut : {2u, 10u, 100u}) EXPECT_PRED2(says, fault_of(packed.substr(0, packed.size() - cut)), "C8: ");
  EXPECT_PRED2(says, fault_of("\x1f\x8b"), "C8: ");
  EXPECT_PRED2(says, fault_of(zipped("not an archive")), "C8: ");
  ContainerLimits tight;
  tight.grows_freely = 1000;
  tight.growth = 10;
  EXPECT_PRED2(says, fault_of(packed, tight), "more than");
}

constexpr size_t kSizeField = 124;

TEST(Container, HeadersThatLie) {
  const std::string good = tar_of({{"a", "12"}, {"b", "2"}});
  for (const char* size : {"00000777777", "77777777777", "0000000000x", "-0000000001"})
    EXPECT_PRED2(says, fault_of(with_bytes(good, kSizeField, size)), "cut short") << size;
  EXPECT_PRED2(says, fault_of(with_bytes(good, kSizeField, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")),
               "cut short");
  // A size that is too small or too large by blocks leads to what is no header.
  EXPECT_PRED2(says, fault_of(with_bytes(tar_of({{"a", std::string(600, 'x')}}), kSizeField, "00000000001")),
               "C8: the header at byte 1024 has a wrong checksum");
  EXPECT_PRED2(says, fault_of(with_bytes(good, kSizeField, "00000001001")),
               "C8: the header at byte 1536 has a wrong checksum");
  const std::string other = with_bytes(good, kSizeField, std::string("\x80\0\0\0\0\0\0\0\0\0\0\2", 12));
  EXPECT_EQ(opened(other)->read("a")->bytes, "12") << "a size in GNU's binary form";
  EXPECT_EQ(opened(with_bytes(tar_of({{"\xc3\xa4", "12"}}), 0, "\xc3\xa4", true))->read("\xc3\xa4")->bytes, "12")
      << "a checksum of characters with a sign";
}

TEST(Container, KindsOfEntries) {
  const std::string good = tar_of({{"a", "1"}, {"b", "2"}});
  for (char kind : {'\0', '7'}) EXPECT_TRUE(opened(with_kind(good, kind))->has("a")) << static_cast<int>(kind);
  for (char kind : {'5', 'D', 'V', 'g', 'K'}) {
    auto c = opened(with_kind(good, kind));
    ASSERT_TRUE(c.ok()) << kind << c.error().text();
    EXPECT_FALSE(c->has("a")) << kind;
    EXPECT_TRUE(c->has("b")) << kind;
  }
  for (char kind : {'M', 'Z', '8', '\x01'}) EXPECT_PRED2(says, fault_of(with_kind(good, kind)), "unknown kind") << kind;
  EXPECT_PRED2(says, fault_of(with_kind(good, 'S')), "C8: the archive holds sparse files");
}

TEST(Container, WhatOtherEntriesSayOfAFile) {
  EXPECT_TRUE(opened(announced('x', "9 path=b\n"))->has("b"));
  EXPECT_TRUE(opened(announced('L', std::string("long/name\0", 10)))->has("long/name"));
  EXPECT_EQ(opened(announced('x', "10 size=1\n"))->read("a")->bytes, "1");
  EXPECT_TRUE(opened(announced('x', "21 comment=nothing\n\n\n"))->has("a"));
  EXPECT_PRED2(says, fault_of(announced('x', "13 path=../b\n")), "C9: ");
  EXPECT_PRED2(says, fault_of(announced('x', "12 path=/ab\n")), "C9: ");
  EXPECT_PRED2(says, fault_of(announced('L', "../b")), "C9: ");
  for (const char* broken : {"path=b\n", "9path=b\n", "99 path=b\n", "2 path=b\n", "8 path=b\n", "9 path-b\n",
                             "9 path=b.", "10 size=x\n", "8 size=\n", "32 size=99999999999999999999999\n"})
    EXPECT_PRED2(says, fault_of(announced('x', broken)), "C8: a pax header") << broken;
  EXPECT_PRED2(says, fault_of(announced('x', "14 size=99999\n")), "C8: the archive is cut short");
  EXPECT_PRED2(says, fault_of(announced('x', "22 GNU.sparse.major=1\n")), "C8: the archive holds sparse files");
}

TEST(Container, WhatFollowsTheEndIsNobodys) {
  const std::string good = tar_of({{"a", "1"}});
  for (const std::string& more :
       {std::string("garbage"), std::string(4096, 'x'), tar_of({{"a", "2"}, {"../b", "3"}})}) {
    EXPECT_EQ(opened(good + more)->read("a")->bytes, "1");
    EXPECT_EQ(opened(zipped(good) + "x" + more)->read("a")->bytes, "1");
  }
  EXPECT_EQ(opened(good.substr(0, good.size() - 512))->read("a")->bytes, "1") << "one closing block";
  EXPECT_EQ(opened(zipped(good.substr(0, 700)) + zipped(good.substr(700)))->read("a")->bytes, "1") << "gzip in parts";
  std::string changed = zipped(good);
  changed[changed.size() - 6] = static_cast<char>(changed[changed.size() - 6] ^ 1);
  EXPECT_PRED2(says, fault_of(changed), "C8: gzip is broken");
}

/// A folder that goes when the test ends.
struct Folder {
  Folder() {
    char name[] = "/tmp/nnex_container_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  void put(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(path + "/" + name).parent_path());
    ASSERT_TRUE(write_file(path + "/" + name, bytes, Existing::replace).ok());
  }
  std::string path;
};

TEST(Container, Folders) {
  Folder folder;
  folder.put("graph.nnef", "text");
  folder.put("block/w.dat", "w");
  folder.put("outside", "o");
  fs::create_symlink(folder.path + "/outside", folder.path + "/link.dat");
  fs::create_symlink(folder.path + "/block", folder.path + "/other");
  ASSERT_EQ(link((folder.path + "/outside").c_str(), (folder.path + "/hard.dat").c_str()), 0);
  ASSERT_EQ(mkfifo((folder.path + "/pipe.dat").c_str(), 0600), 0);
  auto c = Container::open(folder.path);
  ASSERT_TRUE(c.ok()) << c.error().text();
  EXPECT_EQ(c->read("graph.nnef")->bytes, "text");
  EXPECT_EQ(c->read("block/w.dat")->bytes, "w");
  EXPECT_TRUE(c->has("block/w.dat"));
  EXPECT_FALSE(c->has("w.dat"));
  for (const char* bad : {"link.dat", "other/w.dat", "hard.dat", "pipe.dat", "../x", "/etc/passwd", "block", "", "no"})
    EXPECT_FALSE(c->read(bad).ok()) << bad;
  EXPECT_FALSE(Container::open(folder.path + "/missing").ok());
  EXPECT_FALSE(Container::open(folder.path + "/outside").ok());
}

/// What a command prints; nothing where it fails.
std::optional<std::string> printed(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return std::nullopt;
  std::string out;
  char piece[4096];
  for (size_t n = 0; (n = fread(piece, 1, sizeof piece, pipe)) > 0;) out.append(piece, n);
  if (pclose(pipe) != 0) return std::nullopt;
  return out;
}
bool has_gnu_tar() { return printed("tar --version").value_or("").find("GNU tar") != std::string::npos; }

TEST(Container, TarReadsWhatIsWritten) {
  if (!has_gnu_tar()) GTEST_SKIP() << "no GNU tar here";
  const Folder folder;
  nnef_format::Written model;
  model.graph = "version 1.0;\n";
  model.quant = "# nothing\n";
  const std::string long_label = std::string(120, 'l') + "/" + std::string(90, 'm') + "/" + std::string(101, 'n');
  model.variables = {{"w", Tensor::of<float>({2}, {1, 2})},
                     {"block/w", Tensor::of<float>({1}, {3})},
                     {long_label, Tensor::of<float>({200}, std::vector<float>(200, 4))}};
  for (const char* name : {"m.tar", "m.tgz"}) {
    const std::string path = folder.path + "/" + name;
    ASSERT_TRUE(save_model(model, path, false).ok());
    auto first = MappedFile::open(path, MapPolicy::never);
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE(save_model(model, path, true).ok());
    EXPECT_EQ(MappedFile::open(path, MapPolicy::never)->bytes(), first->bytes()) << "the same bytes every time";
    EXPECT_EQ(printed("tar -tf " + path).value_or("refused"),
              "graph.nnef\ngraph.quant\nblock/w.dat\n" + long_label + ".dat\nw.dat\n");
    EXPECT_EQ(printed("tar -xOf " + path + " graph.nnef").value_or("refused"), model.graph);
    EXPECT_EQ(printed("tar -xOf " + path + " " + long_label + ".dat | wc -c").value_or("refused"), "928\n");
  }
}

TEST(Container, WhatTarWritesIsRead) {
  if (!has_gnu_tar()) GTEST_SKIP() << "no GNU tar here";
  const Folder folder;
  const std::string prefixed = "m/" + std::string(80, 'd') + "/" + std::string(80, 'e') + ".dat";
  const std::string longest = "m/" + std::string(200, 'f') + "/" + std::string(200, 'g') + ".dat";
  folder.put("m/graph.nnef", "text");
  folder.put("m/block/w.dat", std::string(1000, 'w'));
  const auto pack = [&](const std::string& how) {
    const std::string out = folder.path + "/out";
    EXPECT_TRUE(printed("tar -C " + folder.path + "/m " + how + " -f " + out + " -c .")) << how;
    return Container::open(out);
  };
  for (const char* format : {"v7", "ustar", "oldgnu", "gnu", "pax"}) {
    SCOPED_TRACE(format);
    if (std::string(format) == "ustar") folder.put(prefixed, "prefixed");
    if (std::string(format) == "oldgnu") folder.put(longest, "longest");
    for (const char* zip : {"", "-z "}) {
      auto c = pack(zip + std::string("--format=") + format);
      ASSERT_TRUE(c.ok()) << c.error().text();
      EXPECT_EQ(c->read("graph.nnef")->bytes, "text");
      EXPECT_EQ(c->read("block/w.dat")->bytes.size(), 1000u);
      if (fs::exists(folder.path + "/" + prefixed)) {
        EXPECT_EQ(c->read(prefixed.substr(2))->bytes, "prefixed");
      }
      if (fs::exists(folder.path + "/" + longest)) {
        EXPECT_EQ(c->read(longest.substr(2))->bytes, "longest");
      }
    }
  }
  fs::resize_file(folder.path + "/m/graph.nnef", 1 << 22);  // holes
  for (const char* how : {"--sparse --format=gnu", "--sparse --format=pax"}) {
    auto c = pack(how);
    ASSERT_FALSE(c.ok()) << how;
    EXPECT_PRED2(says, c.error().message(), "sparse");
  }
  fs::create_symlink("graph.nnef", folder.path + "/m/link");
  auto linked = pack("--format=gnu");
  ASSERT_FALSE(linked.ok());
  EXPECT_PRED2(says, linked.error().message(), "is a link");
}

TEST(Container, AModelInASubFolderIsPointedOut) {
  auto kept = std::make_shared<const std::string>(tar_of({{"model/graph.nnef", "version 1.0;"}}));
  auto c = Container::from_bytes("x.tar", {*kept, kept});
  ASSERT_TRUE(c.ok());
  const auto read = nnef_format::read_nnef(*c, {});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code(), Code::unreadable);
  EXPECT_PRED2(says, read.error().message(), "(there is 'model/graph.nnef')");
}

TEST(Container, WeightsAreTheArchivesBytes) {
  using namespace nnef_format;
  auto file = write_tensor_file(Tensor::of<float>({2}, {1, 2}));
  ASSERT_TRUE(file.ok());
  auto kept = std::make_shared<const std::string>(tar_of({{"w.dat", file->joined()}}));
  auto c = Container::from_bytes("x.tar", {*kept, kept});
  ASSERT_TRUE(c.ok());
  auto t = variable_content(*c, "w", ItemType::scalar, {2}, nullptr);
  ASSERT_TRUE(t.ok()) << t.error().text();
  const auto* at = reinterpret_cast<const char*>(t->data());
  EXPECT_TRUE(at > kept->data() && at < kept->data() + kept->size());
  EXPECT_PRED2(says, variable_content(*c, "w", ItemType::scalar, {3}, nullptr).error().message(), "C6: ");
  EXPECT_PRED2(says, variable_content(*c, "w", ItemType::integer, {2}, nullptr).error().message(), "C7: ");
  EXPECT_PRED2(says, variable_content(*c, "v", ItemType::scalar, {2}, nullptr).error().message(), "C2: ");
}

}  // namespace
}  // namespace nnex
