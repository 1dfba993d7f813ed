// A candidate on a card.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/device/candidate.h"
#include "runtime/device/cuda/chain.h"
#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/image.h"
#include "runtime/device/cuda/program.h"

namespace lathe::cuda {

// What candidates share besides their tensors.
struct Shared {
  Device& device;
  const BinaryCache& cache;
  GuardedMemory sets;           // copies of a candidate's memory, for cold calls
  GuardedMemory flushed;        // what is written to throw other data out of the card's cache
  const void* owner = nullptr;  // the candidate whose copies `sets` holds
};

// A call is timed as part of a chain of several: of 20 where one is asked for, as in searches for a
// first estimate, else of 50, fewer where they take long. Cold calls of a chain use copies of the
// tensors, constants and scratch in turn, which together are larger than three times the card's
// cache, or used once each after the cache was filled with something else.
class DeviceCandidate final : public device::Candidate {
 public:
  // Assembles the image, packs its inputs and runs `prepare`.
  static Result<std::unique_ptr<DeviceCandidate>> open(Shared& shared, const Image& image,
                                                       device::Surroundings around);
  ~DeviceCandidate() override;

  Result<runner::Sample> call(int calls, CacheMode cache) override;
  Status warm() override;

 private:
  DeviceCandidate(Shared& shared, device::Surroundings around, device::Demands demands)
      : Candidate(std::move(around), std::move(demands)), shared_(shared) {}
  Result<double> run_prepare() override;
  Status bind(bool checked) override;
  Result<double> single();
  int chain_length(int calls) const;
  Result<double> warm_chain(int calls);
  Result<double> cold_chain();
  Status make_sets(int count);
  std::int64_t set_bytes() const;
  Result<std::vector<BoundLaunch>> bind_to_set(std::int64_t number);
  Status flush();

  Shared& shared_;
  std::unique_ptr<Program> program_;
  std::vector<BoundLaunch> launches_;
  std::vector<Address> places_;  // of all launches: chains hold for these
  std::unique_ptr<Chain> warm_chain_, cold_chain_;
  double seconds_ = 0;  // of a call, by the last that was timed
  bool checked_ = false;
};

}  // namespace lathe::cuda
