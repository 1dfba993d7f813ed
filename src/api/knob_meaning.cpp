#include "api/knob_meaning.h"

namespace lathe::api {
namespace {

struct Meaning {
  std::string_view name, text;
};
constexpr Meaning kMeanings[] = {
    {"vector", "the iterator along which a vector holds elements of the result"},
    {"order",
     "loops from outside in: those over cache blocks (V vector axis, P pixels, K reduction), then "
     "those over a block's tiles (v, p)"},
    {"tile.v", "width of the register tile along the vector axis, in vectors"},
    {"tile.p0", "height of the register tile along the innermost pixel axis, in elements"},
    {"tile.p1", "height of the register tile along the next pixel axis, in elements"},
    {"block.v", "size of a cache block along the vector axis, in register tiles"},
    {"block.p", "size of a cache block along the outermost pixel axis, in register tiles"},
    {"block.k", "size of a cache block along the reduction, in elements"},
    {"unroll.k", "steps of the reduction that the innermost loop writes out"},
    {"reduce", "what is outer within a block's reduction: the channels, or the taps of the window"},
    {"pack.weights",
     "copy of the weights in the order in which the loops read them: none, a block at a time, the "
     "whole beforehand"},
    {"prefetch",
     "how far ahead the copied weights are fetched into the cache, in bytes; 0: not at all"},
    {"padding",
     "reads that may leave the input: none tests them, padded copies the input with its border "
     "first"},
    {"pack.input",
     "copy of the input in the order in which the loops read it: none, a block at a time, the "
     "whole beforehand"},
    {"parallel",
     "the block loop that the threads share, V or P, or batch; none: one thread does everything"},
    {"rows",
     "apart: each stage does all rows before the next one begins; a number: all stages do so many "
     "rows together, before the next ones; 4096 of a row: reductions over the same elements go "
     "through so many of them together. The other knobs have no effect unless rows are apart"},
    {"operands",
     "as they lie: the sum reads its operands in place, or copies blocks of them; as matrices: it "
     "first lays them out anew, with rows, columns and terms side by side. The knobs matrix.* are "
     "those of the product of these, the others those of the sum as it is written"},
    {"algorithm",
     "direct: the sum as it is written; F(m x n): a Cook-Toom algorithm, which computes m by n "
     "results together with fewer products. The knobs ct.* are its own, the others the direct "
     "sum's"},
    {"ct.input", "where the transformed input is made: for each block of tiles, or whole before"},
    {"ct.parallel", "what threads share: blocks of tiles, or blocks of results"},
    {"ct.tile.v", "width of the products' register tile along the vector axis, in vectors"},
    {"ct.tile.p0", "height of it along the innermost pixel axis, in tiles of results"},
    {"ct.tile.p1", "height of it along the next pixel axis, in tiles of results"},
    {"ct.block.t", "tiles along the outermost pixel axis that are transformed together"},
    {"ct.block.v", "vectors of results whose products are kept until they are transformed"},
    {"ct.unroll.k", "steps of the products' reduction that the innermost loop writes out"},
    {"ct.prefetch", "how far ahead the transformed weights are fetched into the cache, in bytes"},
};

}  // namespace

std::string_view knob_meaning(std::string_view name) {
  constexpr std::string_view kProduct = "matrix.";  // its knobs mean what a sum's mean
  if (name.starts_with(kProduct)) name.remove_prefix(kProduct.size());
  for (const Meaning& meaning : kMeanings)
    if (meaning.name == name) return meaning.text;
  return "";
}

}  // namespace lathe::api
