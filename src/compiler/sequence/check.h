// Whether the parts of a sequence go together.
#pragma once

#include <vector>

#include "compiler/sequence/sequence.h"

namespace lathe::sequence {

// Who touches a value, by numbers of parts.
struct Uses {
  int maker = -1;      // the first, where it is made in pieces; -1: it is an input of the whole
  int last = -1;       // the last part that reads it, else its maker
  bool read = false;   // by a part
  bool given = false;  // it is an input of the whole, or lies in the code
  bool taken = false;  // it is an output of the whole
  // Known when prepare runs: a constant input, or made of such alone, no output of the whole and no
  // piece.
  bool constant = false;
  flat::Border border;  // as its maker stores it, or its first reader wants it
};

// By value; what lies within another has a border alone, the rest is told of that. It fails where
// an element is made twice, not at all, after it is read, of another type or layout than a part
// reads, or changes where a part needs a constant.
Result<std::vector<Uses>> uses_of(const Sequence& sequence);

// The value itself, or what it lies within.
int whole_of(const Sequence& sequence, int value);

// Whether the part is run in prepare.
bool is_constant(const Sequence& sequence, const Part& part, const std::vector<Uses>& uses);

}  // namespace lathe::sequence
