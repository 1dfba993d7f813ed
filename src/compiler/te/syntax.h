// The text form as parsed: names are not yet resolved, types and extents not yet known.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/expr/expr.h"
#include "compiler/te/lexer.h"
#include "compiler/te/workload.h"

namespace lathe::te {

struct ExprSyntax;
using Ast = std::unique_ptr<ExprSyntax>;

struct IterSyntax {
  std::string name;
  std::optional<std::int64_t> size;
  Place place;
  int id = -1;  // number in the stage's list of iterators, set by resolve()
};

struct NumberSyntax {
  double value;
};
struct TruthSyntax {
  bool value;
};
// An iterator's value; resolve() finds the iterator.
struct NameSyntax {
  std::string name;
  int iter = -1;
};
struct ReadSyntax {
  std::string tensor;
  std::vector<Ast> index;
  std::optional<double> pad;
  // By index: its form over the stage's iterators, where it is affine; set by resolve().
  std::vector<std::optional<ir::Affine>> affine;
  // Of the tensor that the stage writes, outside of reductions; set by resolve().
  bool own = false;
};
struct UnarySyntax {
  ir::UnaryOp op;
  Ast x;
};
struct BinarySyntax {
  ir::BinaryOp op;
  Ast a, b;
};
struct SelectSyntax {
  Ast condition, then, otherwise;
};
struct CastSyntax {
  Dtype dtype;
  Ast x;
};
struct ReduceSyntax {
  ir::ReduceOp op;
  std::vector<IterSyntax> iters;
  Ast body;
};

struct ExprSyntax {
  std::variant<NumberSyntax, TruthSyntax, NameSyntax, ReadSyntax, UnarySyntax, BinarySyntax,
               SelectSyntax, CastSyntax, ReduceSyntax>
      value;
  Place place;
  int height = 1;  // bounded by the parser, so that every later pass may recurse
};

struct DeclarationSyntax {
  bool constant = false, output = false;
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape, border_shape;
  std::optional<std::vector<double>> literal;
  std::optional<InputRange> range;
  Place place;
};
struct StageSyntax {
  std::string name;
  std::vector<IterSyntax> iters;
  Ast body;
  Place place;
};

struct WorkloadSyntax {
  std::vector<DeclarationSyntax> declarations;
  std::vector<StageSyntax> stages;
  std::optional<double> max_error;
  std::string algorithm;
  std::optional<Numerics> numerics;
  std::optional<bool> free_layout;
  std::string name;
  // Every name in the text: new names must differ from them.
  std::set<std::string, std::less<>> names;
};

Result<WorkloadSyntax> parse_syntax(std::string_view text);
// LOW..HIGH
Result<InputRange> parse_range_syntax(std::string_view text);

}  // namespace lathe::te
