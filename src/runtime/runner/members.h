// Counts the members of a struct, so that a list of them can be held to be whole.
#pragma once

#include <cstddef>
#include <type_traits>

namespace lathe::runner {

// Stands for a value of any type where it is not evaluated.
template <class Owner>
struct AnyMember {
  template <class T>
    requires(!std::is_same_v<T, Owner>)
  operator T() const;
};

// T is an aggregate without arrays of C and without bases.
template <class T, class... Members>
consteval std::size_t count_members() {
  static_assert(std::is_aggregate_v<T>);
  if constexpr (requires { T{Members()..., AnyMember<T>()}; })
    return count_members<T, Members..., AnyMember<T>>();
  else return sizeof...(Members);
}

}  // namespace lathe::runner
