// How the row of a program is made of its blocks.
#pragma once

namespace lathe::feature {

// `whole` columns that all blocks share, and then `block` columns for each block, the first of
// which is 0 where there is none. block 0: a row is not made so.
struct BlockRow {
  int whole = 0, block = 0;
};

}  // namespace lathe::feature
