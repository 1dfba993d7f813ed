// The program of an image, built for a device, and its launches with their arguments.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/device/binary_cache.h"
#include "runtime/device/opencl/device.h"
#include "runtime/device/opencl/image.h"

namespace lathe::opencl {

using device::BinaryCache;

// Fails with kUnsupported where the device cannot run it, for a reason that shows before it is
// built: an extension, work groups, local memory or buffers. One sentence names the first.
Status check_fits(const Image& image, const Facts& device);

// A launch that only needs to be given to the queue.
struct BoundLaunch {
  std::string name;
  Owned<Kernel> kernel;
  std::array<std::size_t, 3> items{};  // of the whole grid
  std::array<std::size_t, 3> group{};
};
using BufferOf = std::function<Handle(const Argument&)>;

class Program {
 public:
  // Builds it, or takes it from the cache. kBuild: the compiler refused, with the first line that
  // it said and where the others are. kUnsupported: as check_fits, or for what only the compiler
  // could tell, as the registers of a kernel. kRun: a launch has other arguments than its kernel.
  static Result<std::unique_ptr<Program>> build(Device& device, const Image& image,
                                                const BinaryCache& cache);
  // The launches with these buffers, which must stay as long as a launch may run.
  Result<std::vector<BoundLaunch>> bind(const std::vector<Launch>& launches,
                                        const BufferOf& buffer_of) const;
  // Gives launches of bind() other buffers.
  Status rebind(const std::vector<Launch>& launches, const BufferOf& buffer_of,
                std::vector<BoundLaunch>& bound) const;
  bool from_cache() const { return from_cache_; }

 private:
  explicit Program(Device& device) : device_(device) {}
  bool take_binary(const std::string& binary, const std::string& options);
  Status compile(const Image& image, const BinaryCache& cache);
  std::string binary() const;  // empty where the driver gives none
  Result<Owned<Kernel>> kernel_of(const Launch& launch) const;

  Device& device_;
  Owned<Built> built_;
  bool from_cache_ = false;
};

}  // namespace lathe::opencl
