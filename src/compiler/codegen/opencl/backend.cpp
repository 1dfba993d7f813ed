#include <chrono>

#include <fmt/format.h>

#include "compiler/codegen/opencl/codegen.h"

namespace lathe::codegen {
namespace {

constexpr int kOpenClVersion = 1;

std::string opencl_version() { return "OpenCL C 1.2"; }

bool is_opencl(const Target& target) { return target.kind() == DeviceKind::kOpenCl; }

Result<Target> resolve_device(const Target& target) {
  return Target{LATHE_TRY(opencl_device(target.as_opencl().name))};
}

// An artifact has the same image: a processor's object carries it.
Result<Object> generate_image(const flat::Program& program, const Target& target,
                              const codegen::Exported&) {
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
Result<std::vector<std::byte>> link_image(const Object& object, const Target&,
                                          const std::vector<std::string>&) {
  return object.bytes;
}

Result<std::string> opencl_source(const flat::Program& program, const Target& target) {
  return LATHE_TRY(opencl_image(program, target.as_opencl())).source;
}

constexpr Listing kOpenClListings[] = {{"source", opencl_source}};

}  // namespace

const Backend& opencl_backend() {
  static constexpr Backend kOpenClBackend = {.name = "opencl",
                                             .version = kOpenClVersion,
                                             .built_with = opencl_version,
                                             .accepts = is_opencl,
                                             .resolve_target = resolve_device,
                                             .generate = generate_image,
                                             .link = link_image,
                                             .carry = nullptr,
                                             .listings = kOpenClListings};
  return kOpenClBackend;
}

}  // namespace lathe::codegen
