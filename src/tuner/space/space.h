// S_e: the space of schedules of one workload on one target (paper, section 2), derived from the
// expression by rules.
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
#include "compiler/te/program.h"
#include "tuner/space/domain.h"

namespace lathe::space {

struct Knob {
  std::string name;                  // "tile.p", "order"
  std::vector<std::int64_t> values;  // ordinal; for structural knobs 0 ... n-1 with labels
  std::vector<std::string> labels;   // structural knobs: what each value means; else empty
  bool structural = false;           // picks another nest, not just another size

  std::size_t nearest(std::int64_t wanted) const;  // the position of the value closest to it
};

// A nest derived once for given structural choices, sizes open, with the trace that made it.
struct Sketch {
  ir::Nest nest;
  schedule::Trace trace;  // sizes refer to nest.sizes
};

enum class Flavour { kDefault, kWide };
std::string_view name_of(Flavour flavour);  // "default", "wide"
Result<Flavour> flavour_named(const std::string& name);

class Space : public Domain {
 public:
  const te::Program& program() const;
  const std::vector<Knob>& knob_list() const;
  // number of configurations, constraints not counted; see count_programs()
  double size() const;
  std::uint64_t hash() const;  // of knobs, values and constraints: stored with every record

  // The derived nest of a configuration's structural knobs; derived on first use, kept, safe from
  // several threads.
  const Sketch& sketch(const Config& config) const;
  // Values of all knobs, in knob order: what Sizes::evaluate takes.
  void knob_values(const Config& config, std::vector<std::int64_t>& out) const;
  // Concrete trace of a configuration: replays on naive_nest(program).
  schedule::Trace trace(const Config& config) const;
  std::string describe(const Config& config) const;  // "p=14 v=2 order=..."
  Json to_json(const Config& config) const;          // {"tile.p": 14, ...}
  Result<Config> from_json(const Json& json) const;
  // The configuration a person would start from: the analytic default, valid, in its form.
  Config default_config() const;

  int knobs() const override;
  int values(int knob) const override;
  bool valid(const Config& config) const override;
  // Derived and hand-written spaces have one form a program; in a part of a space every
  // configuration stands for itself.
  Config canonical(const Config& config) const override;
  std::uint64_t program_number(const Config& config) const override;
  Config random(Rng& rng) const override;
  Config neighbour(const Config& config, Rng& rng) const override;

  struct Impl;  // of this room
  explicit Space(std::unique_ptr<Impl> impl);
  ~Space() override;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

Result<std::unique_ptr<Space>> derive_space(const te::Program& program, const Target& target,
                                            Flavour flavour);

// The valid configurations of a small space, the last knob the fastest.
std::vector<Config> all_configs(const Space& space);

// How many programs a space has: its valid configurations in their form.
struct ProgramCount {
  double programs = 0;
  int samples = 0;  // 0: counted; else estimated from so many configurations drawn at random
  // of an estimate: half the width of its 95 % interval, as a share of it; infinity: none was met
  double uncertainty = 0;
};
ProgramCount count_programs(const Space& space);

}  // namespace lathe::space
