// A library for a device, as `lathe compile` writes it, with what it should compute.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "api/artifact.h"
#include "api/targets.h"
#include "api/workload.h"
#include "oracle/te_eval.h"

namespace lathe {

struct WrittenLibrary {
  te::Workload workload;
  std::vector<interp::Tensor> inputs, want;
  api::ArtifactFiles files;
};

// Under the default schedule, to this path. It throws where that fails.
inline WrittenLibrary written_library(const api::WorkloadRequest& request, const std::string& path,
                                      const std::string& name, const std::string& target) {
  const auto made = api::make_workload(request);
  if (!made) throw std::runtime_error(made.error().text());
  const auto source = *api::schedule_source({.which = "default"});
  const auto chosen = source(made->definition, *api::make_target(target, 0));
  if (!chosen) throw std::runtime_error(chosen.error().text());
  auto files = api::write_artifact(made->definition, *chosen, {path, name, api::Checking::kSkip});
  if (!files) throw std::runtime_error(files.error().text());
  WrittenLibrary written{.workload = made->definition, .inputs = {}, .want = {}, .files = *files};
  Rng rng(7);
  written.inputs = interp::random_inputs(written.workload, rng);
  written.want = *interp::evaluate(written.workload, written.inputs);
  return written;
}

}  // namespace lathe
