#include "api/prediction.h"

#include <filesystem>

#include "api/workload.h"
#include "tuner/measure/device.h"

namespace lathe::api {

Result<Predicted> predict_schedule(const PredictRequest& request) {
  if (request.options.model.name == "none")
    return fail_at("--model", ErrorKind::kInvalidArgument,
                   "none chooses nothing; name another model, or measure with --trials");
  const te::Workload workload = te::canonical(request.task.workload);
  const auto space =
      LATHE_TRY(space_of_key(request.task.workload, request.target, request.options.run.flavour));
  std::unique_ptr<store::Store> store;
  if (std::error_code ignored; std::filesystem::exists(request.database, ignored))
    store = LATHE_TRY(store::open_sqlite(request.database));
  Predicted out;
  tune::Options options = request.options;
  out.origin = LATHE_TRY(begin_from_others(request.global_model, te::workload_key(workload),
                                           request.target, store.get(), options));
  const auto subject = LATHE_TRY(
      tune::make_subject(*space, options, request.target, measure::machine_for(request.target)));
  const space::Config config = LATHE_TRY(tune::predict(*subject, options));
  out.trace = space->trace(config);
  out.config = space->to_json(config);
  out.text = space->describe(config);
  return out;
}

}  // namespace lathe::api
