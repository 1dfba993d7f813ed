#include "tuner/learn/featurizer.h"

#include <cmath>
#include <set>

#include "compiler/codegen/nvptx/cards.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"

namespace lathe::learn {

bool Featurizer::describes(const std::string& target) {
  auto known = parse_target(target);
  if (!known) return false;
  if (known->kind() == DeviceKind::kCuda) {
    const auto card = codegen::known_card(known->as_cuda().name);
    if (!card) return false;
    known = Target{*card};
  }
  const auto features = feature::features_for(kind_, *known);
  if (!features || (features_ && features_->device != features->device)) return false;
  features_ = *features;
  return true;
}

const Featurizer::Naive* Featurizer::naive(const std::string& workload) {
  auto [found, added] = nests_.try_emplace(workload);
  if (added)
    if (const auto parsed = te::parse_workload(workload))
      found->second = Naive{te::naive_nest(*parsed), parsed->contract.free_layout};
  return found->second ? &*found->second : nullptr;
}

bool Featurizer::append(const store::Record& record, std::vector<float>& out) {
  const Naive* start = naive(record.workload);
  const auto trace = schedule::trace_from_json(record.trace);
  if (start == nullptr || !trace || !describes(record.target)) return false;
  ir::Nest nest = start->nest;
  if (!schedule::apply(nest, *trace, start->free_layout)) return false;
  const ir::SizedNest sized(nest, {});
  const std::size_t begin = out.size();
  out.resize(begin + static_cast<std::size_t>(width()));
  feature::ProgramPlan(*features_, nest).row(sized.values, out.data() + begin);
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (std::isfinite(out[i])) continue;
    out.resize(begin);
    return false;
  }
  return true;
}

int configuration_rows(const std::vector<Json>& configs, std::vector<float>& out) {
  // The labels of each knob; a knob without labels is a size.
  std::map<std::string, std::set<std::string>> labels;
  for (const Json& config : configs)
    for (const auto& [name, value] : config.items()) {
      auto& of_knob = labels[name];
      if (!value.is_number()) of_knob.insert(value.dump());
    }
  out.clear();
  for (const Json& config : configs)
    for (const auto& [name, known] : labels) {
      const auto value = config.find(name);
      float x = 0;
      if (value != config.end() && value->is_number())
        x = static_cast<float>(std::log2(1 + std::max(0.0, value->get<double>())));
      else if (value != config.end())
        x = static_cast<float>(1 + std::distance(known.begin(), known.find(value->dump())));
      out.push_back(x);
    }
  return static_cast<int>(labels.size());
}

}  // namespace lathe::learn
