// The raw rows behind the figures: one line for each finished run, so that nothing is run twice,
// whatever ended the command.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "research/experiment/curve.h"

namespace lathe::paper {

struct RunKey {
  // the space's name; hash of its file; arm; hash of its settings
  std::string space, recording, arm, settings;
  int trials = 0;
  std::uint64_t seed = 0;
  auto operator<=>(const RunKey&) const = default;
};

class RawRows {
 public:
  // Reads the rows that there are and drops a last line that a kill cut short. The error names a
  // damaged line, or says that another process writes in that folder.
  static Result<RawRows> open(const std::string& path);

  const experiment::Curve* find(const RunKey& key) const;
  // Adds a line, which is on disk when this returns.
  Status add(const RunKey& key, const experiment::Curve& curve);
  // Writes the file anew in the order of the keys, so that equal runs leave equal bytes, in
  // whatever order they ended.
  Status sort() const;

 private:
  explicit RawRows(std::string path) : path_(std::move(path)) {}
  Status lock();
  Status read(const std::string& text);
  Status keep_whole_lines();

  std::string path_;
  std::shared_ptr<const int> folder_;  // open and locked until the last copy is gone
  std::map<RunKey, experiment::Curve> rows_;
};

}  // namespace lathe::paper
