#include "runtime/device/opencl/program.h"

#include <algorithm>
#include <limits>

#include "base/split.h"

namespace lathe::opencl {
namespace {

std::int64_t items_in_group(const Launch& launch) {
  std::int64_t product = 1;
  for (const std::int64_t items : launch.items)
    if (__builtin_mul_overflow(product, items, &product))
      return std::numeric_limits<std::int64_t>::max();
  return product;
}

Status check_grid(const Launch& launch, const Facts& device) {
  if (items_in_group(launch) > device.group_size)
    return fail(ErrorKind::kUnsupported, "a group of {} has {} work items, and {} allows {}",
                launch.kernel, items_in_group(launch), device.name, device.group_size);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t most = d < device.item_sizes.size() ? device.item_sizes[d] : 1;
    if (launch.items[d] > most)
      return fail(ErrorKind::kUnsupported,
                  "a group of {} has {} work items along {}, and {} allows {}", launch.kernel,
                  launch.items[d], "xyz"[d], device.name, most);
    std::int64_t whole = 0;
    if (__builtin_mul_overflow(launch.groups[d], launch.items[d], &whole))
      return fail(ErrorKind::kUnsupported, "the grid of {} has too many work items along {}",
                  launch.kernel, "xyz"[d]);
  }
  return {};
}

Status check_buffers(const Image& image, const Facts& device) {
  std::vector<std::int64_t> sizes = image.inputs;
  sizes.insert(sizes.end(), image.outputs.begin(), image.outputs.end());
  sizes.insert(sizes.end(), {image.constant_bytes, image.scratch_bytes});
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0)
      return fail(ErrorKind::kInvalidArgument, "the program has a buffer of {} bytes", size);
    if (size > device.allocation_bytes)
      return fail(ErrorKind::kUnsupported, "the program has a buffer of {} bytes, and {} allows {}",
                  size, device.name, device.allocation_bytes);
    if (__builtin_add_overflow(total, size, &total) || total > device.global_bytes)
      return fail(ErrorKind::kUnsupported,
                  "the program's buffers have more bytes together than the {} of {}",
                  device.global_bytes, device.name);
  }
  return {};
}

// What a compiler said first that is an error, else what it said first.
std::string first_line(const std::string& log) {
  std::string first;
  for (const std::string& line : split(log, '\n')) {
    if (line.contains("error")) return line;
    if (first.empty() && line.find_first_not_of(" \t\r") != std::string::npos) first = line;
  }
  return first.empty() ? "it did not say why" : first;
}

std::string log_of(const Device& device, Built built) {
  std::size_t size = 0;
  const Api& api = device.api();
  if (api.GetProgramBuildInfo(built, device.id(), kBuildLog, 0, nullptr, &size) != 0) return {};
  std::string log(size, '\0');
  if (api.GetProgramBuildInfo(built, device.id(), kBuildLog, size, log.data(), nullptr) != 0)
    return {};
  return std::string(log.c_str());
}

Owned<Built> own_program(const Api& api, Built built) {
  return {built, [release = api.ReleaseProgram](Built b) {
            if (b != nullptr) release(b);
          }};
}

}  // namespace

Status check_fits(const Image& image, const Facts& device) {
  for (const std::string& extension : image.extensions)
    if (!device.has(extension))
      return fail(ErrorKind::kUnsupported, "the program needs the extension {}, which {} lacks",
                  extension, device.name);
  if (image.local_bytes > device.local_bytes)
    return fail(ErrorKind::kUnsupported,
                "the program needs {} bytes of local memory, and {} has {}", image.local_bytes,
                device.name, device.local_bytes);
  for (const auto* launches : {&image.prepare, &image.run})
    for (const Launch& launch : *launches) LATHE_TRY_STATUS(check_grid(launch, device));
  return check_buffers(image, device);
}

Result<std::unique_ptr<Program>> Program::build(Device& device, const Image& image,
                                                const BinaryCache& cache) {
  LATHE_TRY_STATUS(check_fits(image, device.facts()));
  std::unique_ptr<Program> program(new Program(device));
  const std::string key = device.facts().text() + '\0' + image.options + '\0' + image.source;
  if (const auto binary = cache.find(key)) {
    program->from_cache_ = program->take_binary(*binary, image.options);
  }
  if (!program->from_cache_) {
    LATHE_TRY_STATUS(program->compile(image, cache));
    if (const std::string binary = program->binary(); !binary.empty()) cache.store(key, binary);
  }
  for (const auto* launches : {&image.prepare, &image.run})
    for (const Launch& launch : *launches) LATHE_TRY(program->kernel_of(launch));
  return program;
}

// False where the driver does not take it: then it is built anew.
bool Program::take_binary(const std::string& binary, const std::string& options) {
  const Api& api = device_.api();
  const DeviceId id = device_.id();
  const std::size_t size = binary.size();
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  Code of_binary = 0, code = 0;
  built_ = own_program(api, api.CreateProgramWithBinary(device_.context(), 1, &id, &size, &bytes,
                                                        &of_binary, &code));
  return code == 0 && of_binary == 0 && built_ &&
         api.BuildProgram(built_.get(), 1, &id, options.c_str(), nullptr, nullptr) == 0;
}

Status Program::compile(const Image& image, const BinaryCache& cache) {
  const Api& api = device_.api();
  const char* text = image.source.data();
  const std::size_t size = image.source.size();
  const DeviceId id = device_.id();
  Code code = 0;
  built_ = own_program(api, api.CreateProgramWithSource(device_.context(), 1, &text, &size, &code));
  LATHE_TRY_STATUS(device_.expect(code, "the device does not take the program"));
  code = api.BuildProgram(built_.get(), 1, &id, image.options.c_str(), nullptr, nullptr);
  if (code == 0) return {};
  const std::string log = log_of(device_, built_.get());
  const std::string place = log.empty() ? "" : cache.store_log(log);
  return fail(ErrorKind::kBuild, "OpenCL's compiler refuses the program: {} ({}{})",
              first_line(log), name_of(code), place.empty() ? "" : "; all that it said: " + place);
}

std::string Program::binary() const {
  const Api& api = device_.api();
  std::size_t size = 0;
  if (api.GetProgramInfo(built_.get(), kBinarySizes, sizeof size, &size, nullptr) != 0) return {};
  std::string binary(size, '\0');
  auto* bytes = reinterpret_cast<unsigned char*>(binary.data());
  if (api.GetProgramInfo(built_.get(), kBinaries, sizeof bytes, &bytes, nullptr) != 0) return {};
  return binary;
}

Result<Owned<Kernel>> Program::kernel_of(const Launch& launch) const {
  const Api& api = device_.api();
  Code code = 0;
  Owned<Kernel> kernel(api.CreateKernel(built_.get(), launch.kernel.c_str(), &code),
                       [release = api.ReleaseKernel](Kernel k) {
                         if (k != nullptr) release(k);
                       });
  LATHE_TRY_STATUS(device_.expect(code, "the program has no kernel " + launch.kernel));
  Number arguments = 0;
  api.GetKernelInfo(kernel.get(), kArgumentCount, sizeof arguments, &arguments, nullptr);
  if (arguments != launch.arguments.size())
    return fail(ErrorKind::kRun, "the kernel {} takes {} arguments, and its launch has {}",
                launch.kernel, arguments, launch.arguments.size());
  std::size_t group = 0;
  std::uint64_t local = 0;
  api.GetKernelWorkGroupInfo(kernel.get(), device_.id(), kKernelGroupSize, sizeof group, &group,
                             nullptr);
  api.GetKernelWorkGroupInfo(kernel.get(), device_.id(), kKernelLocalBytes, sizeof local, &local,
                             nullptr);
  if (group > 0 && std::cmp_greater(items_in_group(launch), group))
    return fail(ErrorKind::kUnsupported,
                "a group of {} has {} work items, and as it was compiled {} allows {}",
                launch.kernel, items_in_group(launch), device_.facts().name, group);
  if (std::cmp_greater(local, device_.facts().local_bytes))
    return fail(ErrorKind::kUnsupported, "{} uses {} bytes of local memory, and {} has {}",
                launch.kernel, local, device_.facts().name, device_.facts().local_bytes);
  return kernel;
}

Result<std::vector<BoundLaunch>> Program::bind(const std::vector<Launch>& launches,
                                               const BufferOf& buffer_of) const {
  std::vector<BoundLaunch> bound;
  for (const Launch& launch : launches) {
    BoundLaunch one{launch.kernel, LATHE_TRY(kernel_of(launch)), {}, {}};
    for (std::size_t d = 0; d < 3; ++d) {
      one.group[d] = static_cast<std::size_t>(launch.items[d]);
      one.items[d] = static_cast<std::size_t>(launch.groups[d]) * one.group[d];
    }
    bound.push_back(std::move(one));
  }
  LATHE_TRY_STATUS(rebind(launches, buffer_of, bound));
  return bound;
}

Status Program::rebind(const std::vector<Launch>& launches, const BufferOf& buffer_of,
                       std::vector<BoundLaunch>& bound) const {
  for (std::size_t i = 0; i < launches.size(); ++i)
    for (std::size_t a = 0; a < launches[i].arguments.size(); ++a) {
      const auto buffer = static_cast<Buffer>(buffer_of(launches[i].arguments[a]).get());
      const Code code =
          device_.api().SetKernelArg(bound[i].kernel.get(), static_cast<Number>(a), sizeof(Buffer),
                                     static_cast<const void*>(&buffer));
      LATHE_TRY_STATUS(device_.expect(
          code, fmt::format("the kernel {} does not take argument {}", bound[i].name, a)));
    }
  return {};
}

}  // namespace lathe::opencl
