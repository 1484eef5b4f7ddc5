#include "formats/container.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "formats/gzip.h"
#include "formats/nnef/weights.h"
#include "formats/tar.h"

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

/// The archive with one byte of its first header changed, and the checksum made right again.
std::string with_kind(std::string tar, char kind) {
  tar[156] = kind;
  uint32_t sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(tar[i]);
  snprintf(tar.data() + 148, 7, "%06o", sum);
  return tar;
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

/// A folder that goes when the test ends.
struct Folder {
  Folder() {
    char name[] = "/tmp/nnex_container_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  void put(const std::string& name, const std::string& bytes) const {
    fs::create_directories(fs::path(path + "/" + name).parent_path());
    ASSERT_TRUE(write_file(path + "/" + name, bytes).ok());
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
