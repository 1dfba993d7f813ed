// A space that was measured whole: the time of every configuration, with the machine and the
// programs that it came from. Any search can then run on it without hardware, again and again, and
// its best is known.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/cache_mode.h"
#include "base/result.h"
#include "base/target.h"
#include "tuner/space/space.h"

namespace lathe::recorded {

struct Trial {
  // The time of its visits in the recording; infinity: it failed.
  double seconds = std::numeric_limits<double>::infinity();
  double raced_seconds = 0;    // median of the races afterwards; 0: not raced
  double spread = 0;           // what `seconds` was measured to within, relative
  bool dropped_early = false;  // far from the best: `seconds` is of one visit
  int failure = -1;            // in Recording::failures; -1: it worked
};

struct Failure {
  std::string kind, message;
};

class Recording {
 public:
  std::string name;
  std::shared_ptr<const space::Space> space;  // complete without the rules that derived it
  Target target;                              // resolved
  Fingerprint machine;
  CacheMode cache_mode = CacheMode::kWarm;
  space::Flavour flavour = space::Flavour::kWide;  // of which it is a part
  int codegen_version = 0;
  double peak_flops = 0;  // of the machine, on the target's threads
  std::vector<Failure> failures;

  // All valid configurations; trials() has what became of each.
  const std::vector<space::Config>& configs() const { return configs_; }
  const std::vector<Trial>& trials() const { return trials_; }
  std::optional<std::size_t> find(const space::Config& config) const;

  // The time to believe; infinity if it failed. Races take place at another hour than the
  // recording, so their medians are brought to its scale by the median ratio of the two among those
  // that were raced. Nothing counts as faster than the fastest that was raced.
  double seconds(std::size_t config) const { return believed_[config]; }
  double best_seconds() const { return best_; }

  // Takes one trial for each configuration of `space`, in the order of all_configs().
  Status set_trials(std::vector<Trial> trials);
  // The same, but with times and failures dealt to the configurations anew, so that nothing is left
  // to learn.
  Recording shuffled(std::uint64_t seed) const;

 private:
  void believe();

  std::vector<space::Config> configs_;
  std::vector<Trial> trials_;
  std::vector<double> believed_;
  double best_ = std::numeric_limits<double>::infinity();
  std::unordered_map<space::Config, std::size_t, space::ConfigHash> places_;
};

// The file is JSON in a Zstandard frame, with a version and a checksum. Loading needs neither
// hardware nor LLVM. The error's place is the path; it says whether the file is no recording, one
// of another version, a damaged one, or one whose programs cannot be built any more.
Status save(const Recording& recording, const std::string& path);
Result<Recording> load(const std::string& path);

}  // namespace lathe::recorded
