// Values of fields that can be compared and shown, whatever their type.
#pragma once

#include <gtest/gtest.h>

#include "tuner/store/fields.h"
#include "tuner/store/visits.h"

namespace lathe::store {

template <class T>
Json shown(const T& value) {
  return value;
}
inline Json shown(const std::vector<Visit>& value) { return visits_to_json(value); }

template <class AField, class Owner>
Json value_of(const AField& field, const Owner& owner) {
  return with_value(field, owner, [](const auto& value) { return shown(value); });
}

template <class Fields, class Owner>
void expect_equal(const Fields& fields, const Owner& got, const Owner& wanted) {
  for (const auto& field : fields)
    EXPECT_EQ(value_of(field, got), value_of(field, wanted)) << field.column;
}

}  // namespace lathe::store
