// One form for all configurations of one program. Internal to this room.
//
// Knobs have values without effect: a block larger than what is left to block, the order of loops
// of one iteration, a prefetch of what nobody reads. The essence of the nests (analysis/essence.h)
// tells which values these are; the rules that made the knobs need not. A size takes its first
// value that leaves every number of its nest's essence as it is. A structural knob takes its first
// value whose nest has the same essence as a formula. That depends only on which loops go away, so
// it is computed once for each case.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "compiler/analysis/essence.h"
#include "tuner/space/impl.h"

namespace lathe::space {

class Forms {
 public:
  explicit Forms(const Space::Impl& space) : space_(space) {}

  // Brings a valid configuration to its form. Thread-safe.
  void settle(Config& config) const;
  // Equal for configurations of one essence, even where their forms differ. Thread-safe.
  std::uint64_t program(const Config& config) const;

 private:
  // What the answers about a sketch's sizes decide.
  struct Shape {
    std::uint64_t structure;        // of the essence, without its sizes
    std::vector<ir::SizeId> sizes;  // the sizes of the essence
    std::vector<char> visible;      // by size: it is one of those, or asked about
    // Knobs, not structural, whose effect is not seen at once.
    std::vector<int> loose;
    std::vector<std::uint16_t> choice;  // values of the structural knobs in the form
  };
  struct Family {  // a sketch with its configurations
    explicit Family(const Sketch& sketch) : essence(sketch.nest) {}
    analysis::Essence essence;
    std::vector<ir::SizeId> entry;                    // by knob; kNone: no size depends on the knob
    std::vector<std::vector<ir::SizeId>> dependents;  // by knob, in the table's order
    mutable std::shared_mutex mutex;
    mutable std::unordered_map<std::uint64_t, std::unique_ptr<const Shape>> shapes;  // by answers
    mutable std::unordered_map<std::uint64_t, std::uint64_t> forms;                  // by answers
    // What the answers about this sketch tell about others: for each of their questions the number
    // of this sketch's, or kNo or kYes.
    mutable std::unordered_map<const Family*, std::unique_ptr<const std::vector<int>>> carried;
  };
  static constexpr int kNo = -2, kYes = -1;
  using Choice = std::vector<std::uint16_t>;

  const Family* family(const Config& config) const;
  void index(Family& family) const;
  const Shape& shape_of(const Family& family, std::span<const std::int64_t> values,
                        const Config& config) const;
  Shape make_shape(const Family& family, const analysis::Essence::Answers& answers,
                   const Config& config) const;
  Choice first_choice(const Family& family, const analysis::Essence::Answers& answers,
                      std::uint64_t form, const Config& config) const;
  std::uint64_t form_of(const Family& family, const analysis::Essence::Answers& answers) const;
  const std::vector<int>& carried_over(const Family& from, const Family& to) const;
  bool has_effect(const Family& family, const Shape& shape, int knob, std::int64_t value,
                  std::vector<std::int64_t>& values) const;
  void lower_sizes(const Family& family, const Shape& shape, Config& config,
                   std::vector<std::int64_t>& values) const;

  const Space::Impl& space_;
  mutable std::shared_mutex mutex_;
  // Null: there is no such sketch.
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<const Family>> families_;
};

}  // namespace lathe::space
