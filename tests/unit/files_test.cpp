// Files of models: told by content, opened once, within what reading may take.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "api/recognise.h"
#include "standards/below.h"
#include "standards/gzip.h"

namespace nnex {
namespace {

using namespace std::literals;

TEST(Recognise, WhatBytesBeginLike) {
  const struct {
    std::string_view bytes, name;
    ModelFormat format;
    std::string_view says;
  } rows[] = {
      {"\x08\x07\x12\x04test"sv, "m.onnx", ModelFormat::onnx, ""},
      {"\x08\x0a\x12\x04TFL3"sv, "m.onnx", ModelFormat::onnx, ""},
      {"\x08\x07\x3a\xff\x7f\x0a"sv, "m.nnef", ModelFormat::onnx, ""},
      {"\x08\x07\x12\x04test"sv, "m.tgz", ModelFormat::onnx, ""},
      {"\x08\x07\x12\x44test"sv, "m.nnef", ModelFormat::nnef_text, ""},
      {"# by hand\n version 1.0;\n"sv, "m.onnx", ModelFormat::nnef_text, ""},
      {"\xef\xbb\xbfversion 1.0;\n"sv, "", ModelFormat::nnef_text, ""},
      {"\xff\xfev\0e\0"sv, "m.nnef", ModelFormat::nnef_text, ""},
      {"\xff\xfev\0e\0"sv, "m.onnx", ModelFormat::other, "UTF-16"},
      {""sv, "m.nnef", ModelFormat::nnef_text, ""},
      {""sv, "m.webnn", ModelFormat::webnn, ""},
      {""sv, "", ModelFormat::other, "empty"},
      {"\x1f\x8b\x08"sv, "m", ModelFormat::nnef_archive, ""},
      {"no archive"sv, "m.tgz", ModelFormat::nnef_archive, ""},
      {"{\"nodes\": []}"sv, "net.json", ModelFormat::cvm_symbol, ""},
      {"{\"nodes\": [{\"format\": \"nnex.webnn/1\"}]}"sv, "", ModelFormat::cvm_symbol, ""},
      {" {\"name\": \"a \\\" {\", \"format\" : \"nnex.webnn/1\", "sv, "net.json", ModelFormat::webnn, ""},
      {"{}"sv, "m.webnn", ModelFormat::webnn, ""},
      {"\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7\0"sv, "", ModelFormat::cvm_params, ""},
      {"version https://git-lfs.github.com/spec/v1\n"sv, "m.nnef", ModelFormat::other, "Git LFS"},
      {"PK\x03\x04\0\0net/data.pkl"sv, "", ModelFormat::other, "PyTorch"},
      {"PK\x03\x04\0\0x.npy"sv, "", ModelFormat::other, "NumPy"},
      {"PK\x03\x04\0\0readme"sv, "", ModelFormat::other, "a zip archive"},
      {"\x80\x02\x8a\x0a"sv, "", ModelFormat::other, "PyTorch"},
      {"\x1c\0\0\0TFL3"sv, "", ModelFormat::other, "TensorFlow Lite"},
      {"\n<HTML>"sv, "m.onnx", ModelFormat::other, "web page"},
      {"<?xml version"sv, "", ModelFormat::other, "XML"},
      {"root:x:0:0:root:/root:/bin/bash\n"sv, "", ModelFormat::other, "text, not a model"},
      {"no model\n"sv, "m.onnx", ModelFormat::other, "text, not a model"},
      {"g (float x) =>"sv, "m.onnxtxt", ModelFormat::onnx, ""},
      {"\x10\0\0\0\0\0\0\0{\"a\""sv, "", ModelFormat::other, "safetensors"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(fmt::format("{} {}", row.name, row.bytes));
    const FileKind kind = kind_of(row.bytes, row.name);
    EXPECT_EQ(static_cast<int>(kind.format), static_cast<int>(row.format));
    EXPECT_NE(kind.what.find(row.says), std::string::npos) << kind.what;
    EXPECT_EQ(kind.what.empty(), row.says.empty());
  }
}

TEST(FolderFiles, EachFileOnceAndWithinTheLimit) {
  const std::string folder = ::testing::TempDir() + "/nnex_folder_" + std::to_string(getpid());
  std::filesystem::create_directories(folder + "/b");
  ASSERT_TRUE(write_file(folder + "/b/data", std::string(1000, 'x')).ok());
  ASSERT_TRUE(write_file(folder + "/more", std::string(100, 'y')).ok());
  const auto memory = std::make_shared<MemoryAccount>(1050);
  FolderFiles files(folder, MapPolicy::never, memory);
  auto first = files.open("the file", "b/data", "b/data");
  ASSERT_TRUE(first.ok() && *first) << first.error().text();
  EXPECT_EQ(files.open("the file", "./b//data", "b/data")->get(), first->get());
  EXPECT_EQ(memory->held(), 1000);
  EXPECT_EQ(files.open("the file", "more", "more").error().code(), Code::limit);
  EXPECT_EQ(files.open("the file", "none", "none")->get(), nullptr);
  first->reset();
  EXPECT_EQ(memory->held(), 0) << "what nobody holds is given back";
  EXPECT_TRUE(files.open("the file", "more", "more").ok());
  FolderFiles mapped(folder, MapPolicy::always, memory);
  EXPECT_TRUE((*mapped.open("the file", "b/data", "b/data"))->mapped());
  std::filesystem::remove_all(folder);
}

/// Caches of downloads have links in a folder for every release, to files of one folder under the names of their
/// hashes.
TEST(FolderFiles, LinksOfAModelThatIsOneLeadToWhereItLies) {
  namespace fs = std::filesystem;
  const std::string root = ::testing::TempDir() + "/nnex_links_" + std::to_string(getpid());
  fs::create_directories(root + "/blobs/deep");
  fs::create_directories(root + "/snapshot");
  for (const char* file : {"/blobs/aa", "/blobs/bb", "/blobs/deep/cc", "/secret"})
    ASSERT_TRUE(write_file(root + file, file).ok());
  fs::create_symlink("../blobs/aa", root + "/snapshot/model.onnx");
  fs::create_symlink("../blobs/bb", root + "/snapshot/data");
  fs::create_symlink("../blobs/deep/cc", root + "/snapshot/deeper");
  fs::create_symlink("../secret", root + "/snapshot/secret");
  EXPECT_EQ(home_of(root + "/blobs/aa"), "");
  const std::string home = home_of(root + "/snapshot/model.onnx");
  EXPECT_EQ(home, fs::canonical(root + "/blobs").string() + "/");
  FolderFiles files(root + "/snapshot", MapPolicy::never, nullptr, home);
  const auto data = files.open("the file", "data", "data");
  ASSERT_TRUE(data.ok() && *data) << data.error().text();
  EXPECT_EQ((*data)->bytes(), "/blobs/bb");
  for (const char* other : {"deeper", "secret"})
    EXPECT_EQ(files.open("the file", other, other).error().code(), Code::unreadable) << other;
  FolderFiles lone(root + "/snapshot", MapPolicy::never);
  EXPECT_EQ(lone.open("the file", "data", "data").error().code(), Code::unreadable);
  fs::remove_all(root);
}

TEST(Gunzip, StopsAtItsLimits) {
  auto packed = Gzip::start();
  if (!packed.ok()) GTEST_SKIP() << packed.error().text();
  std::string bytes;
  const std::string zeros(1 << 22, '\0');
  ASSERT_TRUE(packed->add(zeros, bytes).ok() && packed->finish(bytes).ok());
  const auto memory = std::make_shared<MemoryAccount>(1 << 23);
  {
    const auto whole = gunzip(bytes, 1 << 22, memory);
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    EXPECT_EQ(whole->bytes, zeros);
    EXPECT_EQ(memory->held(), 1 << 22);
  }
  EXPECT_EQ(memory->held(), 0);
  EXPECT_EQ(gunzip(bytes, (1 << 22) - 1, memory).error().code(), Code::limit);
  const auto less = std::make_shared<MemoryAccount>(1 << 21);
  EXPECT_EQ(gunzip(bytes, 1 << 22, less).error().code(), Code::limit);
  EXPECT_EQ(less->held(), 0);
}

}  // namespace
}  // namespace nnex
