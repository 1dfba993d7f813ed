// The text form of index expressions.
//
//   workload    := item ((';' | newline) item)*
//   item        := declaration | stage | setting
//   declaration := ['const'] ['output'] NAME ':' DTYPE '[' size (',' size)* ']'
//                  ['as' '[' size (',' size)* ']']   callers see neighbouring dimensions merged
//                  ['in' number '..' number]         all elements lie between these
//                  ['=' '{' number (',' number)* '}']
//   stage       := NAME '[' iter (',' iter)* ']' '=' expr
//   setting     := 'layout' ('plain' | 'free') | 'max_error' number | 'name' NAME
//                | 'algorithm' NAME | 'numerics' ('componentwise' | 'local' | 'normwise')
//   iter        := NAME [':' size]                 C[i,j], C[y:112,x:112]
//   expr        := the usual operators (+ - * / % << >> & ^ | < <= > >= == != && || ! ~),
//                  '(' expr ')', numbers, 'inf', 'true', 'false', an iterator (its value, i64),
//                  FUNCTION '(' expr, ... ')'      exp expm1 log log1p sqrt rsqrt sin cos tan
//                                                  tanh erf sigmoid abs sign floor ceil round
//                                                  isnan isinf min max pow relu
//                  'select' '(' condition ',' then ',' else ')'
//                  DTYPE '(' expr ')'              a cast
//                  REDUCTION '(' iter, ... ')' term   sum max min prod; takes everything up to the
//                                                  next + or - or looser operator at its level
//                  NAME '[' index, ... ['else' number] ']'   a read; with `else` indices may leave
//                                                  the tensor
//   index       := expr of integers; most often affine in the iterators: 2*y + r - 1
//
// Examples: C[i,j] = sum(k) A[k,i] * B[k,j]
//           Y[n,o,y:56,x:56] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]
//           S[i] = exp(A[i] - (max(j:8) A[j]))
//
// A reduction inside a larger expression becomes a stage of its own (NAME_acc) over the iterators
// it depends on. Iterators without a size take the largest with which every read without `else`
// stays inside its tensor; tensors that one indexes alone must agree on theirs, and where an index
// has several iterators, as 2*y+r, those of sums that index a tensor alone keep their size, and the
// others give way. Where no input has a shape, inputs are as large as what is read of them. Tensors
// that no other stage reads are outputs, and any declared with 'output'. '#' starts a comment.
//
// An index that is not affine, as y*35/6 + r, min(i, 7) or I[n], has numbers and iterators of i64,
// and what it reads of other integer types is cast to that. Without `else` it must be known to stay
// inside (check_lookup.cpp).
//
// Types: numbers take the type of the other operand, everything else must agree (types.h has the
// rules). Where an expression holds a reduction, what it reads of f16 and bf16 is widened to f32,
// of i8, u8, i16 and u16 to i32, and reductions accumulate in that type; an output that is not
// declared has the type of the operands (of the accumulator for sums of integers), by a stage of
// its own if that is narrower. Inside a cast nothing is widened, and a cast as the whole body of a
// reduction chooses its accumulator: sum(k) f16(A[k] * B[k]). The least and largest of iterators
// and numbers are found in i32 where all of them fit (narrowing.h).
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "compiler/te/workload.h"

namespace lathe::te {

// What the command line adds to an expression that has no declarations.
struct Declarations {
  std::map<std::string, std::vector<std::int64_t>, std::less<>> shapes;
  std::map<std::string, Dtype, std::less<>> dtypes;  // default f32
  std::vector<std::string> constants;
  std::optional<Dtype> dtype = std::nullopt;  // of the inputs whose type nothing else tells
  // Of inputs, in place of what the text says; ends are rounded to the type.
  std::map<std::string, InputRange, std::less<>> ranges = {};
};

// The error's place is "line L, column C"; its message tells what was expected or is wrong there.
Result<Workload> parse_workload(std::string_view text, const Declarations& declarations = {});

// "0..1": a range of inputs of this type.
Result<InputRange> parse_range(std::string_view text, Dtype dtype);

// Text that stands alone: declarations, then stages with every extent.
// parse_workload(print_workload(p)) equals p.
std::string print_workload(const Workload& workload);

}  // namespace lathe::te
