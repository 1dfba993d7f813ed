// The search alone, for callers who measure by themselves, and recordings: spaces that were
// measured whole, on which any search runs without hardware.
//
//   auto recording = lathe::Recording::load("C6.json.zst");
//   auto search = lathe::Search::make(*recording);
//   for (const auto& proposal : *search->ask(8))
//     search->tell(proposal.id, recording->seconds()[*recording->find(proposal.config)]);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lathe/lathe.h"

namespace lathe {

// One choice of a space.
struct Knob {
  std::string name;
  std::vector<std::int64_t> values;  // where it has labels: 0, 1, 2 ...
  // Of a structural knob, which chooses the nest: what each value means. Else empty.
  std::vector<std::string> labels;
  // A conditional knob has an effect only while the knob of this number has an effect and one of
  // these values, by position. -1: always.
  int under = -1;
  std::vector<int> under_values;
};

// Features of programs: a row for each, all of one width.
struct Features {
  std::vector<std::string> names;  // of the columns
  std::vector<float> rows;         // row-major
};

// The times of all configurations of a small space on one machine.
class Recording {
 public:
  // A file that `lathe space record` wrote.
  static Expected<Recording> load(const std::string& path);
  const std::string& name() const;
  Workload workload() const;
  std::string target() const;   // of the programs
  int threads() const;          // of a program
  std::string machine() const;  // the processor's name
  bool cold_cache() const;
  double peak_flops() const;  // of the machine on the target's threads, a second
  const std::vector<Knob>& knobs() const;

  // How many configurations there are. What follows is in their order.
  std::size_t size() const;
  // size() * knobs().size() positions of values, row-major. A knob without effect has its first.
  std::vector<std::uint16_t> positions() const;
  Expected<std::string> config(std::size_t place) const;  // JSON, as proposals have it
  // The time to believe of each, infinity where it failed: the fastest were raced again.
  const std::vector<double>& seconds() const;
  std::vector<std::string> failures() const;  // kinds, as Failure::kind; "" where it worked
  double best_seconds() const;
  // The place of a configuration; none if the space does not have it.
  Expected<std::optional<std::size_t>> find(const std::string& config) const;
  // `kind` is what TuneOptions::features may be. `jobs` threads; 0: one for each processor that may
  // be used.
  Expected<Features> features(const std::string& kind = "context", int jobs = 0) const;

  struct Impl;
  explicit Recording(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

struct Proposal {
  std::int64_t id = 0;
  std::string config;  // JSON: a value, or a label, for each knob that has an effect
};

// Asks for candidates, tells their times. Of its options, those of a run (trials, time, thrift,
// races) do nothing.
class Search {
 public:
  // It begins from what other workloads teach, as Workload::tune() does.
  static Expected<Search> make(const Workload& workload, const TuneOptions& options = {});
  // In a recording's space. Machine, caches and space are the recording's, and it begins from
  // `global_model` only.
  static Expected<Search> make(const Recording& recording, const TuneOptions& options = {});

  const std::vector<Knob>& knobs() const;
  // Proposes nothing twice, and fewer than `wanted` only when the space is exhausted.
  Expected<std::vector<Proposal>> ask(int wanted);
  // A configuration of the caller's own choice, as JSON like Proposal::config; knobs without effect
  // may be there. None if it breaks a constraint of the space. ask() does not propose it after it
  // was told.
  Expected<std::optional<Proposal>> propose(const std::string& config);
  // The steps that make its program, as JSON for Workload::compile().
  Expected<std::string> trace(const std::string& config) const;
  // `seconds` is infinity where the candidate failed. Of a program that is told again, the search
  // keeps the first time.
  Expected<void> tell(std::int64_t id, double seconds);

  struct Impl;
  explicit Search(std::unique_ptr<Impl> impl);
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;
  ~Search();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
