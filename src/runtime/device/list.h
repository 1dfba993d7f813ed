// The devices of one kind that this machine has, as their runner tells of them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace lathe::device {

template <class Facts>
struct List {
  std::vector<Facts> facts;
  std::size_t chosen = 0;  // the one that a runner opens
};

template <class Facts>
Json to_json(const List<Facts>& devices) {
  Json list = Json::array();
  for (const Facts& facts : devices.facts) list.push_back(to_json(facts));
  return {{"devices", std::move(list)}, {"chosen", devices.chosen}};
}

template <class Facts>
Result<List<Facts>> list_from_json(const Json& json, Result<Facts> (*facts_from)(const Json&)) {
  List<Facts> devices;
  for (const Json& facts : LATHE_TRY(json_array(json, "devices")))
    devices.facts.push_back(LATHE_TRY(facts_from(facts)));
  const std::uint64_t chosen = LATHE_TRY(json_uint(json, "chosen"));
  if (chosen >= devices.facts.size())
    return fail(ErrorKind::kInvalidArgument, "the chosen device {} is not there", chosen);
  devices.chosen = static_cast<std::size_t>(chosen);
  return devices;
}

}  // namespace lathe::device
