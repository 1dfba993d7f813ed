// How workloads are related: what a model learned from one tells more of its relatives.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::learn {

enum class Relation {
  kOperator,  // their keys differ in numbers alone
  kImage,     // the last two extents of their outputs are equal
  kFamily,    // both have sums of products, or both other reductions, or none has a reduction
};

std::vector<std::string> known_relations();  // "operator", "image", "family"
Result<Relation> relation_named(const std::string& name);

// Equal for workloads that are so related. A text that is no workload is related to itself alone.
std::string relatives_of(const std::string& workload, Relation relation);
// The family whose members share what decides their speed, tiles of operands that are read again.
inline constexpr const char* kProducts = "products";

// What is left of a workload key without its contract, the ranges of its inputs and which of them
// are constants: only what is computed. A text that is no workload is returned as it is.
std::string shape_of(const std::string& workload);

}  // namespace lathe::learn
