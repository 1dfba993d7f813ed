#include "tuner/tune/explorer.h"

#include "base/hash.h"

namespace lathe::tune {
namespace {

std::uint64_t searcher_seed(std::uint64_t seed, int trials) {
  if (trials == 0) return seed;
  return Hasher().add(seed).add(static_cast<std::uint64_t>(trials)).value();
}

}  // namespace

Explorer::Explorer(const Subject& subject, model::CostModel* model, Known& known,
                   const Options& options, const SearcherMaker& make_searcher, int trials)
    : model_(model),
      known_(known),
      scorer_(subject, model, options),
      searcher_(make_searcher(subject.domain(), scorer_, searcher_seed(options.run.seed, trials))) {
  scorer_.mind(known.cost, options.search.thrift);
}

bool Explorer::outdated() const {
  return model_ != nullptr && known_.worked >= 2 && known_.rows.count() != trained_rows_;
}

Status Explorer::train() {
  if (!outdated()) return {};
  LATHE_TRY_STATUS(model_->update(known_.rows));
  trained_rows_ = known_.rows.count();
  known_.cost.fit();
  scorer_.calibrate(known_.measured, known_.worked);
  return {};
}

Result<std::vector<space::Config>> Explorer::ask(int wanted) {
  auto configs = searcher_->ask(wanted);
  LATHE_TRY_STATUS(scorer_.status());
  return configs;
}

void Explorer::tell() {
  searcher_->tell(std::span(known_.measured).subspan(told_));
  told_ = known_.measured.size();
}

Result<std::vector<double>> Explorer::scores(std::span<const space::Config> configs) {
  std::vector<double> scores(configs.size(), 0.0);
  if (scorer_.ready() && !configs.empty()) scorer_.score(configs, scores);
  LATHE_TRY_STATUS(scorer_.status());
  return scores;
}

}  // namespace lathe::tune
