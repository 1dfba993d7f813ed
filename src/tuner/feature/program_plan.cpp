#include "tuner/feature/program_plan.h"

#include <algorithm>

namespace lathe::feature {
namespace {

AnyPlan usual_plan(const Features& features, const ir::Nest& nest) {
  if (features.kind == Kind::kTree) return TreePlan(nest);
  if (features.kind == Kind::kBlocks) return BlocksPlan(nest);
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

// On a card the context has columns more.
AnyPlan card_plan(const Features& features, const ir::Nest& nest) {
  if (features.kind == Kind::kContext) return CardContextPlan(nest, features.card);
  return usual_plan(features, nest);
}

int width_on_card(Kind kind) {
  return usual_width(kind) + (kind == Kind::kContext ? card_width() : 0);
}

std::vector<std::string> names_on_card(Kind kind) {
  std::vector<std::string> names = usual_names(kind);
  if (kind == Kind::kContext) std::ranges::copy(card_names(), std::back_inserter(names));
  return names;
}

// What describes programs for one kind of device.
struct ForDevice {
  DeviceKind device;
  AnyPlan (*plan)(const Features& features, const ir::Nest& nest);
  int (*width)(Kind kind);
  std::vector<std::string> (*names)(Kind kind);
};
constexpr ForDevice kDevices[] = {{DeviceKind::kCpu, usual_plan, usual_width, usual_names},
                                  {DeviceKind::kOpenCl, usual_plan, usual_width, usual_names},
                                  {DeviceKind::kCuda, card_plan, width_on_card, names_on_card}};

const ForDevice& entry_of(const Features& features) {
  const auto* found = std::ranges::find(kDevices, features.device, &ForDevice::device);
  LATHE_CHECK(found != std::end(kDevices) && features.kind != Kind::kConfiguration);
  return *found;
}

}  // namespace

Result<Features> features_for(Kind kind, const Target& target) {
  if (std::ranges::find(kDevices, target.kind(), &ForDevice::device) == std::end(kDevices))
    return fail(ErrorKind::kUnsupported,
                "no features describe programs for this kind of device; choose a model that needs "
                "none, or a search without a model");
  Features features{kind, target.kind()};
  if (features.device == DeviceKind::kCuda) features.card = target.as_cuda();
  return features;
}

void CardContextPlan::row(std::span<const std::int64_t> values, float* out) const {
  context_row(usual_, values, out);
  card_.columns(values, out + context_width());
}

ProgramPlan::ProgramPlan(const Features& features, const ir::Nest& nest)
    : kind_(features.kind), plan_(entry_of(features).plan(features, nest)) {}

void ProgramPlan::row(std::span<const std::int64_t> values, float* out) const {
  if (const auto* tree = std::get_if<TreePlan>(&plan_)) return tree->row(values, out);
  if (const auto* blocks = std::get_if<BlocksPlan>(&plan_)) return blocks->row(values, out);
  if (const auto* context = std::get_if<CardContextPlan>(&plan_)) return context->row(values, out);
  (kind_ == Kind::kContext ? context_row : relation_row)(std::get<Plan>(plan_), values, out);
}

int program_width(const Features& features) { return entry_of(features).width(features.kind); }
std::vector<std::string> program_names(const Features& features) {
  return entry_of(features).names(features.kind);
}

}  // namespace lathe::feature
