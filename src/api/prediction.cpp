#include "api/prediction.h"

#include <filesystem>

#include "api/learning.h"

namespace lathe::api {

Result<Predicted> predict_schedule(const PredictRequest& request) {
  const te::Program program = te::canonical(request.program);
  const auto space = LATHE_TRY(space::derive_space(program, request.target, request.options.flavour));
  std::unique_ptr<store::Store> store;
  if (std::error_code ignored; std::filesystem::exists(request.database, ignored))
    store = LATHE_TRY(store::open_sqlite(request.database));
  Predicted out;
  tune::Options options = request.options;
  if (const auto global = LATHE_TRY(global_model_for(request.global_model, te::workload_key(program), request.target,
                                                     store.get(), options))) {
    options.global = global->model;
    out.global_records = global->records;
    out.global_workloads = static_cast<int>(global->workloads.size());
  }
  const auto subject = LATHE_TRY(tune::make_subject(*space, options, request.target));
  const search::Config config = LATHE_TRY(tune::predict(*subject, options));
  out.trace = space->trace(config);
  out.config = space->to_json(config);
  out.text = space->describe(config);
  return out;
}

}  // namespace lathe::api
