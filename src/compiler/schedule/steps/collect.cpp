#include "compiler/schedule/steps/collect.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compiler/schedule/edit.h"
#include "compiler/schedule/parts.h"

namespace lathe::schedule {

StepResult<void> apply_step(ir::Nest& nest, const Collect& step) {
  const ir::BlockId id = LATHE_TRY(block_named(nest, step.block));
  ir::Block& block = nest.blocks[id];
  const std::vector<Term> terms = terms_of(block.body);
  if (step.term < 0 || std::cmp_greater_equal(step.term, terms.size()))
    return refuse(Refusal::kBadNumber, step.block);
  const auto factors = factors_of(terms[static_cast<std::size_t>(step.term)].value);
  if (step.factor < 0 || std::cmp_greater_equal(step.factor, factors.size()))
    return refuse(Refusal::kBadNumber, step.block);
  const Collected collected = collected_by(terms, factors[static_cast<std::size_t>(step.factor)]);
  if (collected.terms < 2) return refuse(Refusal::kNothingInCommon, step.block);
  block.body = sum_of(collected.all);
  return {};
}

std::string Collect::text() const {
  return fmt::format("collect factor {} of term {} of {}", factor, term, block);
}

}  // namespace lathe::schedule
