#include "api/knob_meaning.h"

#include <fmt/format.h>

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
    {"block.q", "size of a cache block along the innermost pixel axis, in register tiles"},
    {"block.k", "size of a cache block along the reduction, in elements"},
    {"unroll.k", "steps of the reduction that the innermost loop writes out"},
    {"reduce", "what is outer within a block's reduction: the channels, or the taps of the window"},
    {"pack.weights",
     "copy of the weights in the order in which the loops read them: none, a block at a time, the "
     "whole beforehand"},
    {"prefetch",
     "how far ahead the copied weights are fetched into the cache, in bytes; 0: not at all"},
    {"pack.input",
     "copy of the input in the order in which the loops read it: none, a block at a time, the "
     "whole beforehand"},
    {"parallel",
     "the block loops that the threads share, V or P, or batch, or several of these; reduction: "
     "they sum parts of it, then those up; none: one thread does everything"},
    {"rows",
     "apart: each stage does all rows before the next one begins; a number: the stages of a group "
     "do so many rows together, before the next ones. Where they do, the knobs rows.* say how"},
    {"row.parts",
     "of reductions over the same elements: whole, one after the other; a number: they go through "
     "so many elements together, before the next ones"},
    {"operands",
     "as they lie: the sum reads its operands in place, or copies blocks of them; as matrices: it "
     "first lays them out anew, with rows, columns and terms side by side. The knobs matrix.* are "
     "those of the product of these, the others those of the sum as it is written"},
    {"stores",
     "streaming: the outputs are stored past the caches, which saves reading their lines first; "
     "cached: as usual"},
    {"algorithm",
     "direct: the sum as it is written; "
     "F(m x n): a Cook-Toom algorithm, which computes m by n results together with fewer products; "
     "strassen: Strassen's algorithm, which computes a product from 7/8 of the multiplications. "
     "The knobs ct.* and st.* are those of these, the others the direct sum's"},
    {"ct.input", "where the transformed input is made: for each block of tiles, or whole before"},
    {"ct.copy",
     "whether a copy of the input is transformed, with zeros around and channels side by side: of "
     "what a block of tiles needs, or a row of tiles at a time"},
    {"ct.parallel",
     "what threads share: blocks of tiles, or of results, or several loops together; positions: "
     "the products of the whole input, position by position, and then the results"},
    {"ct.tile.v", "width of the products' register tile along the vector axis, in vectors"},
    {"ct.tile.p0", "height of it along the innermost pixel axis, in tiles of results"},
    {"ct.tile.p1", "height of it along the next pixel axis, in tiles of results"},
    {"ct.block.t", "tiles along the outermost pixel axis that are transformed together"},
    {"ct.block.p0", "tiles along the innermost pixel axis that are transformed together"},
    {"ct.block.v", "vectors of results whose products are kept until they are transformed"},
    {"ct.unroll.k", "steps of the products' reduction that the innermost loop writes out"},
    {"ct.prefetch", "how far ahead the transformed weights are fetched into the cache, in bytes"},
    {"st.outer",
     "the outermost block loop, over rows or over columns of the halves; sums of the operand that "
     "has them are made for each block, those of the other whole before"},
    {"st.tile.v", "width of the products' register tile along the columns, in vectors"},
    {"st.tile.p", "height of it along the rows"},
    {"st.block.v", "columns whose products are kept until they are summed up, in register tiles"},
    {"st.block.p", "rows whose products are kept until they are summed up, in register tiles"},
    {"st.unroll.k", "steps of the products' reduction that the innermost loop writes out"},
    {"st.prefetch",
     "how far ahead the sums of the right operand are fetched into the cache, in bytes"},
};

std::string_view own_meaning(std::string_view name) {
  for (const Meaning& meaning : kMeanings)
    if (meaning.name == name) return meaning.text;
  return "";
}

bool take(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string knob_meaning(std::string_view name) {
  if (const auto own = own_meaning(name); !own.empty()) return std::string(own);
  const bool matrix = take(name, "matrix.");
  const bool rows = take(name, "rows.");
  // What is before the name of a knob is that of a tensor: it may have dots, too.
  std::size_t begin = 0;
  while (begin != std::string_view::npos && own_meaning(name.substr(begin)).empty())
    if (const std::size_t dot = name.find('.', begin); dot == std::string_view::npos) return "";
    else begin = dot + 1;
  const std::string_view tensor = name.substr(0, begin == 0 ? 0 : begin - 1);
  const std::string_view knob = name.substr(begin);
  if (matrix && !rows && tensor.empty()) return std::string(own_meaning(knob));
  if (knob == "rows") return fmt::format("rows of the group of stages that ends with {}", tensor);
  return fmt::format(
      "{}{}{}{}", knob, tensor.empty() ? "" : fmt::format(" of the stage that computes {}", tensor),
      matrix ? ", where operands are matrices" : "", rows ? ", where rows go together" : "");
}

}  // namespace lathe::api
