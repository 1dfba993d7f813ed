// The program of an image, assembled for a card, and its launches with their arguments.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/device/binary_cache.h"
#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/image.h"

namespace lathe::cuda {

using device::BinaryCache;

// What assembling told of a kernel.
struct Resources {
  std::string kernel;
  int registers = 0;               // of a thread
  std::int64_t spilled_bytes = 0;  // of a thread, that registers did not hold
  std::int64_t shared_bytes = 0;   // of a block, without those that a launch asks for
  friend bool operator==(const Resources&, const Resources&) = default;
};

// Fails with kUnsupported where the card cannot run it, for a reason that shows before it is
// assembled: grids, blocks, shared memory or buffers. kRun: a launch has other arguments than its
// kernel. One sentence names the first.
Status check_fits(const Image& image, const Facts& card);

// Turns PTX into machine code for the card. kBuild: the assembler refused, with the first line that
// it said and where the others are (`logs`).
Result<std::string> assemble(Device& device, const std::string& ptx, const BinaryCache& logs);

// A launch that only needs to be given to a stream.
struct BoundLaunch {
  std::string name;
  Function function = nullptr;
  std::array<Number, 3> grid{}, block{};
  Number shared_bytes = 0;
  std::vector<Argument> arguments;
  std::vector<Address> places;  // one for each argument; others keep what is there
};
using PlaceOf = std::function<Handle(const Argument&)>;

class Program {
 public:
  // Takes the code from the cache, or assembles it.
  // kUnsupported: as check_fits, or for what only the assembler could tell, as the registers of a
  // block.
  static Result<std::unique_ptr<Program>> build(Device& device, const Image& image,
                                                const BinaryCache& cache);
  // The launches of the image's `prepare`, or of `run`, with these places.
  std::vector<BoundLaunch> bind_prepare(const PlaceOf& place_of) const;
  std::vector<BoundLaunch> bind_run(const PlaceOf& place_of) const;
  const std::vector<Resources>& resources() const { return resources_; }  // one for each kernel
  bool from_cache() const { return from_cache_; }

 private:
  explicit Program(Device& device) : device_(device) {}
  Status take_code(const Image& image, const BinaryCache& cache);
  Status load(const std::string& code);
  Result<std::vector<BoundLaunch>> find_kernels(const std::vector<Launch>& launches);
  Result<Function> kernel_of(const Launch& launch);

  Device& device_;
  Owned<Module> module_;
  std::vector<BoundLaunch> prepare_, run_;  // without places
  std::vector<Resources> resources_;
  bool from_cache_ = false;
};

}  // namespace lathe::cuda
