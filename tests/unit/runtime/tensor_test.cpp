#include "support/tensor.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "runtime/tensor/layout.h"

namespace lathe::tensor {
namespace {

TEST(Layout, PlainBorderIsPlain) {
  for (const auto& shape :
       std::vector<std::vector<std::int64_t>>{{}, {1}, {7}, {3, 5}, {1, 13, 1, 2}}) {
    const Border border = plain_border("x", Dtype::kF32, shape);
    EXPECT_TRUE(is_plain(border));
    EXPECT_TRUE(verify(border).has_value());
  }
}

TEST(Layout, KnownBlockedStorage) {
  // [o, c] of 3 x 2 as o/2, c, o%2: the storage is padded to o = 4.
  Border border{.name = "W", .dtype = Dtype::kF32, .shape = {3, 2}, .size = 8};
  border.layout = {{0, 2, 2, 4}, {1, 1, 2, 2}, {0, 1, 2, 1}};
  ASSERT_TRUE(verify(border).has_value());
  EXPECT_FALSE(is_plain(border));
  const float plain[6] = {1, 2, 3, 4, 5, 6};
  float stored[8];
  pack(border, plain, stored);
  const float wanted[8] = {1, 3, 2, 4, 5, 0, 6, 0};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(stored[i], wanted[i]) << i;
}

TEST(Layout, RandomLayoutsRoundTrip) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Dtype dtypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kBF16, Dtype::kI8};
    Border border{.name = "x", .dtype = dtypes[rng.below(4)]};
    const int rank = static_cast<int>(rng.between(1, 4));
    for (int d = 0; d < rank; ++d) {
      border.shape.push_back(rng.between(1, 13));
      const std::int64_t block = rng.between(1, 5);
      border.layout.push_back({d, block, (border.shape[d] + block - 1) / block, 0});
      border.layout.push_back({d, 1, block, 0});
    }
    for (std::size_t i = border.layout.size(); i-- > 1;)
      std::swap(border.layout[i], border.layout[rng.below(i + 1)]);
    std::int64_t stride = 1;
    for (std::size_t i = border.layout.size(); i-- > 0;) {
      border.layout[i].stride = stride;
      stride *= border.layout[i].extent;
    }
    border.size = stride + rng.between(0, 3);
    ASSERT_TRUE(verify(border).has_value());
    const auto bytes = static_cast<std::size_t>(border.elements() * size_of(border.dtype));
    std::vector<std::uint8_t> plain(bytes), stored(static_cast<std::size_t>(border.bytes())),
        back(bytes);
    for (auto& byte : plain) byte = static_cast<std::uint8_t>(rng.next());
    pack(border, plain.data(), stored.data());
    unpack(border, stored.data(), back.data());
    EXPECT_EQ(plain, back);
  }
}

// No two elements in one place, none outside.
bool fits(const Border& border) {
  std::set<std::int64_t> places;
  const std::int64_t inner = border.shape[1];
  for (std::int64_t i = 0; i < border.elements(); ++i) {
    std::int64_t place = 0;
    for (const LayoutDigit& digit : border.layout)
      place +=
          digit.stride * ((digit.dim == 0 ? i / inner : i % inner) / digit.weight % digit.extent);
    if (place >= border.size || !places.insert(place).second) return false;
  }
  return true;
}

TEST(Layout, IsAcceptedWhereEveryElementHasAPlaceOfItsOwn) {
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Rng rng(seed);
    Border border{.name = "x", .shape = {rng.between(1, 7), rng.between(1, 7)}};
    for (std::int64_t digits = rng.between(2, 5); digits-- > 0;)
      border.layout.push_back({static_cast<int>(rng.below(2)), rng.between(1, 4), rng.between(1, 7),
                               rng.between(0, 12)});
    border.size = border.elements() + rng.between(0, 60);
    EXPECT_EQ(verify(border).has_value(), fits(border)) << seed;
    accepted += fits(border);
  }
  EXPECT_GT(accepted, 100);
}

TEST(Layout, RefusesBordersThatDoNotFit) {
  Border outside = plain_border("x", Dtype::kF32, {4, 3});
  outside.layout[0].stride = 4;
  EXPECT_FALSE(verify(outside).has_value());
  Border shared = plain_border("x", Dtype::kF32, {4, 3});
  shared.layout[0].stride = 2;
  EXPECT_FALSE(verify(shared).has_value());
  Border small = plain_border("x", Dtype::kF32, {4, 3});
  small.size = 11;
  EXPECT_FALSE(verify(small).has_value());
  Border wild = plain_border("x", Dtype::kF32, {4, 3});
  wild.layout[0].dim = 2;
  EXPECT_FALSE(verify(wild).has_value());
}

TEST(Tensor, ShowsItselfAsDlpack) {
  auto tensor = Tensor::make(Dtype::kBF16, {2, 3, 5});
  ASSERT_TRUE(tensor.has_value());
  tensor->set(7, 1.5);
  Tensor moved = std::move(*tensor);
  EXPECT_EQ(moved.at(7), 1.5);
  const DLTensor* view = moved.dl();
  EXPECT_EQ(view->data, moved.data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view->data) % kAlignment, 0U);
  EXPECT_EQ(view->ndim, 3);
  EXPECT_EQ(view->strides[0], 15);
  EXPECT_EQ(view->dtype.code, kDLBfloat);
}

TEST(Tensor, DtypesRoundTripThroughDlpack) {
  for (const Dtype dtype :
       {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16, Dtype::kI8, Dtype::kU8, Dtype::kI16,
        Dtype::kU16, Dtype::kI32, Dtype::kU32, Dtype::kI64, Dtype::kBool})
    EXPECT_EQ(dtype_of(dl_type(dtype)), dtype);
  EXPECT_FALSE(dtype_of({kDLFloat, 32, 4}).has_value());
}

}  // namespace
}  // namespace lathe::tensor
