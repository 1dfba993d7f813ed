#include "tuner/feature/program_plan.h"

#include <algorithm>

namespace lathe::feature {
namespace {

std::variant<Plan, TreePlan, BlocksPlan> usual_plan(Kind kind, const ir::Nest& nest) {
  if (kind == Kind::kTree) return TreePlan(nest);
  if (kind == Kind::kBlocks) return BlocksPlan(nest);
  return Plan(nest);
}

int usual_width(Kind kind) {
  switch (kind) {
    case Kind::kConfiguration: break;
    case Kind::kContext: return context_width();
    case Kind::kRelation: return relation_width();
    case Kind::kTree: return tree_width();
    case Kind::kBlocks: return blocks_width();
  }
  return 0;
}

std::vector<std::string> usual_names(Kind kind) {
  switch (kind) {
    case Kind::kConfiguration: break;
    case Kind::kContext: return context_names();
    case Kind::kRelation: return relation_names();
    case Kind::kTree: return tree_names();
    case Kind::kBlocks: return blocks_names();
  }
  return {};
}

// What describes programs for one kind of device.
struct ForDevice {
  DeviceKind device;
  std::variant<Plan, TreePlan, BlocksPlan> (*plan)(Kind kind, const ir::Nest& nest);
  int (*width)(Kind kind);
  std::vector<std::string> (*names)(Kind kind);
};
constexpr ForDevice kDevices[] = {{DeviceKind::kCpu, usual_plan, usual_width, usual_names},
                                  {DeviceKind::kOpenCl, usual_plan, usual_width, usual_names},
                                  {DeviceKind::kCuda, usual_plan, usual_width, usual_names}};

const ForDevice& entry_of(const Features& features) {
  const auto* found = std::ranges::find(kDevices, features.device, &ForDevice::device);
  LATHE_CHECK(found != std::end(kDevices) && features.kind != Kind::kConfiguration);
  return *found;
}

}  // namespace

Result<Features> features_for(Kind kind, DeviceKind device) {
  if (std::ranges::find(kDevices, device, &ForDevice::device) == std::end(kDevices))
    return fail(ErrorKind::kUnsupported,
                "no features describe programs for this kind of device; choose a model that needs "
                "none, or a search without a model");
  return Features{kind, device};
}

ProgramPlan::ProgramPlan(const Features& features, const ir::Nest& nest)
    : kind_(features.kind), plan_(entry_of(features).plan(features.kind, nest)) {}

void ProgramPlan::row(std::span<const std::int64_t> values, float* out) const {
  if (const auto* tree = std::get_if<TreePlan>(&plan_)) return tree->row(values, out);
  if (const auto* blocks = std::get_if<BlocksPlan>(&plan_)) return blocks->row(values, out);
  (kind_ == Kind::kContext ? context_row : relation_row)(std::get<Plan>(plan_), values, out);
}

int program_width(const Features& features) { return entry_of(features).width(features.kind); }
std::vector<std::string> program_names(const Features& features) {
  return entry_of(features).names(features.kind);
}

}  // namespace lathe::feature
