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
    {"parallel", "the block loop that the threads share, V or P, or batch"},
};

}  // namespace

std::string_view knob_meaning(std::string_view name) {
  for (const Meaning& meaning : kMeanings)
    if (meaning.name == name) return meaning.text;
  return "";
}

}  // namespace lathe::api
