#include "base/hash.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace lathe {
namespace {

// Hashes are stored in records: these values must never change.
TEST(Hash, StaysWhatItWas) {
  EXPECT_EQ(hex(hash_of("")), "0a29ddc2b39b9141");
  EXPECT_EQ(hex(hash_of("lathe")), "af4fe8a2655f4582");
  EXPECT_EQ(hex(Hasher().add(1).add(2).value()), "b208fd9ee6e22310");
  EXPECT_EQ(hex(Hasher().add("C[i,j]").add(1024).value()), "3d22ac7ad5f1ad95");
}

TEST(Hash, TellsOrderGroupingAndZerosApart) {
  const std::set<std::uint64_t> different{
      Hasher().add(1).add(2).value(),
      Hasher().add(2).add(1).value(),
      Hasher().add("ab").add("c").value(),
      Hasher().add("a").add("bc").value(),
      Hasher().add("abc").value(),
      Hasher().add(0).value(),
      Hasher().add(0).add(0).value(),
      Hasher().value(),
      hash_of(std::string("\0", 1)),
      hash_of(std::string("\0\0", 2)),
      hash_of("\xff"),
  };
  EXPECT_EQ(different.size(), 11U);
}

TEST(Hash, SmallNumbersDoNotCollide) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 300; ++a)
    for (std::uint64_t b = 0; b < 300; ++b) seen.insert(Hasher().add(a).add(b).value());
  EXPECT_EQ(seen.size(), 300U * 300U);
}

TEST(Hash, HexHasSixteenDigits) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0xfedcba9876543210U), "fedcba9876543210");
}

}  // namespace
}  // namespace lathe
