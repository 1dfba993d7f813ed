// Times of programs for a card that were drawn evenly: bench/gpu/generated.jsonl.zst. Each line is
// a workload, a configuration of its space, microseconds on an H200, and registers of a thread.
// They are of CUDA C that was generated in the structure of the configuration, not of Lathe's own
// programs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "search/probe.h"
#include "tuner/feature/feature.h"
#include "tuner/learn/relation.h"
#include "tuner/model/model.h"
#include "tuner/space/space.h"

namespace lathe::bench {

struct Sample {
  std::shared_ptr<const space::Space> space;
  std::vector<space::Config> configs;
  std::vector<double> seconds;
  int left_out = 0;  // configurations that the space does not have
};
using Samples = std::map<std::string, Sample>;

// Of the file that the settings name, or of all.
Result<Samples> card_samples(const Settings& settings);
Target sampled_card();

// Context features of each sample's configurations, one row after the other.
struct SampleRows {
  int width = 0;
  std::map<std::string, std::vector<float>> features;
};
Result<SampleRows> rows_of(const Samples& samples, int jobs);

// Trees that have seen all samples but this one, and those that are related to it in one of these
// ways.
Result<std::shared_ptr<const model::CostModel>> trees_of_others(
    const Samples& samples, const SampleRows& rows, const std::string& without,
    const std::vector<learn::Relation>& unrelated, const model::XgboostOptions& options);

// Adds the means of what the rows tell of each workload: geometric ones, but of shares of pairs and
// of numbers of configurations.
void add_means(std::vector<Row>& rows);

}  // namespace lathe::bench
