// Pieces of shared blocks: aligned, apart, each with an owner of its own, and usable as tensors.

#include "base/large_memory.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/size_class.h"
#include "nnex/tensor.h"
#include "tensor/memory_account.h"

namespace nnex {
namespace {

bool aligned(const void* p, uintptr_t to) { return reinterpret_cast<uintptr_t>(p) % to == 0; }

TEST(LargeMemory, IsAlignedAndInHugePagesWhereItIsLarge) {
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{100}, kHugePage - 1, kHugePage, 3 * kHugePage + 5}) {
    void* p = allocate_aligned(bytes);
    ASSERT_NE(p, nullptr) << bytes;
    EXPECT_TRUE(aligned(p, bytes >= kHugePage ? static_cast<uintptr_t>(kHugePage) : 64)) << bytes;
    std::memset(p, 1, static_cast<size_t>(bytes));
    std::free(p);
  }
}

TEST(LargeMemory, SizeClassesHoldWhatIsAskedForAndLittleMore) {
  int64_t last = 0;
  for (int64_t bytes = 0; bytes < int64_t{1} << 40; bytes += 1 + bytes / 37) {
    const int64_t size = size_class(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size - bytes, bytes / 8);
    EXPECT_GE(size, last);
    EXPECT_EQ(size_class(size), size);
    last = size;
  }
  EXPECT_EQ(size_class(INT64_MAX), INT64_MAX);
}

TEST(LargeMemory, OfZerosIsNotThereBeforeItIsTouched) {
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{100}, kHugePage - 1, kHugePage, 3 * kHugePage + 5}) {
    for (int again = 0; again < 3; ++again) {  // memory that was given back held something else
      const auto p = zeroed(bytes);
      ASSERT_TRUE(p) << bytes;
      EXPECT_TRUE(aligned(p.get(), bytes >= kHugePage ? static_cast<uintptr_t>(kHugePage) : 64)) << bytes;
      const auto* data = static_cast<unsigned char*>(p.get());
      EXPECT_EQ(std::count(data, data + bytes, 0), bytes);
      std::memset(p.get(), 1, static_cast<size_t>(bytes));
    }
  }
  struct rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  const auto large = zeroed(int64_t{1} << 28);  // the address sanitizer writes an eighth of it elsewhere
  ASSERT_TRUE(large);
  EXPECT_EQ(static_cast<char*>(large.get())[int64_t{1} << 27], 0);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);  // KiB
}

TEST(LargeMemory, PiecesOfBlocksStandApart) {
  SharedBlocks blocks;
  std::vector<std::pair<std::shared_ptr<void>, int64_t>> pieces;
  for (int i = 0; i < 200; ++i) {
    const int64_t bytes = int64_t{1} << (i % 23);  // up to two huge pages
    pieces.emplace_back(blocks.take(bytes), bytes);
    ASSERT_TRUE(pieces.back().first);
    EXPECT_TRUE(aligned(pieces.back().first.get(), 64));
    EXPECT_EQ(pieces.back().first.use_count(), 1);
    std::memset(pieces.back().first.get(), i, static_cast<size_t>(bytes));
  }
  for (size_t i = 0; i < pieces.size(); i += 2) pieces[i].first.reset();  // their neighbours keep what they hold
  for (size_t i = 1; i < pieces.size(); i += 2) {
    const auto* p = static_cast<const unsigned char*>(pieces[i].first.get());
    int64_t wrong = 0;
    for (int64_t k = 0; k < pieces[i].second; ++k) wrong += p[k] != static_cast<unsigned char>(i);
    EXPECT_EQ(wrong, 0) << i;
  }
}

TEST(LargeMemory, TensorsOfAScopeAreLikeOthers) {
  SharedBlocks blocks;
  std::vector<Tensor> tensors;
  {
    const BlockScope scope(blocks);
    EXPECT_EQ(BlockScope::current(), &blocks);
    for (int i = 0; i < 40; ++i) {
      tensors.push_back(Tensor::make(DType::u8, Shape{100'000 + i}).value());
      EXPECT_TRUE(tensors.back().writable());
      std::memset(tensors.back().mutable_data(), i, static_cast<size_t>(tensors.back().bytes()));
    }
  }
  EXPECT_EQ(BlockScope::current(), nullptr);
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].data()[0], static_cast<std::byte>(i));
    EXPECT_EQ(tensors[i].data()[tensors[i].bytes() - 1], static_cast<std::byte>(i));
    const Tensor copy = tensors[i];
    EXPECT_FALSE(tensors[i].writable());
  }
}

}  // namespace
}  // namespace nnex
