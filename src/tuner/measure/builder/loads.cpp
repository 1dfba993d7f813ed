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
    if (const auto* n = std::get_if<flat::For>(&s->value)) return loop(*n, times);
    if (const auto* region = std::get_if<flat::Region>(&s->value)) {
      for (const flat::For& phase : region->phases) loop(phase, times);
      return;
    }
    flat::each_part(
        *s, [&](const flat::Expr& e) { expression(e, times); },
        [&](const flat::Stmt& inner) { statement(inner, times); });
  }
  double ratio() const { return multiplies_ > 0 ? loads_ / multiplies_ : 0; }

 private:
  void loop(const flat::For& n, double times) {
    const auto begin = flat::as_int(n.begin), end = flat::as_int(n.end);
    const double trips = begin && end ? static_cast<double>(*end - *begin) : kUnknownTrips;
    const auto before = std::exchange(seen_, {});
    statement(n.body, times * trips);
    seen_ = before;
  }
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
  for (const int k : program.run)
    counter.statement(program.kernels[static_cast<std::size_t>(k)].body, 1);
  return counter.ratio();
}

}  // namespace lathe::builder
