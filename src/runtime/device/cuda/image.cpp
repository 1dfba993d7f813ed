#include "runtime/device/cuda/image.h"

#include <stdexcept>
#include <utility>

#include "base/bytes.h"
#include "base/json.h"

namespace lathe::cuda {
namespace {

constexpr std::string_view kMark = "lathe cuda image 1\n";

Json json_of(const std::vector<Resources>& resources) {
  Json out = Json::array();
  for (const Resources& r : resources)
    out.push_back({{"kernel", r.kernel},
                   {"registers", r.registers},
                   {"spilled_bytes", r.spilled_bytes},
                   {"shared_bytes", r.shared_bytes}});
  return out;
}

Result<std::vector<Resources>> resources_from(const Json& json) {
  std::vector<Resources> out;
  for (const Json& each : json)
    out.push_back({LATHE_TRY(json_string(each, "kernel")),
                   static_cast<int>(LATHE_TRY(json_int(each, "registers"))),
                   LATHE_TRY(json_int(each, "spilled_bytes")),
                   LATHE_TRY(json_int(each, "shared_bytes"))});
  return out;
}

Result<std::vector<std::int64_t>> shared_from(const Json& json, std::size_t launches) {
  std::vector<std::int64_t> out;
  for (const Json& bytes : json) {
    if (!bytes.is_number_integer() || bytes.get<std::int64_t>() < 0)
      return fail(ErrorKind::kInvalidArgument, "a size of shared memory is none");
    out.push_back(bytes.get<std::int64_t>());
  }
  if (!out.empty() && out.size() != launches)
    return fail(ErrorKind::kInvalidArgument, "{} launches have {} sizes of shared memory", launches,
                out.size());
  return out;
}

// Takes a text with its length off the front.
bool take_text(std::string_view& rest, std::string& text) {
  std::uint64_t length = 0;
  if (!take_value(rest, length) || length > rest.size()) return false;
  text = rest.substr(0, length);
  rest.remove_prefix(length);
  return true;
}

void append_text(std::string& bytes, std::string_view text) {
  append_value(bytes, static_cast<std::uint64_t>(text.size()));
  bytes += text;
}

Result<Image> read_image(std::string_view rest) {
  std::string header;
  Image image;
  if (!rest.starts_with(kMark)) return fail(ErrorKind::kInvalidArgument, "it begins otherwise");
  rest.remove_prefix(kMark.size());
  if (!take_text(rest, header) || !take_text(rest, image.ptx) || !take_text(rest, image.code) ||
      !rest.empty())
    return fail(ErrorKind::kInvalidArgument, "it is cut off, or too long");
  const Json json = LATHE_TRY(parse_json(header));
  image.architecture = LATHE_TRY(json_string(json, "architecture"));
  image.resources = LATHE_TRY(resources_from(LATHE_TRY(json_array(json, "resources"))));
  image.plan = LATHE_TRY(device::plan_from_json(LATHE_TRY(json_member(json, "plan"))));
  image.shared_bytes = LATHE_TRY(shared_from(LATHE_TRY(json_array(json, "shared_bytes")),
                                             image.plan.prepare.size() + image.plan.run.size()));
  if (image.ptx.empty() || image.code.empty() != image.architecture.empty())
    return fail(ErrorKind::kInvalidArgument, "its code is not whole");
  return image;
}

}  // namespace

// A mark; then the description as JSON, the PTX and the machine code, each after its length.
std::vector<std::byte> bytes_of(const Image& image) {
  std::string all(kMark);
  append_text(all, Json{{"architecture", image.architecture},
                        {"resources", json_of(image.resources)},
                        {"shared_bytes", image.shared_bytes},
                        {"plan", device::to_json(image.plan)}}
                       .dump());
  append_text(all, image.ptx);
  append_text(all, image.code);
  const auto bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

Result<Image> image_from(std::span<const std::byte> bytes) {
  auto image = read_image({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (image) return image;
  return fail(ErrorKind::kInvalidArgument, "this is no image of a CUDA program: {}",
              image.error().message);
}

}  // namespace lathe::cuda
