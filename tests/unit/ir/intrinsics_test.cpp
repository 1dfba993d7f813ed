// The rows of intrinsics: what they say of lanes is whole, and agrees with itself.
#include <gtest/gtest.h>

#include "compiler/ir/intrinsics/intrinsic.h"

namespace lathe::ir {
namespace {

using Place = std::array<int, 2>;  // an element of an operand, by its coordinates

Place place_of(const Fragment& fragment, int lane, int element) {
  Place place = {0, 0};
  for (std::size_t c = 0; c < place.size(); ++c)
    if (fragment.coordinates[c].iter >= 0) place[c] = fragment.coordinates[c].value(lane, element);
  return place;
}

int extent_of(const Intrinsic& row, const FragmentCoordinate& c) {
  return c.iter < 0 ? 1 : row.iters[static_cast<std::size_t>(c.iter)].extent;
}

bool is_the_same_in_all_lanes(const Fragment& fragment) {
  for (const FragmentCoordinate& c : fragment.coordinates)
    for (const FragmentDigit& digit : c.digits)
      if (digit.weight != 0 && digit.of == FragmentDigit::Of::kLane) return false;
  return true;
}

// Every element of the operand is held once (where all lanes hold the same: once by each), no lane
// holds anything else, and every lane holds something.
void expect_whole(const Intrinsic& row, const Fragment& fragment) {
  std::map<Place, std::vector<int>> holders;
  for (int lane = 0; lane < row.lanes; ++lane)
    for (int element = 0; element < fragment.elements; ++element)
      holders[place_of(fragment, lane, element)].push_back(lane);
  std::set<int> used;
  const std::size_t each = is_the_same_in_all_lanes(fragment) ? row.lanes : 1;
  for (const auto& [place, lanes] : holders) {
    for (std::size_t c = 0; c < place.size(); ++c) {
      EXPECT_GE(place[c], 0);
      EXPECT_LT(place[c], extent_of(row, fragment.coordinates[c]));
    }
    EXPECT_EQ(lanes.size(), each) << row.name << " " << place[0] << ", " << place[1];
    used.insert(lanes.begin(), lanes.end());
  }
  EXPECT_EQ(std::cmp_equal(used.size(), row.lanes), true) << row.name;
  EXPECT_EQ(holders.size(), extent_of(row, fragment.coordinates[0]) *
                                static_cast<std::size_t>(extent_of(row, fragment.coordinates[1])))
      << row.name;
}

TEST(Intrinsics, LanesHoldEveryElementOnce) {
  for (const Intrinsic& row : intrinsics())
    for (const Fragment& fragment : {row.result, row.left, row.right}) expect_whole(row, fragment);
}

// Operands move with iterators that reduce or not, as a sum of products needs them.
TEST(Intrinsics, IteratorsMoveWhatTheyMust) {
  for (const Intrinsic& row : intrinsics())
    for (int i = 0; i < static_cast<int>(row.iters.size()); ++i) {
      const Intrinsic::Iter& iter = row.iters[static_cast<std::size_t>(i)];
      EXPECT_GT(iter.extent, 1) << row.name;
      EXPECT_NE(row.result.has(i), iter.reduces) << row.name;
      EXPECT_TRUE(row.left.has(i) || row.right.has(i)) << row.name;
    }
}

// Where lowering writes the intrinsic out, a lane has all that its own results are made of; the
// tensor cores' lanes have not, which is what the instruction is for.
bool has_what_it_needs(const Intrinsic& row, const Fragment& fragment, int lane,
                       const std::array<int, 3>& iters) {
  for (int element = 0; element < fragment.elements; ++element) {
    bool same = true;
    for (const FragmentCoordinate& c : fragment.coordinates)
      if (c.iter >= 0)
        same = same && c.value(lane, element) == iters[static_cast<std::size_t>(c.iter)];
    if (same) return true;
  }
  return row.lanes == 0;
}

bool lanes_work_alone(const Intrinsic& row) {
  for (int lane = 0; lane < row.lanes; ++lane)
    for (int element = 0; element < row.result.elements; ++element)
      for (int term = 0; term < row.terms(); ++term) {
        std::array<int, 3> iters = {};
        for (const FragmentCoordinate& c : row.result.coordinates)
          if (c.iter >= 0) iters[static_cast<std::size_t>(c.iter)] = c.value(lane, element);
        row.bind_term(term, [&](int i, int v) { iters[static_cast<std::size_t>(i)] = v; });
        if (!has_what_it_needs(row, row.left, lane, iters) ||
            !has_what_it_needs(row, row.right, lane, iters))
          return false;
      }
  return true;
}

TEST(Intrinsics, WrittenOutOnesHaveLanesThatWorkAlone) {
  for (const Intrinsic& row : intrinsics()) {
    EXPECT_EQ(lanes_work_alone(row), row.is_written_out()) << row.name;
    EXPECT_EQ(row.call.empty(), row.is_written_out()) << row.name;
    EXPECT_EQ(row.found.empty(), row.is_written_out()) << row.name;
    if (!row.is_written_out()) continue;
    const int lane = row.lane_iter();
    ASSERT_GE(lane, 0) << row.name;
    EXPECT_EQ(row.iters[static_cast<std::size_t>(lane)].extent, row.lanes) << row.name;
    for (const FragmentCoordinate& c : row.result.coordinates)
      for (const FragmentDigit& digit : c.digits) {
        const bool of_lane = digit.weight != 0 && digit.of == FragmentDigit::Of::kLane;
        EXPECT_EQ(of_lane, c.iter == lane && digit.weight != 0) << row.name;
      }
    EXPECT_EQ(row.product_error(), 0) << row.name << ": lowering rounds no factors";
  }
}

// Against the PTX ISA, "Matrix Fragments for mma.m16n8k8" of .tf32, spelled as it is there.
TEST(Intrinsics, FragmentsOfTf32AreThoseOfThePtxIsa) {
  const Intrinsic& mma = row_of(*intrinsic_named("mma.m16n8k8.tf32"));
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane >> 2, t = lane % 4;
    const Place a[] = {{g, t}, {g + 8, t}, {g, t + 4}, {g + 8, t + 4}};
    const Place b[] = {{t, g}, {t + 4, g}};
    const Place c[] = {{g, 2 * t}, {g, 2 * t + 1}, {g + 8, 2 * t}, {g + 8, 2 * t + 1}};
    for (int e = 0; e < 4; ++e) EXPECT_EQ(place_of(mma.left, lane, e), a[e]) << lane;
    for (int e = 0; e < 2; ++e) EXPECT_EQ(place_of(mma.right, lane, e), b[e]) << lane;
    for (int e = 0; e < 4; ++e) EXPECT_EQ(place_of(mma.result, lane, e), c[e]) << lane;
  }
}

TEST(Intrinsics, AreFoundByName) {
  std::set<std::string_view> names;
  for (const Intrinsic& row : intrinsics()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const auto id = intrinsic_named(row.name);
    ASSERT_TRUE(id);
    EXPECT_EQ(name_of(*id), row.name);
  }
  EXPECT_EQ(name_of(IntrinsicId::kNone), "");
  EXPECT_EQ(intrinsic_named("mma.m16n8k8.tf23").error().text(),
            "\"mma.m16n8k8.tf23\" is no intrinsic; known are gemm8x8, mma.m16n8k8.tf32; did you "
            "mean mma.m16n8k8.tf32?");
}

TEST(Intrinsics, TargetsHaveThoseThatLoweringWritesOut) {
  const Target target = *parse_target("cpu:znver5");
  EXPECT_TRUE(check_has(target, row_of(*intrinsic_named("gemm8x8"))));
  const Status refused = check_has(target, row_of(*intrinsic_named("mma.m16n8k8.tf32")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(refused.error().text(),
            "intrinsic mma.m16n8k8.tf32 is the instruction "
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32, which "
            "cpu:znver5;threads=1 has not, but "
            "NVIDIA GPUs of compute capability 8.0 and higher have; take a schedule without it");
}

}  // namespace
}  // namespace lathe::ir
