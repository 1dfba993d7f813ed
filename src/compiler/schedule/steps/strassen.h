#pragma once

#include <string>
#include <tuple>

#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Computes a sum of products from 7/8 of them, by one level of Strassen's algorithm ("Gaussian
// elimination is not optimal", 1969). The block must still have its first loops, and sum
// A[..., row, ..., term, ...] * B[..., term, ..., column, ...] over the terms: each of these three
// iterators is one dimension where it is read, and other iterators may be anywhere else. Each axis
// is halved; of an odd one the second half ends with a 0. Of the halves 7 products are left, each
// of a sum of quarters of A and one of B. New blocks, each with loops of its own named
// BLOCK.iterator, come before it:
//
//   BLOCK.left     the 7 sums of quarters of A
//   BLOCK.right    those of B
//   BLOCK.product  the products of these
//
// The block itself sums products up to quarters of the result. Its loop over rows becomes two,
// NAME.h over halves and NAME.i inside one; so does its loop over columns.
struct Strassen {
  std::string block;
  std::string row, column, term;  // iterators of the block

  static constexpr const char* kName = "strassen";
  static auto fields() {
    return std::tuple{Field{"block", &Strassen::block}, Field{"row", &Strassen::row},
                      Field{"column", &Strassen::column}, Field{"term", &Strassen::term}};
  }
  std::string text() const;
};

// What the block calls the iterator over products, beside the result's own: "q", or that with ".q"
// behind it where an iterator is called so.
std::string product_iter(const std::vector<std::string>& result);

StepResult<void> apply_step(ir::Nest& nest, const Strassen& step);

}  // namespace lathe::schedule
