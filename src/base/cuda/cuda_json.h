// What is known of a card, as members of a JSON object: in stored targets, and in the files that
// describe cards.
#pragma once

#include "base/json.h"
#include "base/target.h"

namespace lathe {

// {"architecture": 80, "multiprocessors": 108, "registers": 65536, "shared_bytes": 167936,
//  "threads": 2048, "blocks": 32, "block_bytes": 166912, "block_threads": 1024,
//  "thread_registers": 255, "l2_bytes": 41943040, "memory_bytes": 42949672960,
//  "clock_mhz": 1410, "gigabytes_a_second": 1555}
Json cuda_members(const CudaTarget& card);

// Fails with kInvalidArgument where a member is missing or cannot be true; the sentence names it.
// Unknown members are not looked for.
Status read_cuda_members(const Json& json, CudaTarget& card);

}  // namespace lathe
