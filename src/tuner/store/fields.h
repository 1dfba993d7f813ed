// What a field's value is, whatever its type. Internal to this room.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "tuner/store/record.h"

namespace lathe::store {

template <class Owner, class T, class Holder>
auto& member_of(Owner& owner, T Holder::* member) {
  if constexpr (std::is_same_v<Holder, RaceNote>) return owner.race.*member;
  else return owner.*member;
}

// Calls use(value) with the owner's value of the field.
template <class AField, class Owner, class Use>
auto with_value(const AField& field, Owner& owner, Use use) {
  return std::visit([&](auto member) { return use(member_of(owner, member)); }, field.member);
}

template <class T, class Holder>
constexpr bool is_of_race(T Holder::*) {
  return std::is_same_v<Holder, RaceNote>;
}

// Whether a race sets the field.
inline bool is_of_race(const RecordField& field) {
  return std::visit([](auto member) { return is_of_race(member); }, field.member);
}

// What `text` makes of each field, as "a, b, c".
template <class Fields, class Text>
std::string listed(const Fields& fields, const char* separator, const Text& text) {
  std::string all;
  for (const auto& field : fields) all += (all.empty() ? "" : separator) + text(field);
  return all;
}

template <class Fields>
std::string columns_of(const Fields& fields) {
  return listed(fields, ", ", [](const auto& field) { return std::string(field.column); });
}

}  // namespace lathe::store
