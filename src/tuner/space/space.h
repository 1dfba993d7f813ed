// S_e: the space of schedules of one workload on one target (paper, section 2). Rules derive it
// from the expression.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/target.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/schedule/step.h"
#include "compiler/te/workload.h"
#include "tuner/space/domain.h"

namespace lathe::space {

struct Knob {
  std::string name;                  // "tile.p", "order"
  std::vector<std::int64_t> values;  // ordinal; of a structural knob: 0 ... n-1, with labels
  std::vector<std::string> labels;   // of a structural knob: what each value means; else empty
  bool structural = false;           // picks another nest, not only another size
  // A conditional knob has an effect only while knob number `under` has an effect and one of these
  // values (by position); else it has its first value. -1: always.
  int under = -1;
  std::vector<std::uint16_t> under_values;

  std::size_t nearest(std::int64_t wanted) const;  // position of the value closest to `wanted`
};

// A nest with open sizes, derived once for given structural choices, with the trace that made it.
struct Sketch {
  ir::Nest nest;
  schedule::Trace trace;  // sizes refer to nest.sizes
};

enum class Flavour { kDefault, kWide };
inline constexpr Flavour kFlavours[] = {Flavour::kDefault, Flavour::kWide};
std::string_view name_of(Flavour flavour);  // "default", "wide"
Result<Flavour> flavour_named(const std::string& name);

class Space : public Domain {
 public:
  const te::Workload& workload() const;
  const std::vector<Knob>& knob_list() const;
  // The number of configurations, regardless of constraints; see count_programs(). Conditional
  // knobs count only where they have an effect.
  double size() const;
  // Uniform over these configurations; it may break constraints.
  Config draw(Rng& rng) const;
  std::uint64_t hash() const;  // of knobs, values and constraints: stored with every record

  // The nest for the structural knobs of a configuration. It is derived on first use and kept;
  // several threads may ask.
  const Sketch& sketch(const Config& config) const;
  // Values of all knobs in their order, as Sizes::evaluate takes them.
  void knob_values(const Config& config, std::vector<std::int64_t>& out) const;
  // The concrete trace of a configuration; it applies to naive_nest(program).
  schedule::Trace trace(const Config& config) const;
  // Both leave out conditional knobs without effect.
  std::string describe(const Config& config) const;  // "p=14 v=2 order=..."
  Json to_json(const Config& config) const;          // {"tile.p": 14, ...}
  // Values of knobs without effect may be there, and count as their first.
  Result<Config> from_json(const Json& json) const;
  // The configuration from which a person would start: the analytic default. It is valid and in its
  // form.
  Config default_config() const;
  // Where a search begins: the default, then a start for each other algorithm that may be as good.
  // A part of a space has the default alone.
  std::vector<Config> starts() const;

  int knobs() const override;
  int values(int knob) const override;
  bool valid(const Config& config) const override;
  // In derived and hand-written spaces, all configurations of one program have one form. In a part
  // of a space every configuration stands for itself.
  Config canonical(const Config& config) const override;
  std::uint64_t program_number(const Config& config) const override;
  Config random(Rng& rng) const override;
  Config neighbour(const Config& config, Rng& rng) const override;

  struct Impl;  // of this room
  explicit Space(std::unique_ptr<Impl> impl);
  ~Space() override;
  const Impl& impl() const { return *impl_; }

 private:
  bool has_effect(const Config& config, int knob) const;
  void draw_all(Config& config, Rng& rng) const;
  void wake(Config& next, const Config& before, Rng& rng) const;
  double configurations_under(int knob, std::uint16_t value) const;
  double configurations_of(int knob) const;  // and of those under it
  std::unique_ptr<Impl> impl_;
};

Result<std::unique_ptr<Space>> derive_space(const te::Workload& workload, const Target& target,
                                            Flavour flavour);

// All valid configurations of a small space; the last knob changes fastest.
std::vector<Config> all_configs(const Space& space);

// How many programs a space has: how many of its valid configurations are in their form.
struct ProgramCount {
  double programs = 0;
  int samples = 0;  // 0: counted; else how many random configurations the estimate rests on
  // Of an estimate: half the width of its 95 % interval as a share of it; infinity: no program was
  // met.
  double uncertainty = 0;
};
ProgramCount count_programs(const Space& space);

}  // namespace lathe::space
