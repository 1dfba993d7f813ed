#include "runtime/device/launch.h"

#include <stdexcept>
#include <utility>

namespace lathe::device {
namespace {

constexpr const char* kAreas[] = {"input", "output", "constant", "scratch"};

Json json_of(const std::vector<Launch>& launches) {
  Json out = Json::array();
  for (const Launch& launch : launches) {
    Json arguments = Json::array();
    for (const Argument& a : launch.arguments)
      arguments.push_back({kAreas[static_cast<int>(a.area)], a.position});
    out.push_back({{"kernel", launch.kernel},
                   {"arguments", std::move(arguments)},
                   {"groups", launch.groups},
                   {"items", launch.items}});
  }
  return out;
}

// JSON's library would round a fraction, and a number that is too large is undefined for it.
std::int64_t whole_number(const Json& json) {
  const bool whole = json.is_number_unsigned()
                         ? std::in_range<std::int64_t>(json.get<std::uint64_t>())
                         : json.is_number_integer();
  if (!whole) throw std::invalid_argument("a number is not whole, or too large");
  return json.get<std::int64_t>();
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

std::vector<Launch> launches_from(const Json& json) {
  std::vector<Launch> out;
  for (const Json& each : json) {
    Launch launch{each.at("kernel"), {}, grid_from(each.at("groups")), grid_from(each.at("items"))};
    for (const Json& argument : each.at("arguments"))
      launch.arguments.push_back(argument_from(argument));
    out.push_back(std::move(launch));
  }
  return out;
}

// The first fault that the types do not show; empty if there is none.
std::string fault_of(const Plan& plan, const Launch& launch) {
  for (std::size_t d = 0; d < 3; ++d)
    if (launch.groups[d] < 1 || launch.items[d] < 1)
      return "the grid of " + launch.kernel + " is empty";
  for (const Argument& a : launch.arguments) {
    const bool tensor = a.area == Area::kInput || a.area == Area::kOutput;
    const auto& tensors = a.area == Area::kInput ? plan.inputs : plan.outputs;
    if (a.position < 0 ||
        (tensor ? std::cmp_greater_equal(a.position, tensors.size()) : a.position != 0))
      return "an argument of " + launch.kernel + " is not there";
  }
  return "";
}

}  // namespace

Json to_json(const Plan& plan) {
  return {{"inputs", plan.inputs},
          {"outputs", plan.outputs},
          {"constant_bytes", plan.constant_bytes},
          {"scratch_bytes", plan.scratch_bytes},
          {"prepare", json_of(plan.prepare)},
          {"run", json_of(plan.run)}};
}

Result<Plan> plan_from_json(const Json& json) {
  Plan plan;
  try {
    plan = {sizes_from(json.at("inputs")),        sizes_from(json.at("outputs")),
            size_from(json.at("constant_bytes")), size_from(json.at("scratch_bytes")),
            launches_from(json.at("prepare")),    launches_from(json.at("run"))};
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInvalidArgument, "{}", error.what());
  }
  for (const auto* launches : {&plan.prepare, &plan.run})
    for (const Launch& launch : *launches)
      if (const std::string fault = fault_of(plan, launch); !fault.empty())
        return fail(ErrorKind::kInvalidArgument, "{}", fault);
  return plan;
}

}  // namespace lathe::device
