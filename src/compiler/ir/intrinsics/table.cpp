// The intrinsics, a row each. A new one needs its row here, and nothing else unless no target can
// do it yet: then its ability, too (base/target.h).
#include "compiler/ir/intrinsics/intrinsic.h"

namespace lathe::ir {
namespace {

constexpr FragmentDigit lane(int weight, int div, int mod) {
  return {FragmentDigit::Of::kLane, weight, div, mod};
}
constexpr FragmentDigit element(int weight, int div, int mod) {
  return {FragmentDigit::Of::kElement, weight, div, mod};
}

// A tile of 8 by 8 results over 8 steps of the reduction (paper, Figure 1). Rows of the result are
// vectors. A step takes one row of `right` and one element of `left` for each row, in all lanes.
constexpr Intrinsic kGemm8x8 = {
    .name = "gemm8x8",
    .iters = {{{8, false}, {8, false}, {8, true}}},
    .lanes = 8,
    .result = {.elements = 8, .coordinates = {{{0, {element(1, 1, 8)}}, {1, {lane(1, 1, 8)}}}}},
    .left = {.elements = 64, .coordinates = {{{0, {element(1, 1, 8)}}, {2, {element(1, 8, 8)}}}}},
    .right = {.elements = 8, .coordinates = {{{2, {element(1, 1, 8)}}, {1, {lane(1, 1, 8)}}}}},
};

// The tensor cores' product of 16 by 8 with 8 by 8, of f32 rounded to TF32. The lanes are as
// "Matrix Fragments for mma.m16n8k8" of the PTX ISA says: a group of four lanes has a row of `left`
// and of the result, and a column of `right`. Back ends round as cvt.rna.tf32.f32 does.
constexpr int kTf32Bits = 10;
constexpr Intrinsic kMmaM16N8K8Tf32 = {
    .name = "mma.m16n8k8.tf32",
    .iters = {{{16, false}, {8, false}, {8, true}}},
    .lanes = 32,
    .result = {.elements = 4,
               .coordinates = {{{0, {lane(1, 4, 8), element(8, 2, 2)}},
                                {1, {lane(2, 1, 4), element(1, 1, 2)}}}}},
    .left = {.mantissa_bits = kTf32Bits,
             .elements = 4,
             .coordinates = {{{0, {lane(1, 4, 8), element(8, 1, 2)}},
                              {2, {lane(1, 1, 4), element(4, 2, 2)}}}}},
    .right = {.mantissa_bits = kTf32Bits,
              .elements = 2,
              .coordinates = {{{2, {lane(1, 1, 4), element(4, 1, 2)}}, {1, {lane(1, 4, 8)}}}}},
    .ability = &Abilities::tf32_tiles,
    .call = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    .found = "NVIDIA GPUs of compute capability 8.0 and higher",
};

constexpr std::array kIntrinsics = {kGemm8x8, kMmaM16N8K8Tf32};

}  // namespace

std::span<const Intrinsic> intrinsics() { return kIntrinsics; }

}  // namespace lathe::ir
