// What travels of a struct, as a text that changes with the list of its members.
#pragma once

#include <fmt/format.h>

#include <string>

#include "runtime/runner/wire.h"

namespace lathe::runner {

template <class T>
std::string schema_text() {
  if constexpr (Struct<T>) {
    std::string text;
    each_field<T>([&](auto field) {
      text +=
          (text.empty() ? "" : " ") + schema_text<typename decltype(type_of_member(field))::type>();
    });
    return "(" + text + ")";
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("enum{}", std::to_underlying(kLastOf<T>));
  } else if constexpr (std::is_same_v<T, bool>) {
    return "bool";
  } else if constexpr (Number<T>) {
    return fmt::format("{}{}",
                       std::is_floating_point_v<T> ? "f"
                       : std::is_signed_v<T>       ? "i"
                                                   : "u",
                       8 * sizeof(T));
  } else if constexpr (Name<T>) {
    return fmt::format("name{}", sizeof(T));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text";
  } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
    return "bytes";
  } else {
    return schema_text<typename T::value_type>() + "*";
  }
}

}  // namespace lathe::runner
