#include "tuner/measure/builder/loads.h"

#include <unordered_set>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::builder {
namespace {

constexpr double kUnknownTrips = 4;  // of a loop whose bounds depend on others

class Counter {
 public:
  void statement(const flat::Stmt& s, double times) {
    if (const auto* list = std::get_if<flat::Seq>(&s->value)) {
      const auto before = std::exchange(seen_, {});
      for (const flat::Stmt& inner : list->stmts) statement(inner, times);
      seen_ = before;
      return;
    }
    if (const auto* loop = std::get_if<flat::For>(&s->value)) {
      const auto begin = flat::as_int(loop->begin), end = flat::as_int(loop->end);
      const double trips = begin && end ? static_cast<double>(*end - *begin) : kUnknownTrips;
      const auto before = std::exchange(seen_, {});
      statement(loop->body, times * trips);
      seen_ = before;
      return;
    }
    flat::each_part(
        *s, [&](const flat::Expr& e) { expression(e, times); },
        [&](const flat::Stmt& inner) { statement(inner, times); });
  }
  double ratio() const { return multiplies_ > 0 ? loads_ / multiplies_ : 0; }

 private:
  // Addresses are not looked at.
  void expression(const flat::Expr& e, double times) {
    const auto* binary = std::get_if<flat::Binary>(&e->value);
    const bool load = std::holds_alternative<flat::Load>(e->value);
    const bool multiply =
        std::holds_alternative<flat::Fma>(e->value) ||
        (binary != nullptr && binary->op == flat::BinaryOp::kMul && e->type.dtype != Dtype::kI64);
    if ((load || multiply) && !seen_.insert(e->hash).second) return;
    loads_ += load ? times : 0;
    multiplies_ += multiply ? times : 0;
    if (!load)
      flat::each_operand(*e, [&](const flat::Expr& operand) { expression(operand, times); });
  }

  std::unordered_set<std::uint64_t> seen_;  // in this list of statements
  double loads_ = 0, multiplies_ = 0;
};

}  // namespace

double loads_per_multiply(const flat::Program& program) {
  Counter counter;
  counter.statement(program.run, 1);
  return counter.ratio();
}

}  // namespace lathe::builder
