// The essence of a nest with sizes: what makes a difference to its program. A loop of one iteration
// makes none, nor do iterations in which nothing inside a loop runs, nor a prefetch of 0 bytes
// ahead. Lowering starts from the essence, so nests of one essence are one program. A space brings
// its configurations to one form by it.
//
// The sizes may be open. Then the answers to some questions about sizes decide which loops go away.
// All else in the essence is sizes, which compare as formulas (between nests) and as numbers
// (between configurations).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "compiler/ir/nest/nest.h"

namespace lathe::analysis {

class Essence {
 public:
  explicit Essence(const ir::Nest& nest);  // the nest must outlive this object

  // The nest's table, with further entries behind those of the nest.
  const ir::Sizes& sizes() const { return sizes_; }

  // Asks whether a size is at most `limit`: whether a loop has one iteration, or a prefetch is off.
  struct Question {
    ir::SizeId size;
    std::int64_t limit;
    friend bool operator==(const Question&, const Question&) = default;
  };
  const std::vector<Question>& questions() const { return questions_; }
  using Answers = std::vector<char>;                            // one for each question
  Answers answers(std::span<const std::int64_t> values) const;  // values of sizes()

  // The number of a formula: the same in all tables whose knobs have the same numbers.
  std::uint64_t formula(ir::SizeId size) const { return formulas_[static_cast<std::size_t>(size)]; }
  // What remains under these answers.
  struct Outline {
    // A hash of all of it: equal for nests that have the same essence whatever the knobs are.
    std::uint64_t form;
    // A hash of it without the sizes' numbers, and the sizes that remain, in a fixed order. Nests
    // of equal structure whose sizes have equal values have one essence.
    std::uint64_t structure;
    std::vector<ir::SizeId> sizes;
  };
  Outline outline(const Answers& answers) const;
  // Both are quick to tell, and true or equal where the forms are equal.
  bool has_facts_of(const Essence& other) const { return always_ == other.always_; }
  std::uint64_t signature(const Answers& answers) const;  // a sum over the loops that remain

  // The essence as a nest without open sizes.
  ir::Nest nest(std::span<const std::int64_t> values) const;

 private:
  ir::SizeId busy_extent(ir::LoopId loop);
  ir::SizeId busy_iterations(const ir::Block& block, ir::LoopId loop);
  std::size_t ask(ir::SizeId size, std::int64_t limit);  // the question's number
  bool is_off(const Answers& answers, ir::LoopId loop, std::size_t prefetch) const;
  bool is_single(const Answers& answers, ir::LoopId loop) const;
  bool goes(const Answers& answers, ir::LoopId loop) const;
  bool holds_memory_of_group(ir::LoopId loop) const;
  // What goes past the caches is never read again by the program: a buffer that a sum is resumed
  // from stays in them.
  bool streams(const Answers& answers, ir::BufferId buffer) const;
  std::vector<char> gone(const Answers& answers) const;  // by loop
  ir::LoopId remaining(const std::vector<char>& gone, ir::LoopId loop) const;

  // What no answer changes, hashed once.
  struct Facts {
    std::uint64_t words = 0;     // without sizes
    std::uint64_t formulas = 0;  // of the sizes
    std::vector<ir::SizeId> sizes;
    std::uint64_t all() const { return Hasher().add(words).add(formulas).value(); }
  };
  class Writer;
  template <class... Words>
  Facts facts(std::vector<ir::SizeId> sizes, Words... words) const;
  Facts facts_of(const ir::Block& block) const;
  Facts facts_of(const ir::Loop& loop, ir::SizeId extent) const;
  Facts facts_of(const ir::Buffer& buffer) const;
  void collect_facts();
  void write_digits(const Answers& answers, ir::BlockId block,
                    const std::vector<std::uint64_t>& number, Writer& out) const;
  std::vector<std::uint64_t> write_items(const Answers& answers, const std::vector<char>& gone,
                                         Writer& out) const;

  const ir::Nest& nest_;
  ir::Sizes sizes_;
  // By loop: extents without the iterations in which nothing inside runs.
  std::vector<ir::SizeId> extents_;
  // By loop: an intrinsic stands for it, and its extent stays as it is.
  std::vector<char> tensorized_;
  // By loop: it is bound to a grid, and a group's memory is inside. That must stay in one kernel,
  // which the outermost of these loops holds together.
  std::vector<char> holds_together_;
  std::vector<std::vector<ir::LoopId>> resumed_over_;  // by buffer that is stored past the caches
  std::vector<Question> questions_;
  // By loop: the question about its extent, then those about its prefetches.
  std::vector<std::vector<std::size_t>> asked_;
  std::vector<std::uint64_t> formulas_;
  std::vector<Facts> of_block_, of_loop_, of_buffer_;
  std::vector<std::uint64_t> signatures_;          // by loop
  std::uint64_t always_ = 0;                       // a sum over blocks and buffers
  std::vector<std::vector<Facts>> of_prefetches_;  // by loop
  std::vector<std::vector<Facts>> of_digits_;      // by block, in the order of its iterators
};

// The essence of a nest with its sizes filled in.
ir::Nest essential(const ir::SizedNest& nest);

}  // namespace lathe::analysis
