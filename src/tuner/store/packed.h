// The compact form of what is bulky in a record. A trace or a configuration is a list of ids of
// texts in `names`: one for each step, or for each knob with its value, most of which repeat from
// trial to trial. Visits are times as differences of whole numbers. Internal to this room.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tuner/store/record.h"

namespace lathe::store {

// The id of a text in `names`.
using NameId = std::function<Result<std::int64_t>(std::string_view text)>;
// What the text of an id in `names` says; it lives as long as the store.
using PartOf = std::function<Result<const Json*>(std::int64_t id)>;

// An array, or an object. Anything else has no compact form: then the result is empty.
Result<std::string> packed(const Json& json, const NameId& id_of);
Result<Json> unpacked_json(std::string_view bytes, const PartOf& part_of);

std::string packed(const std::vector<Visit>& visits);
Result<std::vector<Visit>> unpacked_visits(std::string_view bytes);

// The same numbers, bit by bit, come back. Those of a visit need three or four bytes each where
// they are decimals of few digits or differences of a clock, and eight in general.
void append_numbers(std::string& bytes, std::span<const double> numbers);
bool take_numbers(std::string_view& bytes, std::vector<double>& numbers);

// Seven bits a byte, the lowest first.
void append_whole(std::string& bytes, std::uint64_t value);
bool take_whole(std::string_view& bytes, std::uint64_t& value);

}  // namespace lathe::store
