// What cards a name stands for, and what they have.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/target.h"

namespace lathe::codegen {

// "sm_75" to "sm_90" are what cards of these architectures have; "A100" and others are known;
// "host" and other names that are no files are asked of the runner; else the name is the path of a
// JSON file with the members of base/cuda/cuda_json.h. Fails with kInvalidArgument where a member
// is missing, unknown or impossible: the sentence names it, and the place is the file.
Result<CudaTarget> cuda_card(const std::string& name);

// What the driver of this machine tells of its card of this name; of "host": the one that the
// runner opens. kNotFound: there is none.
Result<CudaTarget> query_cuda_card(std::string_view name);

// The card of an architecture, or one that is known by its name; also by the one that its driver
// tells ("NVIDIA H200", "NVIDIA GeForce RTX 4090"). Nothing where it is no such card.
std::optional<CudaTarget> known_card(std::string_view name);

// Those that code can be made for: 75, 80, ...; and "sm_75, sm_80, ..."
std::vector<int> known_architectures();
std::string architecture_list();

}  // namespace lathe::codegen
