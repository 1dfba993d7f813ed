#include "tuner/space/rules/strips/strip_space.h"

#include <algorithm>

#include "tuner/space/costs.h"
#include "tuner/space/rules/shared/axes.h"
#include "tuner/space/rules/shared/choices.h"
#include "tuner/space/rules/shared/knob_list.h"
#include "tuner/space/rules/strips/stencils.h"
#include "tuner/space/rules/strips/strip_cost.h"
#include "tuner/space/rules/strips/strip_sketch.h"
#include "tuner/space/rules/tile/tile_sketch.h"

namespace lathe::space {
namespace {

// A search starts with strips if they promise at most this share of the time without; of small
// images, that the second cache holds with all that is made of them, less.
constexpr double kStripsPay = 0.9, kSmallPay = 0.75;

bool is_small(const te::Workload& view) {
  double bytes = 0;
  for (const te::Tensor& tensor : view.tensors)
    if (tensor.role != te::TensorRole::kLiteral) bytes += bytes_of(tensor);
  return bytes <= kL2 / 2;
}

const std::vector<std::int64_t> kTileVectors = {1, 2, 3, 4}, kTileHeights = {1, 2, 4};

// Those of a list that are less than all there is, or that alone.
std::vector<std::int64_t> blocks_below(const std::vector<std::int64_t>& list, std::int64_t all) {
  std::vector<std::int64_t> out;
  for (const std::int64_t each : list)
    if (each < all) out.push_back(each);
  if (out.empty()) out.push_back(all);
  return out;
}

class StripAlternatives : public Alternatives {
 public:
  StripAlternatives(const CpuContext& context, Stencils pipeline)
      : pipeline_(std::move(pipeline)),
        pays_(is_small(context.direct->prepared.view) ? kSmallPay : kStripsPay),
        apart_(
            cycles_apart(context.direct->prepared.view, pipeline_.lanes, context.target.threads)) {
    rows_ = blocks_below({2, 4, 8, 16, 32, 64, 128}, pipeline_.extent(pipeline_.rows.back()));
    widths_ = {0};
    for (const std::int64_t width : {128, 256, 512, 1024, 2048})
      if (width < pipeline_.extent(pipeline_.lane)) widths_.push_back(width);
    depths_ = pipeline_.rows.size() < 2
                  ? std::vector<std::int64_t>{1}
                  : blocks_below({1, 2, 4, 8, 16, 32}, pipeline_.extent(pipeline_.rows[0]));
  }

  // Looks for the best of each size in turn. False if there are no strips that the steps can make.
  bool find_start() {
    start_.rows = rows_[rows_.size() / 2];
    start_.depth = depths_[depths_.size() / 2];
    start_.kept = pipeline_.loose.size();
    const auto try_kept = [&] {
      for (std::size_t kept = 0; kept <= pipeline_.loose.size(); ++kept)
        try_start([&](StripChoice& choice) { choice.kept = kept; });
    };
    const auto try_all = [&](const std::vector<std::int64_t>& values, auto member) {
      for (const std::int64_t value : values)
        try_start([&](StripChoice& choice) { member(choice) = value; });
    };
    for (int round = 0; round < 2; ++round) {
      try_kept();
      try_all(rows_, [](StripChoice& choice) -> auto& { return choice.rows; });
      try_all(depths_, [](StripChoice& choice) -> auto& { return choice.depth; });
      try_all(widths_, [](StripChoice& choice) -> auto& { return choice.width; });
      try_all(kTileHeights, [](StripChoice& choice) -> auto& { return choice.kept_height.value; });
      try_all(kTileHeights, [](StripChoice& choice) -> auto& { return choice.height.value; });
    }
    return least_ >= 0;
  }

  std::vector<Choice> choices(const std::vector<Knob>& before) override {
    std::vector<Knob> knobs = before;
    KnobList list(knobs);
    std::vector<std::string> labels = {"apart"};
    for (const std::int64_t rows : rows_) labels.push_back(std::to_string(rows));
    at_.rows = list.choice("strips", std::move(labels));
    labels.clear();
    for (const std::int64_t width : widths_)
      labels.push_back(width == 0 ? "whole" : std::to_string(width));
    at_.width = list.choice("strip.width", std::move(labels));
    if (pipeline_.rows.size() > 1) {
      labels.clear();
      for (const std::int64_t depth : depths_) labels.push_back(std::to_string(depth));
      at_.depth = list.choice("strip.depth", std::move(labels));
    }
    labels.clear();
    for (std::size_t kept = 0; kept <= pipeline_.loose.size(); ++kept)
      labels.push_back(std::to_string(kept));
    at_.kept = list.choice("strip.kept", std::move(labels));
    at_.vectors = list.size("strip.vectors", kTileVectors);
    at_.height = list.size("strip.height", kTileHeights);
    at_.kept_vectors = list.size("kept.vectors", kTileVectors);
    at_.kept_height = list.size("kept.height", kTileHeights);
    return {choice_of(std::move(knobs), before.size())};
  }

  void add_limits_and_starts(Derived& derived) override {
    names_.clear();
    for (const Knob& knob : derived.knobs) names_.push_back(knob.name);
    std::vector<std::int64_t> start = derived.starts[0];
    const auto set = [&](int knob, std::int64_t value) {
      if (knob >= 0) start[static_cast<std::size_t>(knob)] = value;
    };
    const auto position = [](const std::vector<std::int64_t>& values, std::int64_t value) {
      return std::ranges::find(values, value) - values.begin();
    };
    set(at_.rows, position(rows_, start_.rows) + 1);
    set(at_.width, position(widths_, start_.width));
    set(at_.depth, position(depths_, start_.depth));
    set(at_.kept, static_cast<std::int64_t>(start_.kept));
    set(at_.vectors, start_.vectors.value);
    set(at_.height, start_.height.value);
    set(at_.kept_vectors, start_.kept_vectors.value);
    set(at_.kept_height, start_.kept_height.value);
    if (least_ <= pays_ * apart_) std::swap(derived.starts[0], start);
    if (derived.starts.size() >= kMostStarts) derived.starts.pop_back();
    derived.starts.insert(derived.starts.begin() + 1, std::move(start));
  }

  Result<Sketch> build(std::span<const std::int64_t> values, const Build&) const override {
    const auto chosen = [&](int knob) {
      return static_cast<std::size_t>(values[static_cast<std::size_t>(knob)]);
    };
    const auto size = [&](int knob) {
      return StripSize{1, knob, names_[static_cast<std::size_t>(knob)]};
    };
    StripChoice choice;
    choice.rows = rows_[chosen(at_.rows) - 1];
    choice.width = widths_[chosen(at_.width)];
    if (at_.depth >= 0) choice.depth = depths_[chosen(at_.depth)];
    choice.kept = chosen(at_.kept);
    choice.vectors = size(at_.vectors);
    choice.height = size(at_.height);
    choice.kept_vectors = size(at_.kept_vectors);
    choice.kept_height = size(at_.kept_height);
    return build_strips(pipeline_, choice);
  }

 private:
  // Takes the start with this change if it promises to take less.
  template <class Change>
  void try_start(const Change& change) {
    StripChoice choice = start_;
    change(choice);
    const Result<Sketch> sketch = build_strips(pipeline_, choice);
    if (!sketch) return;
    const double cycles = cycles_in_strips(pipeline_, choice, *sketch);
    if (least_ >= 0 && cycles >= least_) return;
    least_ = cycles;
    start_ = choice;
  }

  Stencils pipeline_;
  double pays_;        // at this share of the time without strips
  double apart_;       // cycles without strips
  double least_ = -1;  // with them
  std::vector<std::int64_t> rows_, depths_, widths_;
  StripChoice start_{.vectors = {2}, .height = {1}, .kept_vectors = {2}, .kept_height = {2}};
  struct {  // knobs by number
    int rows = -1, width = -1, depth = -1, kept = -1, vectors = -1, height = -1, kept_vectors = -1,
        kept_height = -1;
  } at_;
  std::vector<std::string> names_;  // of all knobs
};

}  // namespace

Result<std::unique_ptr<Alternatives>> offer_strips(const CpuContext& context) {
  auto pipeline = find_stencils(context);
  if (!pipeline) return nullptr;
  auto strips = std::make_unique<StripAlternatives>(context, std::move(*pipeline));
  if (!strips->find_start()) return nullptr;
  return strips;
}

namespace {

constexpr Meaning kStripMeanings[] = {
    {"strips",
     "of a pipeline of stencils: apart: each stage goes through the whole image; a number: the "
     "output is computed in strips of so many rows, with what they need of the other stages"},
    {"strip.width", "elements of a strip along the last axis"},
    {"strip.depth", "size of a strip along the first of two axes with neighbours"},
    {"strip.kept",
     "of the stages that each tile may compute for itself, so many are computed for a strip and "
     "kept, too"},
    {"strip.vectors", "width of a tile of the output, in vectors"},
    {"strip.height", "height of a tile of the output, in rows"},
    {"kept.vectors", "width of a tile of what is kept for a strip, in vectors"},
    {"kept.height", "its height, in rows"},
};

}  // namespace

std::span<const Meaning> strip_meanings() { return kStripMeanings; }

}  // namespace lathe::space
