#include "runtime/device/opencl/image.h"

#include <stdexcept>

#include "base/json.h"

namespace lathe::opencl {

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
      {"prepare", device::to_json(image.prepare)},
      {"run", device::to_json(
                  image.run)}}.dump();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<Image> image_from(std::span<const std::byte> bytes) {
  const auto parsed = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed)
    return fail(ErrorKind::kInvalidArgument, "this is no image of an OpenCL program: {}",
                parsed.error().message);
  const Json& json = *parsed;
  Image image;
  try {
    image = {json.at("source"),
             json.at("options"),
             json.at("extensions"),
             device::sizes_from(json.at("inputs")),
             device::sizes_from(json.at("outputs")),
             device::size_from(json.at("constant_bytes")),
             device::size_from(json.at("scratch_bytes")),
             device::size_from(json.at("local_bytes")),
             device::launches_from(json.at("prepare")),
             device::launches_from(json.at("run"))};
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInvalidArgument, "this is no image of an OpenCL program: {}",
                error.what());
  }
  for (const auto* launches : {&image.prepare, &image.run})
    if (const std::string fault =
            device::fault_of(*launches, image.inputs.size(), image.outputs.size());
        !fault.empty())
      return fail(ErrorKind::kInvalidArgument, "this is no image of an OpenCL program: {}", fault);
  return image;
}

}  // namespace lathe::opencl
