#include <limits>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/ir/nest/sizes.h"
#include "compiler/ir/nest/sizes_json.h"

namespace lathe::ir {
namespace {

struct SizesTest : testing::Test {
  Sizes s;
  SizeId p = s.knob(0, "p"), v = s.knob(1, "v"), n = s.constant(100);
  SizeId c(std::int64_t value) { return s.constant(value); }
};

TEST_F(SizesTest, EqualFormulasHaveOneId) {
  EXPECT_EQ(s.mul(s.mul(p, c(4)), s.mul(v, c(2))), s.mul(c(8), s.mul(v, p)));
  EXPECT_EQ(s.add(s.add(p, c(-1)), c(1)), p);
  EXPECT_EQ(s.add(c(1), s.mul(c(2), s.add(p, c(-1)))), s.add(s.mul(p, c(2)), c(-1)));
  EXPECT_EQ(s.add(p, s.mul(c(-1), p)), c(0));
  EXPECT_EQ(s.ceildiv(s.mul(v, c(16)), c(16)), v);
  EXPECT_EQ(s.ceildiv(s.mul(s.mul(p, c(12)), v), s.mul(v, c(4))), s.mul(p, c(3)));
  EXPECT_EQ(s.ceildiv(s.ceildiv(n, p), v), s.ceildiv(n, s.mul(p, v)));
  EXPECT_EQ(s.ceildiv(n, c(7)), c(15));
  EXPECT_EQ(s.mul(p, c(0)), c(0));
}

TEST_F(SizesTest, KnowsWhatDividesAndCovers) {
  EXPECT_TRUE(s.divides(c(16), s.mul(v, c(32))));
  EXPECT_FALSE(s.divides(p, v));
  EXPECT_TRUE(s.at_least(s.mul(p, s.ceildiv(n, p)), n));
  EXPECT_TRUE(s.at_least(s.mul(s.mul(p, v), s.ceildiv(n, s.mul(p, v))), n));
  EXPECT_TRUE(s.at_least(s.max(p, n), n));
  EXPECT_TRUE(s.at_least(n, s.min(p, n)));
  EXPECT_FALSE(s.at_least(p, n));
  EXPECT_FALSE(s.at_least(s.mul(v, s.ceildiv(n, p)), n));
}

TEST_F(SizesTest, AbsurdSizesStayAbsurd) {
  const std::int64_t most = std::int64_t{1} << 62;
  const SizeId huge = s.mul(c(most), c(4));
  EXPECT_EQ(s.constant_value(huge), most);
  EXPECT_EQ(s.constant_value(s.add(huge, huge)), most);
  EXPECT_EQ(s.constant_value(s.add(c(std::numeric_limits<std::int64_t>::max()), c(1))), most);
  EXPECT_EQ(s.constant_value(s.add(c(std::numeric_limits<std::int64_t>::min()), c(-1))), -most);
}

TEST_F(SizesTest, PrintsFormulas) {
  EXPECT_EQ(s.text(s.ceildiv(n, s.mul(c(16), v))), "ceildiv(100, v*16)");
  EXPECT_EQ(s.text(s.add(p, c(-1))), "(p + -1)");
}

// Whatever form a formula is kept in, its value is that of the formula.
TEST_F(SizesTest, RandomFormulasKeepTheirValue) {
  const std::uint64_t seed = 20260725;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    Sizes sizes;
    const std::int64_t knobs[] = {rng.between(1, 9), rng.between(1, 9)};
    std::vector<std::pair<SizeId, std::int64_t>> known = {{sizes.knob(0, "p"), knobs[0]},
                                                          {sizes.knob(1, "v"), knobs[1]}};
    for (int i = 0; i < 4; ++i) {
      const std::int64_t value = rng.between(1, 12);
      known.emplace_back(sizes.constant(value), value);
    }
    for (int i = 0; i < 12; ++i) {
      const auto [a, x] = known[rng.below(known.size())];
      const auto [b, y] = known[rng.below(known.size())];
      if (x > 1000 || y > 1000) continue;
      switch (rng.below(5)) {
        case 0: known.emplace_back(sizes.add(a, b), x + y); break;
        case 1: known.emplace_back(sizes.mul(a, b), x * y); break;
        case 2: known.emplace_back(sizes.ceildiv(a, b), (x + y - 1) / y); break;
        case 3: known.emplace_back(sizes.min(a, b), std::min(x, y)); break;
        default: known.emplace_back(sizes.max(a, b), std::max(x, y)); break;
      }
    }
    std::vector<std::int64_t> values;
    sizes.evaluate(knobs, values);
    for (const auto& [id, value] : known)
      ASSERT_EQ(values[static_cast<std::size_t>(id)], value)
          << sizes.text(id) << " round " << round;
    for (const auto& [a, x] : known)
      for (const auto& [b, y] : known) {
        ASSERT_TRUE(!sizes.at_least(a, b) || x >= y)
            << sizes.text(a) << " >= " << sizes.text(b) << " round " << round;
        ASSERT_TRUE(!sizes.divides(b, a) || x % y == 0)
            << sizes.text(b) << " | " << sizes.text(a) << " round " << round;
      }
  }
}

TEST_F(SizesTest, ComeBackFromJsonInAnyTable) {
  const SizeId size = s.min(s.ceildiv(n, s.mul(s.add(p, c(-3)), v)), s.max(p, c(7)));
  const Json json = to_json(s, size);
  Sizes other;
  other.constant(5);  // other ids than here
  const KnobSize by_name = [&](const std::string& name) -> Result<SizeId> {
    if (name == "p") return other.constant(13);
    return other.knob(0, name);
  };
  const auto read = size_from_json(*parse_json(json.dump()), other, by_name);
  ASSERT_TRUE(read) << read.error().text();
  std::vector<std::int64_t> here, there;
  for (const std::int64_t value : {1, 2, 5, 99}) {
    s.evaluate(std::vector<std::int64_t>{13, value}, here);
    other.evaluate(std::vector<std::int64_t>{value}, there);
    EXPECT_EQ(there[static_cast<std::size_t>(*read)], here[static_cast<std::size_t>(size)])
        << value;
  }
}

TEST_F(SizesTest, JsonThatIsNoSizeIsRefused) {
  const KnobSize none = [](const std::string& name) -> Result<SizeId> {
    return fail(ErrorKind::kInvalidArgument, "no {}", name);
  };
  for (const char* text : {"1.5", "null", "[]", "[\"mul\", 1]", "[\"mul\", 1, 2, 3]", "[1, 2, 3]",
                           "[\"pow\", 2, 3]", "\"q\"", "[\"ceildiv\", 8, 0]",
                           "[\"ceildiv\", 8, [\"add\", 1, -1]]", "18446744073709551615"})
    EXPECT_FALSE(size_from_json(*parse_json(text), s, none)) << text;
}

}  // namespace
}  // namespace lathe::ir
