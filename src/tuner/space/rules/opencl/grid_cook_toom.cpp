#include "tuner/space/rules/opencl/grid_cook_toom.h"

#include <algorithm>

#include "compiler/te/saturation.h"
#include "tuner/space/rules/cook_toom/algorithms.h"
#include "tuner/space/rules/opencl/item_space.h"
#include "tuner/space/rules/shared/knob_list.h"

namespace lathe::space {
namespace {

// A search begins with these, the most promising first: transforms take long beside few products.
constexpr std::size_t kStarts = 3;

class GridCookToom : public Alternatives {
 public:
  GridCookToom(std::vector<Algorithm> algorithms, std::vector<ItemProgram> programs,
               const GridContext& context)
      : algorithms_(std::move(algorithms)),
        programs_(std::move(programs)),
        flavour_(context.flavour),
        may_be_direct_(context.workload.contract.may_be_direct()) {}

  // All algorithms share the knobs, which are those of the first.
  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    at_ = before.size();
    std::vector<Knob> knobs = before;
    std::vector<std::string> labels = {"direct"};
    for (const Algorithm& each : algorithms_) labels.push_back(label_of(each));
    KnobList(knobs).choice("algorithm", std::move(labels));
    programs_[0].list_knobs("ct.", knobs);
    for (ItemProgram& program : programs_) program.share_knobs(programs_[0]);
    return {choice_of(std::move(knobs), at_)};
  }

  void add_limits_and_starts(Derived& derived) override {
    programs_[0].constrain(flavour_, derived);
    knobs_ = derived.knobs;
    // Limits of direct sums hold for their knobs, which have no effect here.
    const std::vector<std::int64_t> valid =
        derived.starts.empty() ? first_values(knobs_) : derived.starts[0];
    if (!may_be_direct_) derived.starts.clear();
    // Of two axes and large tiles first.
    for (std::size_t i = algorithms_.size(); i-- > 0 && derived.starts.size() <= kStarts;) {
      std::vector<std::int64_t> start = valid;
      start[at_] = static_cast<std::int64_t>(i) + 1;
      programs_[i].set_start(knobs_, start);
      derived.starts.push_back(std::move(start));
    }
  }

  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    return programs_[static_cast<std::size_t>(values[at_]) - 1].build(knobs_, values);
  }

 private:
  std::vector<Algorithm> algorithms_;
  std::vector<ItemProgram> programs_;  // one for each
  Flavour flavour_;
  bool may_be_direct_;
  std::vector<Knob> knobs_;  // of the space
  std::size_t at_ = 0;       // the number of the knob
};

constexpr Meaning kGridCookToomMeanings[] = {
    {"ct.width", "elements of the vectors of the products"},
    {"ct.item.v", "width of an item's tile of products along the vector axis, in vectors"},
    {"ct.item.p0", "height of it along the innermost pixel axis"},
    {"ct.item.p1", "height of it along the next pixel axis"},
    {"ct.group.x", "items of a work group of the products along the vector axis"},
    {"ct.group.y", "items of a work group of the products along the innermost pixel axis"},
    {"ct.reduce", "what is outer within the products' reduction"},
    {"ct.pack.weights", "copy of the transformed filter in which vectors lie together"},
};

}  // namespace

std::span<const Meaning> grid_cook_toom_meanings() { return kGridCookToomMeanings; }

Result<std::unique_ptr<Alternatives>> offer_grid_cook_toom(const GridContext& context) {
  const te::Workload& workload = context.workload;
  if (workload.contract.level() < te::Numerics::kLocal) return nullptr;
  if (workload.contract.may_be_direct() && te::saturates(workload, te::Saturated::kSums))
    return nullptr;
  Prepared prepared = begin(workload, algebra::Repeated::kKept);
  prepared.view = view_of(prepared.nest, workload);
  const auto main = static_cast<std::size_t>(main_stage(prepared.view));
  const auto sum = image_sum_of(prepared.view, prepared.view.stages[main]);
  std::vector<Algorithm> algorithms, all = LATHE_TRY(algorithms_for(workload.contract, sum));
  std::vector<ItemProgram> programs;
  for (std::size_t i = 1; i < all.size(); ++i) {
    Prepared own = prepared;
    if (!try_step(own.nest, own.steps, schedule::CookToom{sum->block, all[i].taps, all[i].tiles},
                  false))
      continue;
    own.view = view_of(own.nest, workload);
    ItemProgram program(std::move(own), context.grids);
    if (!program.has_axes()) continue;
    programs.push_back(std::move(program));
    algorithms.push_back(std::move(all[i]));
  }
  if (programs.empty()) return nullptr;
  return std::make_unique<GridCookToom>(std::move(algorithms), std::move(programs), context);
}

}  // namespace lathe::space
