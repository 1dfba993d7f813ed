// A card that is not there: the module that becomes PTX, compiled for this processor and executed.
// Address spaces are plain memory. Indices, barriers, exchanges and asynchronous copies are calls
// of a small runtime in which each thread of a block is a fiber, which lets others run where it
// waits.
//
// Threads run in an order drawn from a seed. A copy happens as late as it may: when it is awaited;
// before that its place holds what no program wants. Where the test is built with the address
// sanitizer, so is the module.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "oracle/flat_eval.h"
#include "runtime/device/cuda/image.h"

namespace lathe::testing {

// prepare, then run; storage as interp::eval_flat has it. `ir`: the text of the module that the
// image's PTX was made of. Fails with a sentence where threads of a block wait for each other for
// ever, where a kernel writes behind a tensor or an area, or to an input.
Result<std::vector<interp::Bytes>> run_on_host(const std::string& ir, const cuda::Image& image,
                                               std::span<const interp::Bytes> inputs,
                                               std::uint64_t seed = 1);

}  // namespace lathe::testing
