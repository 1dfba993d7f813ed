// Scalar expressions of one element: the body of a stage in `te` and of a block in the nest.
//
// Nodes are immutable and shared. A Tensor or Buffer is an index into its owner's table; an
// iterator is an index into the iterator list of its stage or block. The variant is closed: a new
// kind of node does not compile until every pass handles it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace lathe::ir {

// offset + sum of coef * iterator. Terms are sorted by iterator, coefficients never 0.
struct AffineTerm {
  int iter;
  std::int64_t coef;
  friend bool operator==(const AffineTerm&, const AffineTerm&) = default;
};
struct Affine {
  std::vector<AffineTerm> terms;
  std::int64_t offset = 0;

  static Affine constant(std::int64_t value) { return {{}, value}; }
  static Affine iter(int iter, std::int64_t coef = 1);
  std::int64_t coef_of(int iter) const;
  friend bool operator==(const Affine&, const Affine&) = default;
};
Affine operator+(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, std::int64_t factor);
// Replaces every iterator of a by substitution[iter].
Affine substitute(const Affine& a, const std::vector<Affine>& substitution);

struct Node;
using Expr = std::shared_ptr<const Node>;

enum class UnaryOp {
  kNeg,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kRsqrt,
  kTanh,
  kErf,
  kSigmoid,
  kFloor,
  kCeil,
  kNot,
  kSin,
  kCos,
  kTan,
  kRound,  // to the nearest integer, the even one of two
  kLog1p,
  kExpm1,
  kSign,    // -1, 0 or 1, and NaN of NaN
  kBitNot,  // of integers
  kIsNan,   // these two yield bool
  kIsInf
};
// Comparisons and logic yield bool. kDiv on integers rounds towards zero; kMod keeps the dividend's
// sign. kBitAnd to kShr take integers: kShr is arithmetic for signed ones, logical for others, and
// a shift by a negative number, or by as many bits as there are, shifts all bits out.
enum class BinaryOp {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  kPow,
  kBitAnd,
  kBitOr,
  kBitXor,
  kShl,
  kShr,
  kLt,
  kLe,
  kEq,
  kNe,
  kAnd,
  kOr
};

// A value of the node's dtype. The parser refuses i64 of 2^53 and more.
struct Const {
  double value;
};
// The iterator's value, as i64.
struct IterValue {
  int iter;
};
// One element of a tensor. With `pad`, an index may lie outside the tensor and reads that value
// there; without it, every index must lie inside (checked when the program is built).
struct Read {
  int tensor;
  std::vector<Affine> index;
  std::optional<double> pad;
};
// One element of a tensor whose place is computed: at indices that are expressions of i64. With
// `pad`, an index may lie outside the tensor and reads that value there; without it, every index
// lies inside as long as inputs keep to their ranges (index_range.h). It may read any element.
// Where all indices are affine there is a Read instead.
struct Lookup {
  int tensor;
  std::vector<Expr> index;
  std::optional<double> pad;
};
struct Unary {
  UnaryOp op;
  Expr x;
};
struct Binary {
  BinaryOp op;
  Expr a, b;
};
struct Select {
  Expr condition, then, otherwise;
};
// Converts x to the node's dtype.
struct Cast {
  Expr x;
};
// True where low <= index < high in every row. Inlining a padded read leaves such a node behind.
struct InRange {
  struct Row {
    Affine index;
    std::int64_t low, high;
  };
  std::vector<Row> rows;
};

struct Node {
  std::variant<Const, IterValue, Read, Unary, Binary, Select, Cast, InRange, Lookup> value;
  Dtype dtype;
};

Expr constant(double value, Dtype dtype);
Expr iter_value(int iter);
Expr read(int tensor, std::vector<Affine> index, Dtype dtype, std::optional<double> pad = {});
// Indices of i64; a Read where all of them are affine.
Expr lookup(int tensor, std::vector<Expr> index, Dtype dtype, std::optional<double> pad = {});
Expr unary(UnaryOp op, Expr x);
Expr binary(BinaryOp op, Expr a, Expr b);  // operands of equal dtype
Expr select(Expr condition, Expr then, Expr otherwise);
Expr cast(Expr x, Dtype dtype);  // x itself if it has that dtype
Expr in_range(std::vector<InRange::Row> rows);

bool yields_bool(UnaryOp op);      // of any operand
const char* name_of(UnaryOp op);   // "exp"; the text form's function names
const char* name_of(BinaryOp op);  // "+", "min"

// The size of arguments up to which sin, cos and tan are as exact as documented: 2^20, and 2^26 for
// f64. Beyond it sin and cos are any numbers between -1 and 1, and tan any number.
double trigonometric_limit(Dtype dtype);

enum class ReduceOp { kNone, kSum, kMax, kMin, kProd };
const char* name_of(ReduceOp op);  // "sum"
// The value that changes nothing: 0 for sums, the lowest for max, the highest for min, 1 for
// products.
double identity_of(ReduceOp op, Dtype dtype);

// Every Read in the expression, also in indices of Lookups, in order of appearance.
std::vector<const Read*> reads_of(const Expr& e);
// Every Lookup, outer ones first.
std::vector<const Lookup*> lookups_of(const Expr& e);
bool looks_up(const Expr& e, int tensor);
// The tensors of every Read and Lookup, each once, in order of appearance.
std::vector<int> tensors_of(const Expr& e);

// By dimension, an affine form that moves with the same iterators as the index, also with those by
// which it reads other tensors. It says how much is touched, as far as that can be said.
std::vector<Affine> rough_rows(const Lookup& lookup);

// The value of an affine form, as an expression.
Expr value_of(const Affine& a);
// An expression of i64 as an affine form and a rest that is added to it; null: there is none.
struct AffineAndRest {
  Affine affine;
  Expr rest;
};
AffineAndRest affine_and_rest(const Expr& e);
// The expression with other values for its iterators; accesses whose indices are no longer affine
// become Lookups. Nothing where an InRange would have to ask for such an index.
std::optional<Expr> with_iterators(const Expr& e, const std::vector<Expr>& values);

// Calls visit(node) for e and every expression in it, outer ones first, in order of appearance.
template <class Visitor>
void for_each_node(const Expr& e, const Visitor& visit);
// Rebuilds e bottom-up. `leaf` maps Read, IterValue and InRange nodes, and Lookups once their
// indices are rebuilt; it returns the node itself to keep it. An unchanged subtree keeps its
// pointer.
template <class Leaf>
Expr rewrite_leaves(const Expr& e, const Leaf& leaf);
bool equal(const Expr& a, const Expr& b);  // compares their structure

template <class Visitor>
void for_each_node(const Expr& e, const Visitor& visit) {
  struct Inner {
    const Visitor& visit;
    void operator()(const Const&) const {}
    void operator()(const IterValue&) const {}
    void operator()(const Read&) const {}
    void operator()(const InRange&) const {}
    void operator()(const Lookup& n) const {
      for (const Expr& index : n.index) for_each_node(index, visit);
    }
    void operator()(const Unary& n) const { for_each_node(n.x, visit); }
    void operator()(const Binary& n) const { for_each_node(n.a, visit), for_each_node(n.b, visit); }
    void operator()(const Select& n) const {
      for_each_node(n.condition, visit), for_each_node(n.then, visit),
          for_each_node(n.otherwise, visit);
    }
    void operator()(const Cast& n) const { for_each_node(n.x, visit); }
  };
  visit(e);
  std::visit(Inner{visit}, e->value);
}

template <class Leaf>
Expr rewrite_leaves(const Expr& e, const Leaf& leaf) {
  struct Visitor {
    const Expr& e;
    const Leaf& leaf;
    Expr operator()(const Const&) const { return e; }
    Expr operator()(const IterValue&) const { return leaf(e); }
    Expr operator()(const Read&) const { return leaf(e); }
    Expr operator()(const InRange&) const { return leaf(e); }
    Expr operator()(const Lookup& n) const {
      std::vector<Expr> index;
      for (const Expr& row : n.index) index.push_back(rewrite_leaves(row, leaf));
      if (index == n.index) return leaf(e);
      return leaf(std::make_shared<const Node>(Node{Lookup{n.tensor, index, n.pad}, e->dtype}));
    }
    Expr operator()(const Unary& n) const {
      Expr x = rewrite_leaves(n.x, leaf);
      return x == n.x ? e : std::make_shared<const Node>(Node{Unary{n.op, x}, e->dtype});
    }
    Expr operator()(const Binary& n) const {
      Expr a = rewrite_leaves(n.a, leaf), b = rewrite_leaves(n.b, leaf);
      if (a == n.a && b == n.b) return e;
      return std::make_shared<const Node>(Node{Binary{n.op, a, b}, e->dtype});
    }
    Expr operator()(const Select& n) const {
      Expr c = rewrite_leaves(n.condition, leaf), t = rewrite_leaves(n.then, leaf),
           o = rewrite_leaves(n.otherwise, leaf);
      if (c == n.condition && t == n.then && o == n.otherwise) return e;
      return std::make_shared<const Node>(Node{Select{c, t, o}, e->dtype});
    }
    Expr operator()(const Cast& n) const {
      Expr x = rewrite_leaves(n.x, leaf);
      return x == n.x ? e : std::make_shared<const Node>(Node{Cast{x}, e->dtype});
    }
  };
  return std::visit(Visitor{e, leaf}, e->value);
}

}  // namespace lathe::ir
