// Runs candidates on a card: their code is an image (image.h).
#pragma once

#include <memory>
#include <string>

#include "runtime/device/binary_cache.h"
#include "runtime/runner/engine.h"

namespace lathe::cuda {

struct EngineOptions {
  std::string device;   // as choose_device() has it
  std::string library;  // as open_api() has it
  device::BinaryCache cache;
};

// As runtime/device/engine.h has it, but the card is opened at once where it can be, so that a
// runner that stands ready has a live context. Times are those of chains (candidate.h).
std::unique_ptr<runner::Engine> make_engine(EngineOptions options);

}  // namespace lathe::cuda
