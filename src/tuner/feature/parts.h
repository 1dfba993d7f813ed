// How a row is made of the rows of blocks.
#pragma once

namespace lathe::feature {

// `whole` columns that all blocks share, and then parts of `part` columns, one for each block; a
// part begins with 0 where there is no block. part 0: a row is not made so.
struct Parts {
  int whole = 0, part = 0;
};

}  // namespace lathe::feature
