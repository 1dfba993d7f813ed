// Whether the parts of a sequence go together.
#pragma once

#include <vector>

#include "compiler/sequence/sequence.h"

namespace lathe::sequence {

// Who touches a value, by numbers of parts.
struct Uses {
  int maker = -1;      // -1: it is an input of the whole
  int last = -1;       // the last part that reads it, else its maker
  bool read = false;   // by a part
  bool given = false;  // it is an input of the whole, or lies in the code
  bool taken = false;  // it is an output of the whole
  // Known when prepare runs: a constant input, or made of such alone and no output of the whole.
  bool constant = false;
  flat::Border border;  // as its maker stores it, or its first reader wants it
};

// By value. It fails where a value is made twice, not at all, after it is read, of another type or
// layout than a part reads, or changes where a part needs a constant.
Result<std::vector<Uses>> uses_of(const Sequence& sequence);

// Whether the part is run in prepare.
bool is_constant(const Part& part, const std::vector<Uses>& uses);

}  // namespace lathe::sequence
