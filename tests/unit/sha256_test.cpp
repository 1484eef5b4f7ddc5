#include "base/sha256.h"

#include <gtest/gtest.h>

namespace nnex {
namespace {

std::string hash(std::string_view bytes) {
  Sha256 h;
  h.add(bytes);
  return h.text();
}

// FIPS 180-2, appendix B, and the empty message of NIST's CAVP byte vectors.
TEST(Sha256, EqualsTheStandardsExamples) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>(i * 7);
  for (size_t cut = 0; cut <= bytes.size(); cut += 13) {
    Sha256 h;
    h.add(std::string_view(bytes).substr(0, cut));
    h.add(std::string_view(bytes).substr(cut));
    EXPECT_EQ(h.text(), hash(bytes)) << cut;
  }
}

}  // namespace
}  // namespace nnex
