// What a step is made of: sizes, layouts, and the list of its fields, which alone tells JSON which
// members there are (trace_json.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "compiler/ir/nest/nest.h"

namespace lathe::schedule {

// A size in a step: a number or, while a rule builds a nest with open sizes, an entry of that
// nest's table. concretize() turns entries into numbers; only concrete steps are stored.
using Size = std::variant<std::int64_t, ir::SizeId>;

struct LayoutItem {
  int dim;
  Size weight;
};

// For the texts of steps: "14", "size3"; "(1/4, 0/1, 1/1)".
std::string text_of(const Size& size);
std::string text_of(const std::vector<LayoutItem>& layout);

// A member of a step and its name in JSON.
template <class Step, class T>
struct Field {
  const char* name;
  T Step::* member;
  // Which steps have it; null: all.
  bool (*when)(const Step&) = nullptr;
  // JSON leaves it out where it has its default.
  bool optional = false;
};
template <class Step, class T>
Field(const char*, T Step::*) -> Field<Step, T>;
template <class Step, class T>
Field(const char*, T Step::*, bool (*)(const Step&)) -> Field<Step, T>;
template <class Step, class T>
Field(const char*, T Step::*, std::nullptr_t, bool) -> Field<Step, T>;

// Calls f(field) for each field of a step.
template <class Step, class F>
void each_field(const F& f) {
  std::apply([&](const auto&... field) { (f(field), ...); }, Step::fields());
}

}  // namespace lathe::schedule
