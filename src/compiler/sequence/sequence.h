// Programs that run one after the other, as one program: one call, one prepare, and one arena for
// what lies between them and what each needs while it runs.
//
// A part whose inputs are all constant is run once, in prepare, and what it makes is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::sequence {

// Elements of another value that follow each other from number `begin` on.
struct Within {
  int value = -1;  // that does not lie within another itself
  std::int64_t begin = 0;
};

// A tensor that parts read: an input of the whole, what parts make, or a constant.
struct Value {
  std::string name;       // at the border of the whole
  bool constant = false;  // an input of the whole that is known when prepare runs
  // Of a constant that lies in the code, row-major: it is no input.
  tensor::Data data = {};
  // At the border of the whole: the elements in the same order, seen as this shape. Empty: as the
  // part has it that makes the value, or reads it first.
  std::vector<std::int64_t> shape = {};
  // Where it is a piece of another, which is stored row-major as it is: no input or output of the
  // whole. A part that reads it reads a piece; a part that makes it makes a piece, and pieces that
  // do not overlap make the other value.
  std::optional<Within> within = {};
};

struct Part {
  std::string name;  // its kernels are called NAME_KERNEL
  flat::Program program;
  // Numbers of values, one for each border. Tensors that are stored row-major may have another
  // shape where they are read than where they are made, and as many elements.
  std::vector<int> inputs, outputs;
};

struct Sequence {
  std::vector<Value> values;
  std::vector<Part> parts;           // in the order in which they run
  std::vector<int> inputs, outputs;  // of the whole, in order; outputs are made by parts
};

struct Joined {
  flat::Program program;
  // Of the arena, in a run: what it takes, the most that is there at a time, and what all would
  // take one beside the other.
  std::int64_t arena_bytes = 0, most_at_once = 0, unshared_bytes = 0;
  // Of the constants, what prepare leaves for runs. What it needs on the way lies behind that.
  std::int64_t kept_constant_bytes = 0;
};
// The error's place is the part: kInvalidArgument where values and parts do not go together.
Result<Joined> join(const Sequence& sequence);

}  // namespace lathe::sequence
