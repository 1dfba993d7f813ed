// A schedule chosen by models alone.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "compiler/te/program.h"
#include "tuner/tune/tune.h"

namespace lathe::api {

struct PredictRequest {
  te::Program program;
  Target target;
  std::string database;                        // teaches, where it exists
  std::string global_model;                    // file of one; empty: what the database teaches
  tune::Options options;                       // search, model, features, flavour, seed, jobs
};

struct Predicted {
  schedule::Trace trace;                       // replays on naive_nest(canonical(program))
  Json config;
  std::string text;                            // of the configuration
  std::int64_t global_records = 0;             // that the model rests on; 0: no records, the analytic model chose
  int global_workloads = 0;
};

// Measures nothing; some tenths of a second.
Result<Predicted> predict_schedule(const PredictRequest& request);

}  // namespace lathe::api
