#include <chrono>

#include <fmt/format.h>

#include "compiler/codegen/opencl/codegen.h"

namespace lathe::codegen {
namespace {

constexpr int kVersion = 1;

std::string built_with() { return "OpenCL C 1.2"; }

bool accepts(const Target& target) { return target.kind() == DeviceKind::kOpenCl; }

Result<Target> resolve_target(const Target& target) {
  return Target{LATHE_TRY(opencl_device(target.as_opencl().name))};
}

// An artifact has the same image: a processor's object carries it.
Result<Object> generate(const flat::Program& program, const Target& target, const std::string&) {
  const auto start = std::chrono::steady_clock::now();
  const opencl::Image image = LATHE_TRY(opencl_image(program, target.as_opencl()));
  Object object;
  object.bytes = opencl::bytes_of(image);
  object.code_bytes = static_cast<std::int64_t>(image.source.size());
  object.emit_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return object;
}

// The image is complete.
Result<std::vector<std::byte>> link(const Object& object, const Target&,
                                    const std::vector<std::string>&) {
  return object.bytes;
}

Result<std::string> source(const flat::Program& program, const Target& target) {
  return LATHE_TRY(opencl_image(program, target.as_opencl())).source;
}

constexpr Listing kListings[] = {{"source", source}};

}  // namespace

const Backend& opencl_backend() {
  static constexpr Backend kBackend = {.name = "opencl",
                                       .version = kVersion,
                                       .built_with = built_with,
                                       .accepts = accepts,
                                       .resolve_target = resolve_target,
                                       .generate = generate,
                                       .link = link,
                                       .carry = nullptr,
                                       .listings = kListings};
  return kBackend;
}

}  // namespace lathe::codegen
