#include "tuner/feature/feature.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

#include <fmt/ranges.h>

#include "base/in_parts.h"
#include "tuner/feature/log2.h"
#include "tuner/feature/program_plan.h"

namespace lathe::feature {
namespace {

constexpr std::pair<const char*, Kind> kKinds[] = {{"context", Kind::kContext},
                                                   {"relation", Kind::kRelation},
                                                   {"configuration", Kind::kConfiguration},
                                                   {"tree", Kind::kTree},
                                                   {"blocks", Kind::kBlocks}};
constexpr std::size_t kRowsAJob = 256;  // fewer are not worth a thread

// Writes a structural choice as its number, and a size as its logarithm.
void configuration_row(const std::vector<space::Knob>& knobs, std::span<const std::int64_t> values,
                       float* out) {
  for (std::size_t k = 0; k < knobs.size(); ++k)
    out[k] = knobs[k].structural
                 ? static_cast<float>(values[k])
                 : log2_of(1.0F + static_cast<float>(std::max<std::int64_t>(values[k], 0)));
}

}  // namespace

struct Extractor::Impl {
  Features features;
  const space::Space& space;
  int width;
  mutable std::shared_mutex mutex;
  mutable std::map<const space::Sketch*, std::unique_ptr<ProgramPlan>> plans;

  const ProgramPlan& plan(const space::Sketch& sketch) const {
    {
      const std::shared_lock lock(mutex);
      if (const auto found = plans.find(&sketch); found != plans.end()) return *found->second;
    }
    auto made = std::make_unique<ProgramPlan>(features, sketch.nest);
    const std::unique_lock lock(mutex);
    return *plans.try_emplace(&sketch, std::move(made)).first->second;
  }

  // Makes the rows of one thread.
  void rows(std::span<const space::Config> configs, float* out) const {
    std::vector<std::int64_t> knobs, sizes;
    for (const space::Config& config : configs) {
      space.knob_values(config, knobs);
      if (features.kind == Kind::kConfiguration) {
        configuration_row(space.knob_list(), knobs, out);
      } else {
        const space::Sketch& sketch = space.sketch(config);
        sketch.nest.sizes.evaluate(knobs, sizes);
        plan(sketch).row(sizes, out);
      }
      out += width;
    }
  }
};

Extractor::Extractor(const Features& features, const space::Space& space)
    : impl_(new Impl{features, space, feature::width(features, space)}) {}
Extractor::~Extractor() = default;

int Extractor::width() const { return impl_->width; }

void Extractor::rows(std::span<const space::Config> configs, std::span<float> out, int jobs) const {
  LATHE_CHECK(out.size() == configs.size() * static_cast<std::size_t>(impl_->width));
  in_parts(configs.size(), jobs, kRowsAJob, [&](std::size_t begin, std::size_t count) {
    impl_->rows(configs.subspan(begin, count),
                out.data() + begin * static_cast<std::size_t>(impl_->width));
  });
}

std::vector<std::string> known_kinds() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) names.emplace_back(name);
  return names;
}

Result<Kind> kind_named(const std::string& name) {
  for (const auto& [known, kind] : kKinds)
    if (name == known) return kind;
  return fail(ErrorKind::kInvalidArgument, "unknown features \"{}\"; known are {}", name,
              fmt::join(known_kinds(), ", "));
}

BlockRow block_row_of(Kind kind) {
  return kind == Kind::kBlocks ? BlockRow{kWholeWidth, block_width()} : BlockRow{};
}

Result<Features> features_for(const std::string& name, const Target& target) {
  return features_for(LATHE_TRY(kind_named(name)), target);
}

bool tells_cycles(const Features& features) {
  return features.kind == Kind::kContext && features.device == DeviceKind::kCuda;
}

int width(const Features& features, const space::Space& space) {
  return features.kind == Kind::kConfiguration ? space.knobs() : program_width(features);
}

std::vector<std::string> names(const Features& features, const space::Space& space) {
  if (features.kind != Kind::kConfiguration) return program_names(features);
  std::vector<std::string> out;
  for (const space::Knob& knob : space.knob_list()) out.push_back(knob.name);
  return out;
}

void extract(const Features& features, const space::Space& space,
             std::span<const space::Config> configs, std::span<float> out, int jobs) {
  Extractor(features, space).rows(configs, out, jobs);
}

}  // namespace lathe::feature
