// Builds the sketch of a Cook-Toom algorithm, step by step; only its own sources include this.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tuner/space/rules/cook_toom/cook_toom.h"
#include "tuner/space/rules/shared/stepper.h"

namespace lathe::space {

class CookToomBuilder : private Stepper {
 public:
  CookToomBuilder(const CookToomRule& rule, const std::vector<Knob>& knobs,
                  std::span<const std::int64_t> values, Sketch& sketch)
      : Stepper(sketch.nest, sketch.trace, rule.prepared.view.contract.free_layout),
        rule_(rule),
        sum_(rule.sum),
        knobs_(knobs),
        values_(values),
        algorithm_(rule.algorithms[chosen(rule.at.algorithm)]) {}

  void run();

 private:
  using Names = std::vector<std::string>;
  using Items = std::vector<schedule::LayoutItem>;

  std::size_t chosen(int knob) const {
    return knob < 0 ? 0 : static_cast<std::size_t>(values_[static_cast<std::size_t>(knob)]);
  }
  bool whole_input() const {
    return shares_positions() || rule_.places[chosen(rule_.at.place)] == InputPlace::kWhole;
  }
  ir::SizeId size(int knob) {
    return knob < 0 ? number(1)
                    : nest_.sizes.knob(knob, knobs_[static_cast<std::size_t>(knob)].name);
  }
  ir::SizeId lanes() { return number(rule_.lanes); }
  bool shares_positions() const {
    return rule_.at.share >= 0 && rule_.shares[chosen(rule_.at.share)] == TileShare::kPositions;
  }

  bool transformed(const ImageAxis& axis) const { return algorithm_.transforms(axis); }
  std::size_t transforms() const { return algorithm_.taps.size(); }
  // The axis that the transforms with this number are along.
  const ImageAxis& along(std::size_t a) const {
    return *std::ranges::find(sum_.axes, algorithm_.taps[a], &ImageAxis::tap);
  }
  std::string stage(const char* what, std::size_t a) const {
    const std::string name = sum_.block + "." + what;
    return a == 0 ? name : name + "." + std::to_string(a);
  }
  // The tiles along an axis, or its results where it is not transformed.
  std::int64_t tiles_along(const ImageAxis& axis) const {
    const auto found = std::ranges::find(algorithm_.taps, axis.tap);
    if (found == algorithm_.taps.end()) return axis.extent;
    const auto a = static_cast<std::size_t>(found - algorithm_.taps.begin());
    return (axis.results() + algorithm_.tiles[a] - 1) / algorithm_.tiles[a];
  }
  // The loop over an axis' tiles, or over its results where it is not transformed.
  std::string tiles_of(const ImageAxis& axis) const {
    return sum_.block + "." + axis.iter + (transformed(axis) ? ".t" : "");
  }

  static void append(Names& names, const Names& others) {
    names.insert(names.end(), others.begin(), others.end());
  }
  static void append(Items& items, const std::vector<int>& dims) {
    for (const int d : dims) items.push_back({d, std::int64_t{1}});
  }

  // builder.cpp: the result and the products
  Names strands_of(const ImageAxis& axis, const std::string& prefix) const;
  void split_result();
  void place_output_transforms();
  void store_along(const std::string& name, int inside);
  void place_products();
  void keep_products(const std::string& name, const std::string& loop);
  bool is_position(int filter_dim) const;
  void prepare_filter();
  void prefetch_panels(const std::string& name);
  Names shared_result() const;
  void share();
  bool planes_collide(const te::Stage& stage) const;
  void write_rows(Names loops, const std::string& vector);
  void schedule_others();

  // input.cpp: the transforms of the input, and what they read
  using LoopOf = std::function<std::string(const std::string&)>;
  int axis_at(int dim) const;
  std::size_t transform_of(const ImageAxis& axis) const {
    return static_cast<std::size_t>(std::ranges::find(algorithm_.taps, axis.tap) -
                                    algorithm_.taps.begin());
  }
  int input_lanes() const;
  int channels_dim(std::size_t a) const;
  void place_input_transforms();
  std::string order_input_transform(std::size_t a, const LoopOf& loop, bool outermost);
  void store_input(const std::string& name);
  void copy_input();

  const CookToomRule& rule_;
  const ImageSum& sum_;
  const std::vector<Knob>& knobs_;
  std::span<const std::int64_t> values_;
  const Algorithm& algorithm_;
  Names block_loops_;  // over blocks of tiles
  std::string meeting_, tile_loop_, reduction_loop_;
  std::string tiles_loop_;  // the outer one over tiles that read the same weights
  std::string row_loop_;    // around that over the tiles of a row; empty: there is none
  Names shared_input_;      // loops of the whole input's transform
  Names shared_products_;   // loops of all products outside the reduction
  std::string copied_block_, copied_row_;  // the loops at which the input may be copied
};

}  // namespace lathe::space
