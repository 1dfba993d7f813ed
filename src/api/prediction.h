// A schedule that models choose alone.
#pragma once

#include <string>

#include "api/learning.h"
#include "base/result.h"
#include "base/target.h"
#include "compiler/schedule/step.h"
#include "tuner/tune/task.h"
#include "tuner/tune/tune.h"

namespace lathe::api {

struct PredictRequest {
  tune::Task task;
  Target target;
  std::string database;      // its records teach, if it exists
  std::string global_model;  // file of a global model; empty: what the database teaches
  tune::Options options;     // search, model, features, flavour, seed, jobs
};

struct Predicted {
  schedule::Trace trace;  // applies to naive_nest(canonical(program))
  Json config;
  std::string text;  // of the configuration
  Origin origin;     // without records, the analytic model chose
};

// Measures nothing; takes some tenths of a second.
Result<Predicted> predict_schedule(const PredictRequest& request);

}  // namespace lathe::api
