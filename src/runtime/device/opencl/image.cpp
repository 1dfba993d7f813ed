#include "runtime/device/opencl/image.h"

#include "base/json.h"

namespace lathe::opencl {
namespace {

constexpr const char* kAreas[] = {"input", "output", "constant", "scratch"};

Json json_of(const Launch& launch) {
  Json arguments = Json::array();
  for (const Argument& a : launch.arguments)
    arguments.push_back({kAreas[static_cast<int>(a.area)], a.position});
  return {{"kernel", launch.kernel},
          {"arguments", std::move(arguments)},
          {"groups", launch.groups},
          {"items", launch.items}};
}

Json json_of(const std::vector<Launch>& launches) {
  Json out = Json::array();
  for (const Launch& launch : launches) out.push_back(json_of(launch));
  return out;
}

Argument argument_from(const Json& json) {
  const auto name = json.at(0).get<std::string>();
  for (int area = 0; area < 4; ++area)
    if (name == kAreas[area]) return {static_cast<Area>(area), json.at(1).get<int>()};
  throw std::invalid_argument("there is no area " + name);
}

std::vector<Launch> launches_from(const Json& json) {
  std::vector<Launch> out;
  for (const Json& each : json) {
    Launch launch{each.at("kernel"), {}, each.at("groups"), each.at("items")};
    for (const Json& argument : each.at("arguments"))
      launch.arguments.push_back(argument_from(argument));
    out.push_back(std::move(launch));
  }
  return out;
}

// The first fault that the types do not show; empty if there is none.
std::string fault_of(const Image& image, const Launch& launch) {
  for (int d = 0; d < 3; ++d)
    if (launch.groups[static_cast<std::size_t>(d)] < 1 ||
        launch.items[static_cast<std::size_t>(d)] < 1)
      return "the grid of " + launch.kernel + " is empty";
  for (const Argument& a : launch.arguments) {
    const bool tensor = a.area == Area::kInput || a.area == Area::kOutput;
    const auto& tensors = a.area == Area::kInput ? image.inputs : image.outputs;
    if (a.position < 0 ||
        (tensor ? std::cmp_greater_equal(a.position, tensors.size()) : a.position != 0))
      return "an argument of " + launch.kernel + " is not there";
  }
  return "";
}

}  // namespace

std::vector<std::byte> bytes_of(const Image& image) {
  const std::string text = Json{
      {"source", image.source},
      {"options", image.options},
      {"extensions", image.extensions},
      {"inputs", image.inputs},
      {"outputs", image.outputs},
      {"constant_bytes", image.constant_bytes},
      {"scratch_bytes", image.scratch_bytes},
      {"local_bytes", image.local_bytes},
      {"prepare", json_of(image.prepare)},
      {"run",
       json_of(image.run)}}.dump();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<Image> image_from(std::span<const std::byte> bytes) {
  Image image;
  try {
    const Json json = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                                  reinterpret_cast<const char*>(bytes.data()) + bytes.size());
    image = {json.at("source"),
             json.at("options"),
             json.at("extensions"),
             json.at("inputs"),
             json.at("outputs"),
             json.at("constant_bytes"),
             json.at("scratch_bytes"),
             json.at("local_bytes"),
             launches_from(json.at("prepare")),
             launches_from(json.at("run"))};
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInvalidArgument, "this is no image of an OpenCL program: {}",
                error.what());
  }
  for (const auto* launches : {&image.prepare, &image.run})
    for (const Launch& launch : *launches)
      if (const std::string fault = fault_of(image, launch); !fault.empty())
        return fail(ErrorKind::kInvalidArgument, "this is no image of an OpenCL program: {}",
                    fault);
  return image;
}

}  // namespace lathe::opencl
