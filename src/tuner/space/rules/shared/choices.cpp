#include "tuner/space/rules/shared/choices.h"

#include <algorithm>

#include "base/result.h"

namespace lathe::space {
namespace {

char letter_of(TileAxis axis, bool of_blocks) {
  switch (axis) {
    case TileAxis::kVector: return of_blocks ? 'V' : 'v';
    case TileAxis::kPixels: return of_blocks ? 'P' : 'p';
    case TileAxis::kReduction: return of_blocks ? 'K' : 'k';
  }
  LATHE_CHECK(false, "an axis has no letter");
}

}  // namespace

std::vector<std::int64_t> up_to(std::vector<std::int64_t> values, std::int64_t most) {
  std::erase_if(values, [&](std::int64_t v) { return v > most; });
  if (values.empty()) values.push_back(1);
  return values;
}

std::vector<std::int64_t> powers_and(std::int64_t all) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = 1; v < all; v *= 2) values.push_back(v);
  values.push_back(all);
  return values;
}

std::vector<std::int64_t> blocks_of(std::int64_t all, int threads) {
  constexpr std::int64_t kAny = 16;
  std::vector<std::int64_t> values = powers_and(all);
  for (std::int64_t v = 1; threads > 1 && v <= std::min(all, kAny); ++v)
    values.insert(values.end(), {v, (all + v - 1) / v});
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return values;
}

std::string label_of(const LoopOrder& order) {
  std::string label;
  for (const TileAxis axis : order.blocks) label += letter_of(axis, true);
  label += '.';
  for (const TileAxis axis : order.tiles) label += letter_of(axis, false);
  return label;
}

std::string label_of(Packing packing) {
  switch (packing) {
    case Packing::kNone: return "none";
    case Packing::kBlock: return "block";
    case Packing::kWhole: return "whole";
  }
  LATHE_CHECK(false, "a packing has no label");
}

std::string label_of(Panels panels) { return panels == Panels::kTile ? "tile" : "vector"; }

std::string label_of(ReduceOrder order) {
  switch (order) {
    case ReduceOrder::kChannelsOutside: return "channels outside";
    case ReduceOrder::kTapsOutside: return "taps outside";
  }
  LATHE_CHECK(false, "an order of the reduction has no label");
}

std::string label_of(SharedLoop loop) {
  switch (loop) {
    case SharedLoop::kVectorBlocks: return "V";
    case SharedLoop::kPixelBlocks: return "P";
    case SharedLoop::kBatch: return "batch";
    case SharedLoop::kNone: return "none";
    case SharedLoop::kVectorsAndPixels: return "V x P";
    case SharedLoop::kBatchAndVectors: return "batch x V";
    case SharedLoop::kBatchAndPixels: return "batch x P";
    case SharedLoop::kReduction: return "reduction";
    case SharedLoop::kAll: return "batch x V x P";
  }
  LATHE_CHECK(false, "a shared loop has no label");
}

bool shares_batch(SharedLoop loop) {
  return loop == SharedLoop::kBatch || loop == SharedLoop::kBatchAndVectors ||
         loop == SharedLoop::kBatchAndPixels || loop == SharedLoop::kReduction ||
         loop == SharedLoop::kAll;
}

std::vector<TileAxis> shared_axes(SharedLoop loop) {
  using enum TileAxis;
  switch (loop) {
    case SharedLoop::kVectorBlocks:
    case SharedLoop::kBatchAndVectors: return {kVector};
    case SharedLoop::kPixelBlocks:
    case SharedLoop::kBatchAndPixels: return {kPixels};
    case SharedLoop::kVectorsAndPixels:
    case SharedLoop::kAll: return {kVector, kPixels};
    case SharedLoop::kBatch:
    case SharedLoop::kReduction:
    case SharedLoop::kNone: break;
  }
  return {};
}

}  // namespace lathe::space
