#pragma once

#include <string>
#include <tuple>

#include "base/json.h"
#include "base/result.h"
#include "compiler/schedule/field.h"
#include "compiler/schedule/step_error.h"

namespace lathe::schedule {

// Sets an attribute of a loop.
struct Annotate {
  std::string loop;
  enum class What : std::uint8_t { kKind, kTail, kPrefetch } what = What::kKind;
  // kKind: vectorize, unroll, parallel, serial, or a GPU binding.
  ir::LoopKind kind = ir::LoopKind::kSerial;
  ir::Tail tail = ir::Tail::kPeel;  // kTail
  std::string buffer;               // kPrefetch: for this buffer's reads inside the loop,
  Size bytes = std::int64_t{0};     // this many bytes ahead; 0 turns it off

  static constexpr const char* kName = "annotate";
  static auto fields() {
    using A = Annotate;
    return std::tuple{
        Field{"loop", &A::loop},
        Field{"kind", &A::kind, +[](const A& a) { return a.what == What::kKind; }},
        Field{"tail", &A::tail, +[](const A& a) { return a.what == What::kTail; }},
        Field{"prefetch", &A::buffer, +[](const A& a) { return a.what == What::kPrefetch; }},
        Field{"bytes", &A::bytes, +[](const A& a) { return a.what == What::kPrefetch; }}};
  }
  // Which of them JSON has decides what is set.
  Status choose(const Json& json) {
    if (json.contains("kind")) what = What::kKind;
    else if (json.contains("tail")) what = What::kTail;
    else if (json.contains("prefetch")) what = What::kPrefetch;
    else
      return fail(ErrorKind::kInvalidArgument,
                  "annotate sets nothing; give it \"kind\", \"tail\" or \"prefetch\"");
    return {};
  }
  std::string text() const;
};

StepResult<void> apply_step(ir::Nest& nest, const Annotate& step);

}  // namespace lathe::schedule
