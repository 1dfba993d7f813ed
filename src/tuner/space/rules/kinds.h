// The rules of each kind of device, in a list: the one place that names them all.
#pragma once

#include <span>
#include <string_view>

#include "base/target.h"
#include "tuner/space/rules/rule.h"

namespace lathe::space {

struct KindRules {
  DeviceKind kind;
  Result<Derived> (*derive)(const te::Workload& workload, const Target& target, Flavour flavour);
  // What a knob of its rules means, without prefixes; empty: none has it.
  std::string_view (*meaning)(std::string_view knob);
};
std::span<const KindRules> rules_by_kind();

}  // namespace lathe::space
