#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/byte_reader.h"

namespace nnex {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t count() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++n;
    return n;
  }

  const std::string folder_ = ::testing::TempDir() + "/nnex_files_" + std::to_string(getpid());
};

TEST_F(Files, WrittenBytesComeBackCopiedAndMapped) {
  const std::string bytes = std::string(10000, 'a') + std::string("\0end", 4);
  ASSERT_TRUE(write_file(path("a"), bytes).ok());
  for (MapPolicy policy : {MapPolicy::automatic, MapPolicy::never, MapPolicy::always}) {
    auto file = MappedFile::open(path("a"), policy);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->mapped(), policy == MapPolicy::always);
    EXPECT_EQ(file->bytes(), bytes);
    file->release_pages(1, 9000);
    EXPECT_EQ(file->bytes(), bytes);
    const MappedFile moved = std::move(file).value();
    EXPECT_EQ(moved.bytes(), bytes);
  }
}

TEST_F(Files, AnOwnerTellsItsFile) {
  ASSERT_TRUE(write_file(path("a"), "abc").ok());
  auto file = shared_file(std::move(MappedFile::open(path("a"))).value());
  const std::shared_ptr<const void> owner = file, part(owner, file->bytes().data() + 1);
  EXPECT_EQ(file_of(owner), file.get());
  EXPECT_EQ(file_of(part), file.get());
  EXPECT_EQ(file_of(std::make_shared<const int>(1)), nullptr);
  EXPECT_EQ(file_of(nullptr), nullptr);
}

TEST_F(Files, DiscardedPagesAreWholeOnes) {
  std::vector<char> bytes(40000, 'a');
  discard_pages(bytes.data() + 100, 30000);
  EXPECT_EQ(std::string(bytes.data(), 100), std::string(100, 'a'));
  EXPECT_EQ(std::string(bytes.data() + 30100, 9900), std::string(9900, 'a'));
  discard_pages(bytes.data(), 10);
  EXPECT_EQ(bytes[0], 'a');
}

TEST_F(Files, EmptyFile) {
  ASSERT_TRUE(write_file(path("empty"), "").ok());
  EXPECT_EQ(MappedFile::open(path("empty"), MapPolicy::always)->bytes(), "");
}

TEST_F(Files, ErrorsSayWhatWasFound) {
  EXPECT_EQ(MappedFile::open(path("none")).error().message(),
            "cannot open '" + path("none") + "': No such file or directory");
  EXPECT_EQ(MappedFile::open(folder_).error().message(),
            "cannot open '" + folder_ + "': it is a folder, not a regular file");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(path("pipe")).error().code(), Code::unreadable);
  ASSERT_TRUE(write_file(path("five"), "12345").ok());
  const auto four = std::make_shared<MemoryAccount>(4);
  EXPECT_EQ(MappedFile::open(path("five"), MapPolicy::never, four).error().message(),
            "'" + path("five") + "' has 5 bytes; 0 are held of the 4 that reading may take");
  EXPECT_TRUE(MappedFile::open(path("five"), MapPolicy::automatic, four)->mapped())
      << "what cannot be copied is mapped";
  EXPECT_EQ(write_file(path("no/such/folder"), "x").error().code(), Code::unreadable);
}

TEST_F(Files, UnfinishedWriteLeavesTheOldFile) {
  ASSERT_TRUE(write_file(path("a"), "old").ok());
  {
    auto writer = FileWriter::create(path("a"), Existing::replace);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write("new").ok());
    EXPECT_EQ(count(), 2U);
  }
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(MappedFile::open(path("a"))->bytes(), "old");
  ASSERT_EQ(chmod(path("a").c_str(), 0640), 0);
  ASSERT_TRUE(write_file(path("a"), "new", Existing::replace).ok());
  struct stat about = {};
  ASSERT_EQ(stat(path("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640U);
}

TEST(ByteReader, NeverPastTheEnd) {
  ByteReader reader(std::string_view("\x01\x02\x03\x00\x00\x80\x3f\xff", 8));
  EXPECT_EQ(reader.number<uint8_t>(), 1);
  EXPECT_EQ(reader.number<int16_t>(), 0x302);
  EXPECT_EQ(reader.number<float>(), 1.0F);
  EXPECT_EQ(reader.remaining(), 1U);
  EXPECT_EQ(reader.number<uint32_t>(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.number<uint8_t>(), 0);
  EXPECT_TRUE(reader.at_end());
}

TEST(ByteReader, HugeLengthAndSeek) {
  ByteReader reader("abcd");
  reader.seek(2);
  EXPECT_EQ(reader.bytes(2), "cd");
  EXPECT_TRUE(reader.ok() && reader.at_end());
  reader.seek(1);
  EXPECT_EQ(reader.bytes(UINT64_MAX), "");
  EXPECT_FALSE(reader.ok());
  ByteReader other("ab");
  other.seek(3);
  EXPECT_FALSE(other.ok());
}

TEST_F(Files, APipeIsWrittenIntoAndStays) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] {
    std::FILE* in = std::fopen(path("pipe").c_str(), "rb");
    if (!in) return;
    for (int c = std::fgetc(in); c != EOF; c = std::fgetc(in)) read += static_cast<char>(c);
    std::fclose(in);
  });
  const Status s = write_file(path("pipe"), "through the pipe");
  reader.join();
  EXPECT_TRUE(s.ok()) << s.error().text();
  EXPECT_EQ(read, "through the pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, ALinkToADeviceIsWrittenThrough) {
  ASSERT_EQ(::symlink("/dev/null", path("null").c_str()), 0);
  EXPECT_TRUE(write_file(path("null"), "gone").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("null")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(count(), 1U);
}

TEST_F(Files, ALinkToAFileStaysAndTheFileIsReplaced) {
  std::filesystem::create_directories(path("far"));
  ASSERT_TRUE(write_file(path("far/file"), "old").ok());
  ASSERT_EQ(::symlink("far/file", path("link").c_str()), 0);
  {
    auto begun = FileWriter::create(path("link"), Existing::replace);
    ASSERT_TRUE(begun.ok());
    ASSERT_TRUE(begun->write("half").ok());
  }
  EXPECT_EQ(MappedFile::open(path("far/file"))->bytes(), "old") << "nothing was committed";
  ASSERT_TRUE(write_file(path("link"), "new", Existing::replace).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(MappedFile::open(path("far/file"))->bytes(), "new");
  // A link to what is not there yet makes it.
  ASSERT_EQ(::symlink("later", path("dangling").c_str()), 0);
  (void)FileWriter::create(path("dangling"), Existing::replace);
  EXPECT_FALSE(std::filesystem::exists(path("later"))) << "nothing was committed";
  ASSERT_TRUE(write_file(path("dangling"), "made", Existing::replace).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("dangling")));
  EXPECT_EQ(MappedFile::open(path("later"))->bytes(), "made");
}

TEST_F(Files, NothingIsLostUnlessItIsAskedFor) {
  ASSERT_TRUE(write_file(path("far"), "old").ok());
  ASSERT_EQ(::symlink("far", path("link").c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", path("dangling").c_str()), 0);
  for (const char* name : {"far", "link", "dangling"}) {
    SCOPED_TRACE(name);
    const std::string said = "'" + path(name) + "' exists; option overwrite = replace replaces it";
    EXPECT_EQ(write_file(path(name), "new").error().text(), said);
    EXPECT_EQ(may_write(path(name), Existing::refuse).error().text(), said);
    EXPECT_TRUE(may_write(path(name), Existing::replace).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
  // The name is taken while the file is written.
  auto writer = FileWriter::create(path("late"));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(write_file(path("late"), "first").ok());
  ASSERT_TRUE(writer->write("second").ok());
  EXPECT_EQ(writer->commit().error().code(), Code::invalid_argument);
  EXPECT_EQ(MappedFile::open(path("late"))->bytes(), "first");
  writer = FileWriter::create(path("other"));
  // A link that nobody typed gives way itself.
  ASSERT_TRUE(write_file(path("link"), "new", Existing::replace_link).ok());
  EXPECT_FALSE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(MappedFile::open(path("far"))->bytes(), "old");
}

TEST_F(Files, NewFilesHaveTheModeThatTheMaskLeaves) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(write_file(path("a"), "x").ok());
  auto folder = make_folder_beside(path("a"));
  ::umask(before);
  ASSERT_TRUE(folder.ok());
  struct stat about = {};
  ASSERT_EQ(stat(path("a").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640U);
  ASSERT_EQ(stat(folder->c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0750U);
}

TEST_F(Files, WritingWhereItCannotBeIsTold) {
  ASSERT_EQ(::symlink("nowhere/file", path("astray").c_str()), 0);
  Status s = write_file(path("astray"), "x", Existing::replace);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code(), Code::unreadable);
  EXPECT_NE(s.error().text().find("there is no folder"), std::string::npos) << s.error().text();
  ASSERT_TRUE(write_file(path("plain"), "x").ok());
  const Status checked = may_write(path("plain/x"), Existing::refuse), written = write_file(path("plain/x"), "x");
  for (const Status* in_file : {&checked, &written}) {
    ASSERT_FALSE(in_file->ok());
    EXPECT_NE(in_file->error().text().find("plain' is no folder"), std::string::npos) << in_file->error().text();
  }
  ASSERT_EQ(::symlink("round", path("round").c_str()), 0);
  EXPECT_FALSE(write_file(path("round"), "x", Existing::replace).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("round")));
  std::filesystem::create_directories(path("folder"));
  EXPECT_FALSE(write_file(path("folder"), "x", Existing::replace).ok());
  EXPECT_TRUE(std::filesystem::is_directory(path("folder")));
}

}  // namespace
}  // namespace nnex
