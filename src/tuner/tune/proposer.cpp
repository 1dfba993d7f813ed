#include "tuner/tune/proposer.h"

#include "tuner/tune/explorer.h"

namespace lathe::tune {
namespace {

class ModelProposer final : public Proposer {
 public:
  ModelProposer(const Subject& subject, std::unique_ptr<model::CostModel> model,
                const SearcherMaker& make, const Options& options)
      : model_(std::move(model)),
        known_(subject, model_ != nullptr, TrialCost(false, options.run.jobs)),
        explorer_(subject, model_.get(), known_, options, make) {}

  Result<std::vector<space::Config>> ask(int wanted) override {
    LATHE_TRY_STATUS(explorer_.train());
    return explorer_.ask(wanted);
  }

  Status tell(const std::vector<search::Measured>& results) override {
    for (const auto& result : results) {
      known_.add_row(result.config, result.seconds, 0);
      known_.measured.push_back(result);
    }
    explorer_.tell();
    return {};
  }

 private:
  std::unique_ptr<model::CostModel> model_;
  Known known_;
  Explorer explorer_;
};

}  // namespace

Result<std::unique_ptr<Proposer>> Proposer::make(const Subject& subject, const Options& options) {
  const auto maker = LATHE_TRY(searcher_of(options));
  auto model = LATHE_TRY(model_of(options, subject.tells_cycles()));
  return std::make_unique<ModelProposer>(subject, std::move(model), maker, options);
}

}  // namespace lathe::tune
