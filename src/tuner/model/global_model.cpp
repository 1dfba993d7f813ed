#include "tuner/model/global_model.h"

#include "base/json.h"
#include "tuner/feature/feature.h"
#include "tuner/model/container.h"

namespace lathe::model {
namespace {

constexpr std::string_view kGlobalKind = "global";

Result<std::vector<std::string>> texts(const Json& json, std::string_view member) {
  std::vector<std::string> out;
  for (const Json& item : LATHE_TRY(json_array(json, member))) {
    if (!item.is_string())
      return fail(ErrorKind::kDataLoss, "{} of the global model holds something else than texts",
                  member);
    out.push_back(item.get<std::string>());
  }
  return out;
}

Result<GlobalModel> parse(std::string_view payload) {
  std::uint64_t size = 0;
  if (!take_value(payload, size) || payload.size() < size)
    return fail(ErrorKind::kDataLoss, "the global model is damaged: train it again");
  const Json json = LATHE_TRY(parse_json(payload.substr(0, size)));
  GlobalModel global;
  const std::string objective = LATHE_TRY(json_string(json, "objective"));
  if (objective == name_of(Objective::kRegression)) global.objective = Objective::kRegression;
  else if (objective != name_of(Objective::kRank))
    return fail(ErrorKind::kDataLoss, "the global model has the unknown objective \"{}\"",
                objective);
  global.features = LATHE_TRY(json_string(json, "features"));
  global.target_class = LATHE_TRY(parse_target_class(LATHE_TRY(json_string(json, "target"))));
  global.workloads = LATHE_TRY(texts(json, "workloads"));
  global.records = LATHE_TRY(json_int(json, "records"));
  auto model = make_global({.features = global.features,
                            .objective = global.objective,
                            .target_class = global.target_class});
  LATHE_TRY_STATUS(model->load(std::string(payload.substr(size))));
  global.model = std::move(model);
  return global;
}

}  // namespace

std::string_view name_of(Objective objective) {
  return objective == Objective::kRank ? "rank" : "regression";
}

bool tells_cycles(const std::string& features, const TargetClass& target_class) {
  const auto kind = feature::kind_named(features);
  return kind && std::holds_alternative<CudaClass>(target_class.device) &&
         feature::tells_cycles({.kind = *kind, .device = DeviceKind::kCuda});
}

std::unique_ptr<CostModel> make_global(const GlobalOptions& options) {
  if (options.features == "tree")
    return make_treegru(
        {.objective = options.objective, .threads = options.threads, .seed = options.seed});
  const auto kind = feature::kind_named(options.features);
  return make_xgboost({.objective = options.objective,
                       .threads = options.threads,
                       .seed = options.seed,
                       .block_row = kind ? feature::block_row_of(*kind) : feature::BlockRow{},
                       .over_cycles = options.objective == Objective::kRank &&
                                      tells_cycles(options.features, options.target_class)});
}

Result<std::string> save(const GlobalModel& global) {
  const std::string json = Json{
      {"objective", name_of(global.objective)},
      {"features", global.features},
      {"target", global.target_class.text()},
      {"workloads", global.workloads},
      {"records",
       global.records}}.dump();
  std::string payload;
  append_value(payload, static_cast<std::uint64_t>(json.size()));
  payload += json;
  payload += LATHE_TRY(global.model->save());
  return pack(kGlobalKind, payload);
}

Result<GlobalModel> load_global(std::string_view bytes) {
  return parse(LATHE_TRY(unpack(bytes, kGlobalKind)));
}

Status check_fit(const GlobalModel& global, const std::string& features, Objective objective,
                 const TargetClass& target_class) {
  if (global.target_class != target_class)
    return fail(ErrorKind::kInvalidArgument,
                "the global model is for {}, the target has {}; train one on records of this "
                "target with lathe model train",
                global.target_class.text(), target_class.text());
  if (global.features != features) {
    const std::string advice = global.features == "tree" ? "choose a treegru model"
                               : features == "tree"      ? "choose an xgb model"
                                                         : "give --features " + global.features;
    return fail(ErrorKind::kInvalidArgument,
                "the global model was trained on {} features, not {}; {}", global.features,
                features, advice);
  }
  if (global.objective != objective)
    return fail(ErrorKind::kInvalidArgument,
                "the global model has the {} objective and cannot be added to one of {}",
                name_of(global.objective), name_of(objective));
  return {};
}

}  // namespace lathe::model
