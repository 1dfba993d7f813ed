#include "runtime/device/cuda/program.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/split.h"

namespace lathe::cuda {
namespace {

constexpr std::int64_t kLongestAxis = 65'535;         // of a grid, along y and z
constexpr std::int64_t kPlainSharedBytes = 48 << 10;  // of a block, without asking for more
constexpr std::size_t kLogBytes = std::size_t{16} << 10;

std::int64_t threads_of_block(const Launch& launch) {
  std::int64_t product = 1;
  for (const std::int64_t items : launch.items)
    if (__builtin_mul_overflow(product, items, &product))
      return std::numeric_limits<std::int64_t>::max();
  return product;
}

Status check_launch(const Launch& launch, const Facts& card) {
  if (threads_of_block(launch) > card.block_threads)
    return fail(ErrorKind::kUnsupported, "a block of {} has {} threads, and {} allows {}",
                launch.kernel, threads_of_block(launch), card.name, card.block_threads);
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t most = d == 0 ? std::numeric_limits<std::int32_t>::max() : kLongestAxis;
    if (launch.groups[d] > most)
      return fail(ErrorKind::kUnsupported,
                  "the grid of {} has {} blocks along {}, and {} allows {}", launch.kernel,
                  launch.groups[d], "xyz"[d], card.name, most);
  }
  constexpr std::int64_t kMostAlongZ = 64;
  if (launch.items[2] > kMostAlongZ)
    return fail(ErrorKind::kUnsupported, "a block of {} has {} threads along z, and {} allows {}",
                launch.kernel, launch.items[2], card.name, kMostAlongZ);
  return {};
}

Status check_memory(const Image& image, const Facts& card) {
  std::vector<std::int64_t> sizes = image.inputs;
  sizes.insert(sizes.end(), image.outputs.begin(), image.outputs.end());
  sizes.insert(sizes.end(), {image.constant_bytes, image.scratch_bytes});
  std::int64_t total = 0;
  for (const std::int64_t size : sizes)
    if (__builtin_add_overflow(total, size, &total) || total > card.memory_bytes)
      return fail(ErrorKind::kUnsupported,
                  "the program's buffers have more bytes together than the {} of {}",
                  card.memory_bytes, card.name);
  return {};
}

// How many parameters a kernel of a text in PTX has; -1: it has no such kernel. Launching reads as
// many pointers as the kernel has parameters, so this is not left to chance.
int parameters_of(const std::string& ptx, const std::string& kernel) {
  constexpr std::string_view kEntry = ".entry";
  for (std::size_t at = ptx.find(kEntry); at != std::string::npos; at = ptx.find(kEntry, at + 1)) {
    const std::size_t name = ptx.find_first_not_of(" \t", at + kEntry.size());
    const std::size_t end = ptx.find_first_of(" \t\r\n({", name);
    if (end == std::string::npos) return -1;
    if (ptx.compare(name, end - name, kernel) != 0) continue;
    const std::size_t open = ptx.find_first_not_of(" \t\r\n", end);
    if (open == std::string::npos || ptx[open] != '(') return 0;
    const std::size_t close = ptx.find(')', open);
    int count = 0;
    for (std::size_t p = ptx.find(".param", open); p < close; p = ptx.find(".param", p + 1))
      ++count;
    return count;
  }
  return -1;
}

Status check_parameters(const std::string& ptx, const Launch& launch) {
  const int parameters = parameters_of(ptx, launch.kernel);
  if (parameters < 0) return fail(ErrorKind::kRun, "the program has no kernel {}", launch.kernel);
  if (std::cmp_not_equal(parameters, launch.arguments.size()))
    return fail(ErrorKind::kRun, "the kernel {} takes {} arguments, and its launch has {}",
                launch.kernel, parameters, launch.arguments.size());
  return {};
}

// What an assembler said first that is an error, else what it said first.
std::string first_line_of(const std::string& log) {
  std::string first;
  for (const std::string& line : split(log, '\n')) {
    if (line.contains("error") || line.contains("fatal")) return line;
    if (first.empty() && line.find_first_not_of(" \t\r") != std::string::npos) first = line;
  }
  return first.empty() ? "it did not say why" : first;
}

void* as_option(std::size_t value) { return reinterpret_cast<void*>(value); }

}  // namespace

Status check_fits(const Image& image, const Facts& card) {
  if (image.architecture > card.architecture)
    return fail(ErrorKind::kUnsupported, "the program is for sm_{}, and {} is sm_{}",
                image.architecture, card.name, card.architecture);
  for (const auto* launches : {&image.prepare, &image.run})
    for (const Launch& launch : *launches) {
      LATHE_TRY_STATUS(check_launch(launch, card));
      LATHE_TRY_STATUS(check_parameters(image.ptx, launch));
    }
  return check_memory(image, card);
}

Result<std::string> assemble(Device& device, const std::string& ptx, const BinaryCache& logs) {
  const Api& api = device.api();
  std::string log(kLogBytes, '\0');
  int options[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log.data(), as_option(log.size())};
  Link raw = nullptr;
  LATHE_TRY_STATUS(device.expect_after(api.LinkCreate(2, options, values, &raw),
                                       "the driver does not assemble"));
  const Owned<Link> link(raw, [destroy = api.LinkDestroy](Link l) { destroy(l); });
  // The text ends with a zero, which counts.
  Code code = api.LinkAddData(link.get(), kInputPtx, const_cast<char*>(ptx.c_str()), ptx.size() + 1,
                              "program", 0, nullptr, nullptr);
  void* made = nullptr;
  std::size_t bytes = 0;
  if (code == 0) code = api.LinkComplete(link.get(), &made, &bytes);
  if (code == 0) return std::string(static_cast<const char*>(made), bytes);
  log.resize(log.find('\0'));
  const std::string place = log.empty() ? "" : logs.store_log(log);
  return fail(code == kOutOfMemory ? ErrorKind::kOutOfMemory : ErrorKind::kBuild,
              "the driver's assembler refuses the program: {} ({}{})", first_line_of(log),
              name_of(api, code), place.empty() ? "" : "; all that it said: " + place);
}

Result<std::unique_ptr<Program>> Program::build(Device& device, const Image& image,
                                                const BinaryCache& cache) {
  LATHE_TRY_STATUS(check_fits(image, device.facts()));
  std::unique_ptr<Program> program(new Program(device));
  LATHE_TRY_STATUS(program->take_code(image, cache));
  program->prepare_ = LATHE_TRY(program->find_kernels(image.prepare));
  program->run_ = LATHE_TRY(program->find_kernels(image.run));
  return program;
}

// Code of the cache that does not load is assembled anew.
Status Program::take_code(const Image& image, const BinaryCache& cache) {
  const std::string key = device_.facts().text() + '\0' + image.ptx;
  if (const auto code = cache.find(key); code && load(*code)) {
    from_cache_ = true;
    return {};
  }
  const std::string code = LATHE_TRY(assemble(device_, image.ptx, cache));
  LATHE_TRY_STATUS(load(code));
  cache.store(key, code);
  return {};
}

Status Program::load(const std::string& code) {
  Module module = nullptr;
  LATHE_TRY_STATUS(
      device_.expect(device_.api().ModuleLoadDataEx(&module, code.data(), 0, nullptr, nullptr),
                     "the driver does not load the program"));
  module_ = {module, [unload = device_.api().ModuleUnload](Module m) { unload(m); }};
  return {};
}

Result<std::vector<BoundLaunch>> Program::find_kernels(const std::vector<Launch>& launches) {
  std::vector<BoundLaunch> out;
  for (const Launch& launch : launches) {
    BoundLaunch bound{.name = launch.kernel,
                      .function = LATHE_TRY(kernel_of(launch)),
                      .shared_bytes = static_cast<Number>(launch.group_bytes),
                      .arguments = launch.arguments,
                      .places = {}};
    for (std::size_t d = 0; d < 3; ++d) {
      bound.grid[d] = static_cast<Number>(launch.groups[d]);
      bound.block[d] = static_cast<Number>(launch.items[d]);
    }
    out.push_back(std::move(bound));
  }
  return out;
}

Result<Function> Program::kernel_of(const Launch& launch) {
  const Api& api = device_.api();
  const Facts& card = device_.facts();
  Function function = nullptr;
  LATHE_TRY_STATUS(
      device_.expect(api.ModuleGetFunction(&function, module_.get(), launch.kernel.c_str()),
                     "the program has no kernel " + launch.kernel));
  const auto attribute = [&](int which) {
    int value = 0;
    return api.FuncGetAttribute(&value, which, function) == 0 ? value : 0;
  };
  const Resources told{launch.kernel, attribute(kRegisters), attribute(kLocalBytes),
                       attribute(kSharedBytes)};
  if (std::ranges::find(resources_, told.kernel, &Resources::kernel) == resources_.end())
    resources_.push_back(told);
  const int most = attribute(kMostThreads);
  if (most > 0 && threads_of_block(launch) > most)
    return fail(ErrorKind::kUnsupported,
                "a block of {} has {} threads, and with {} registers a thread {} allows {}",
                launch.kernel, threads_of_block(launch), told.registers, card.name, most);
  const std::int64_t shared = told.shared_bytes + launch.group_bytes;
  if (shared > card.block_bytes)
    return fail(ErrorKind::kUnsupported, "{} uses {} bytes of shared memory, and {} allows {}",
                launch.kernel, shared, card.name, card.block_bytes);
  if (shared > kPlainSharedBytes && launch.group_bytes > 0)
    LATHE_TRY_STATUS(device_.expect(
        api.FuncSetAttribute(function, kMostDynamicShared, static_cast<int>(launch.group_bytes)),
        fmt::format("{} does not get {} bytes of shared memory", launch.kernel, shared)));
  return function;
}

namespace {

std::vector<BoundLaunch> with_places(std::vector<BoundLaunch> launches, const PlaceOf& place_of) {
  for (BoundLaunch& launch : launches)
    for (const Argument& argument : launch.arguments)
      launch.places.push_back(address_of(place_of(argument)));
  return launches;
}

}  // namespace

std::vector<BoundLaunch> Program::bind_prepare(const PlaceOf& place_of) const {
  return with_places(prepare_, place_of);
}

std::vector<BoundLaunch> Program::bind_run(const PlaceOf& place_of) const {
  return with_places(run_, place_of);
}

}  // namespace lathe::cuda
