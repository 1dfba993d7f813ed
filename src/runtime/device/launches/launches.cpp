#include "runtime/device/launches/launches.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace lathe::device {
namespace {

constexpr const char* kAreas[] = {"input", "output", "constant", "scratch"};
constexpr const char* kGroupBytes = "group_bytes";  // left out where there are none

Json json_of(const Launch& launch) {
  Json arguments = Json::array();
  for (const Argument& a : launch.arguments)
    arguments.push_back({kAreas[static_cast<int>(a.area)], a.position});
  Json json = {{"kernel", launch.kernel},
               {"arguments", std::move(arguments)},
               {"groups", launch.groups},
               {"items", launch.items}};
  if (launch.group_bytes != 0) json[kGroupBytes] = launch.group_bytes;
  return json;
}

// JSON's library would round a fraction, and a number that is too large is undefined for it.
std::int64_t whole_number(const Json& json) {
  const bool whole = json.is_number_unsigned()
                         ? std::in_range<std::int64_t>(json.get<std::uint64_t>())
                         : json.is_number_integer();
  if (!whole) throw std::invalid_argument("a number is not whole, or too large");
  return json.get<std::int64_t>();
}

std::array<std::int64_t, 3> grid_from(const Json& json) {
  if (json.size() != 3) throw std::invalid_argument("a grid has not three dimensions");
  return {whole_number(json.at(0)), whole_number(json.at(1)), whole_number(json.at(2))};
}

Argument argument_from(const Json& json) {
  const auto name = json.at(0).get<std::string>();
  const std::int64_t position = size_from(json.at(1));
  if (!std::in_range<int>(position)) throw std::invalid_argument("a position is too large");
  for (int area = 0; area < 4; ++area)
    if (name == kAreas[area]) return {static_cast<Area>(area), static_cast<int>(position)};
  throw std::invalid_argument("there is no area " + name);
}

bool is_there(const Argument& a, std::size_t inputs, std::size_t outputs) {
  switch (a.area) {
    case Area::kInput: return a.position >= 0 && std::cmp_less(a.position, inputs);
    case Area::kOutput: return a.position >= 0 && std::cmp_less(a.position, outputs);
    case Area::kConstant:
    case Area::kScratch: return a.position == 0;
  }
  return false;
}

}  // namespace

Json to_json(const std::vector<Launch>& launches) {
  Json out = Json::array();
  for (const Launch& launch : launches) out.push_back(json_of(launch));
  return out;
}

std::int64_t size_from(const Json& json) {
  const std::int64_t size = whole_number(json);
  if (size < 0) throw std::invalid_argument("a size is negative");
  return size;
}

std::vector<std::int64_t> sizes_from(const Json& json) {
  std::vector<std::int64_t> out;
  for (const Json& size : json) out.push_back(size_from(size));
  return out;
}

std::vector<Launch> launches_from(const Json& json) {
  std::vector<Launch> out;
  for (const Json& each : json) {
    Launch launch{.kernel = each.at("kernel"),
                  .arguments = {},
                  .groups = grid_from(each.at("groups")),
                  .items = grid_from(each.at("items"))};
    for (const Json& argument : each.at("arguments"))
      launch.arguments.push_back(argument_from(argument));
    if (each.contains(kGroupBytes)) launch.group_bytes = size_from(each.at(kGroupBytes));
    out.push_back(std::move(launch));
  }
  return out;
}

std::string fault_of(const std::vector<Launch>& launches, std::size_t inputs, std::size_t outputs) {
  const auto empty = [](std::int64_t count) { return count < 1; };
  for (const Launch& launch : launches) {
    if (std::ranges::any_of(launch.groups, empty) || std::ranges::any_of(launch.items, empty))
      return "the grid of " + launch.kernel + " is empty";
    for (const Argument& a : launch.arguments)
      if (!is_there(a, inputs, outputs)) return "an argument of " + launch.kernel + " is not there";
  }
  return "";
}

}  // namespace lathe::device
