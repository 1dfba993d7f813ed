// The elements of a tensor by iterators, with some of its dimensions reduced.
#pragma once

#include "compiler/ops/values.h"

namespace lathe::ops {

class IndexTexts {
 public:
  // `over`: the dimensions that are reduced, in order.
  IndexTexts(std::vector<std::int64_t> shape, std::vector<std::size_t> over)
      : shape_(std::move(shape)), over_(std::move(over)) {}

  // Index of an element: "i0,i1,i2".
  std::string whole() const;
  // Index of a term of a reduction over dimension 1: "i0,k1,i2"; the iterators of these: "k1".
  std::string term() const;
  std::string over() const;
  // Index of the first of them: "i0,0,i2".
  std::string first() const;
  // Index of a reduction's result, and its iterators: "i0,i2"; "0" and "one:1" where nothing is
  // left. With `keep`, reduced dimensions stay as 1: "i0,i1:1,i2".
  std::string kept() const;
  std::string kept_iters(bool keep = false) const;
  std::vector<std::int64_t> kept_shape(bool keep = false) const;
  // Index along the dimensions that are reduced: "i1".
  std::string along() const;
  std::vector<std::int64_t> along_shape() const;
  // The place of a term, counted over all dimensions that are reduced: "7*k0 + k1".
  std::string place() const;
  std::int64_t terms() const;

  const std::vector<std::int64_t>& shape() const { return shape_; }

 private:
  bool reduced(std::size_t dimension) const;

  std::vector<std::int64_t> shape_;
  std::vector<std::size_t> over_;
};

}  // namespace lathe::ops
