#include "tuner/tune/tune.h"

#include "tuner/tune/tuner.h"

namespace lathe::tune {

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kMeasuring: return "measuring";
    case Phase::kRacing: return "racing";
    case Phase::kSearching: return "searching";
    case Phase::kStarting: return "starting";
    case Phase::kTraining: return "training";
  }
  return "";
}

Result<Summary> tune(const Subject& subject, measure::Measurer& measurer, store::Store& store,
                     const Target& target, const Options& options,
                     const SearcherMaker& make_searcher, model::CostModel* model,
                     const Listener& listener, const std::function<bool()>& stop) {
  const auto tuner = LATHE_TRY(
      Tuner::make(subject, measurer, store, target, options, make_searcher, model, listener, stop));
  while (tuner->more()) LATHE_TRY_STATUS(tuner->step());
  LATHE_TRY_STATUS(tuner->race());
  return tuner->summary();
}

}  // namespace lathe::tune
