// What tests of scans and recurrences try: steps that keep what is computed.
#pragma once

#include "unit/schedule/same.h"

namespace lathe::schedule {

inline void expect_kept(std::string_view text, const Trace& trace) {
  ir::Nest nest = nest_of(text);
  must_apply(nest, trace);
  expect_same(program(text), nest);
}

inline Split split(const char* loop, std::int64_t factor, ir::Tail tail = ir::Tail::kPeel) {
  return Split{loop, factor, std::string(loop) + ".o", std::string(loop) + ".i", tail};
}
inline Annotate kind(const char* loop, ir::LoopKind kind) {
  return Annotate{.loop = loop, .kind = kind};
}

}  // namespace lathe::schedule
