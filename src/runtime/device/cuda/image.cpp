#include "runtime/device/cuda/image.h"

#include <stdexcept>

#include "base/json.h"

namespace lathe::cuda {
namespace {

constexpr const char* kNoImage = "this is no image of a CUDA program";

Image image_of(const Json& json) {
  Image image;
  image.ptx = json.at("ptx").get<std::string>();
  image.architecture = static_cast<int>(device::size_from(json.at("architecture")));
  image.inputs = device::sizes_from(json.at("inputs"));
  image.outputs = device::sizes_from(json.at("outputs"));
  image.constant_bytes = device::size_from(json.at("constant_bytes"));
  image.scratch_bytes = device::size_from(json.at("scratch_bytes"));
  image.prepare = device::launches_from(json.at("prepare"));
  image.run = device::launches_from(json.at("run"));
  for (const auto* launches : {&image.prepare, &image.run})
    if (const std::string fault =
            device::fault_of(*launches, image.inputs.size(), image.outputs.size());
        !fault.empty())
      throw std::invalid_argument(fault);
  return image;
}

}  // namespace

std::vector<std::byte> bytes_of(const Image& image) {
  const std::string text = Json{
      {"ptx", image.ptx},
      {"architecture", image.architecture},
      {"inputs", image.inputs},
      {"outputs", image.outputs},
      {"constant_bytes", image.constant_bytes},
      {"scratch_bytes", image.scratch_bytes},
      {"prepare", device::to_json(image.prepare)},
      {"run", device::to_json(
                  image.run)}}.dump();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<Image> image_from(std::span<const std::byte> bytes) {
  const auto parsed = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed) return fail(ErrorKind::kInvalidArgument, "{}: {}", kNoImage, parsed.error().message);
  try {
    return image_of(*parsed);
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInvalidArgument, "{}: {}", kNoImage, error.what());
  }
}

}  // namespace lathe::cuda
