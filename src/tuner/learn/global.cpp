#include "tuner/learn/global.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tuner/feature/feature.h"

namespace lathe::learn {
namespace {

// These bound the time of global_of_store.
constexpr int kRowsAGroup = 192, kRows = 3072;

bool teaches(const model::Rows& rows) {
  std::map<int, int> worked;
  for (int i = 0; i < rows.count(); ++i)
    if (std::isfinite(rows.seconds[i]) && ++worked[rows.workload[i]] == 2) return true;
  return false;
}

}  // namespace

Relation teaching_relation(const std::string& workload, const model::TargetClass& target_class) {
  const bool card = std::holds_alternative<model::CudaClass>(target_class.device);
  const bool products = relatives_of(workload, Relation::kFamily) == kProducts;
  return card && products ? Relation::kFamily : Relation::kOperator;
}

Result<model::GlobalModel> train_global(const History& history,
                                        const model::GlobalOptions& options) {
  if (LATHE_TRY(feature::kind_named(options.features)) == feature::Kind::kConfiguration)
    return fail(ErrorKind::kInvalidArgument,
                "configuration features mean another thing in every space; train a global model "
                "on features of programs");
  if (!teaches(history.rows))
    return fail(ErrorKind::kNotFound,
                "{} records are left to train on, and no workload has two that worked; run lathe "
                "tune on more workloads, or leave out fewer",
                history.rows.count());
  auto model = model::make_global(options);
  LATHE_TRY_STATUS(model->train(history.rows));
  return model::GlobalModel{options.objective,   options.features,     options.target_class,
                            history.workloads(), history.rows.count(), std::move(model)};
}

Result<std::optional<model::GlobalModel>> global_of_store(
    store::Store& store, const std::string& workload, const std::string& target,
    CacheMode cache_mode, const std::string& cpu, const model::GlobalOptions& options) {
  History history;
  const Selection selection = {.target = target,
                               .cache_mode = cache_mode,
                               .cpu = cpu,
                               .except = workload,
                               .like = workload,
                               .relation = teaching_relation(workload, options.target_class),
                               .rows_a_group = kRowsAGroup,
                               .rows = kRows};
  LATHE_TRY_STATUS(read_history(store, selection, options.features, history));
  if (history.rows.count() < kLeastRecords || !teaches(history.rows)) return std::nullopt;
  return LATHE_TRY(train_global(history, options));
}

}  // namespace lathe::learn
