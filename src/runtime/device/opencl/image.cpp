#include "runtime/device/opencl/image.h"

#include <utility>

#include "base/json.h"

namespace lathe::opencl {
namespace {

Result<std::int64_t> local_bytes_from(const Json& json) {
  const std::int64_t bytes = LATHE_TRY(json_int(json, "local_bytes"));
  if (bytes < 0) return fail(ErrorKind::kInvalidArgument, "a size is negative");
  return bytes;
}

Result<Image> read_image(std::span<const std::byte> bytes) {
  const Json json =
      LATHE_TRY(parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  Image image;
  image.source = LATHE_TRY(json_string(json, "source"));
  image.options = LATHE_TRY(json_string(json, "options"));
  for (const Json& extension : LATHE_TRY(json_array(json, "extensions"))) {
    if (!extension.is_string())
      return fail(ErrorKind::kInvalidArgument, "an extension is no text");
    image.extensions.push_back(extension.get<std::string>());
  }
  image.local_bytes = LATHE_TRY(local_bytes_from(json));
  device::Plan plan = LATHE_TRY(device::plan_from_json(json));
  image.inputs = std::move(plan.inputs);
  image.outputs = std::move(plan.outputs);
  image.constant_bytes = plan.constant_bytes;
  image.scratch_bytes = plan.scratch_bytes;
  image.prepare = std::move(plan.prepare);
  image.run = std::move(plan.run);
  return image;
}

}  // namespace

device::Plan plan_of(const Image& image) {
  return {image.inputs,        image.outputs, image.constant_bytes,
          image.scratch_bytes, image.prepare, image.run};
}

std::vector<std::byte> bytes_of(const Image& image) {
  Json json = {{"source", image.source},
               {"options", image.options},
               {"extensions", image.extensions},
               {"local_bytes", image.local_bytes}};
  json.update(device::to_json(plan_of(image)));
  const std::string text = json.dump();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<Image> image_from(std::span<const std::byte> bytes) {
  auto image = read_image(bytes);
  if (image) return image;
  return fail(ErrorKind::kInvalidArgument, "this is no image of an OpenCL program: {}",
              image.error().message);
}

}  // namespace lathe::opencl
