#include "tuner/search/search.h"
#include "tuner/search/unseen.h"

namespace lathe::search {
namespace {

class Random final : public Searcher {
 public:
  Random(const space::Domain& domain, std::uint64_t seed) : unseen_(domain), rng_(seed) {}

  std::vector<space::Config> ask(int wanted) override { return unseen_.draw(wanted, rng_); }
  void tell(std::span<const Measured> results) override {
    for (const auto& result : results) unseen_.mark(result.config);
  }
  void exclude(std::span<const space::Config> configs) override {
    for (const auto& config : configs) unseen_.mark(config);
  }

 private:
  Unseen unseen_;
  Rng rng_;
};

}  // namespace

std::unique_ptr<Searcher> make_random(const space::Domain& domain, std::uint64_t seed) {
  return std::make_unique<Random>(domain, seed);
}

}  // namespace lathe::search
