// Merged dimensions: every element stays where it is in storage.
#include "api/borders.h"

#include <gtest/gtest.h>

namespace lathe::api {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t offset_of(const flat::Border& border, const Shape& at) {
  std::int64_t offset = 0;
  for (const auto& digit : border.layout) {
    std::int64_t x = at[static_cast<std::size_t>(digit.dim)];
    if (digit.within > 0) x %= digit.within;
    offset += digit.stride * (x / digit.weight % digit.extent);
  }
  return offset;
}

// The index of the element with this number in row-major order.
Shape index_of(std::int64_t element, const Shape& shape) {
  Shape at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; element /= shape[d]) at[d] = element % shape[d];
  return at;
}

// `layout` from outside in, as (dimension, weight, extent): its strides follow.
void expect_same_places(const Shape& shape, const Shape& merged,
                        const std::vector<tensor::LayoutDigit>& layout) {
  flat::Border border{.name = "Y", .shape = shape, .layout = layout, .size = 1};
  for (std::size_t d = layout.size(); d-- > 0; border.size *= layout[d].extent)
    border.layout[d].stride = border.size;
  te::Tensor tensor{"Y", Dtype::kF32, shape, te::TensorRole::kOutput};
  tensor.border_shape = merged;
  const flat::Border before = border;
  merge_dimensions(border, tensor);
  EXPECT_EQ(border.shape, merged);
  EXPECT_EQ(tensor::is_plain(border), tensor::is_plain(before));
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  for (std::int64_t e = 0; e < elements; ++e)
    ASSERT_EQ(offset_of(border, index_of(e, merged)), offset_of(before, index_of(e, shape)))
        << "element " << e;
}

TEST(MergeDimensions, RowMajorStaysRowMajor) {
  expect_same_places({1, 4, 15, 3, 5}, {1, 60, 3, 5},
                     {{0, 1, 1, 0}, {1, 1, 4, 0}, {2, 1, 15, 0}, {3, 1, 3, 0}, {4, 1, 5, 0}});
  expect_same_places({2, 3, 5}, {30}, {{0, 1, 2, 0}, {1, 1, 3, 0}, {2, 1, 5, 0}});
  expect_same_places({1, 1, 7}, {1, 7}, {{0, 1, 1, 0}, {1, 1, 1, 0}, {2, 1, 7, 0}});
}

TEST(MergeDimensions, BlocksWithAndWithoutTails) {
  for (const std::int64_t o : {32, 18, 7})
    expect_same_places({2, 4, o, 3, 5}, {2, 4 * o, 3, 5},
                       {{0, 1, 2, 0},
                        {1, 1, 4, 0},
                        {2, 8, (o + 7) / 8, 0},
                        {3, 1, 3, 0},
                        {4, 1, 5, 0},
                        {2, 1, 8, 0}});
  // Dimensions of a group apart from each other, and in the other order.
  expect_same_places({3, 5, 7}, {15, 7}, {{1, 1, 5, 0}, {2, 1, 7, 0}, {0, 1, 3, 0}});
  expect_same_places({3, 5, 7}, {105}, {{2, 2, 4, 0}, {1, 1, 5, 0}, {2, 1, 2, 0}, {0, 1, 3, 0}});
}

TEST(MergeDimensions, NoneWhereNothingIsMerged) {
  flat::Border border{
      .name = "Y", .shape = {4, 5}, .layout = {{1, 1, 5, 4}, {0, 1, 4, 1}}, .size = 20};
  merge_dimensions(border, {"Y", Dtype::kF32, {4, 5}, te::TensorRole::kOutput});
  EXPECT_EQ(border.shape, (Shape{4, 5}));
  EXPECT_EQ(border.layout.size(), 2U);
}

}  // namespace
}  // namespace lathe::api
