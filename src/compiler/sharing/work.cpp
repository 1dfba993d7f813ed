#include "compiler/sharing/work.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::sharing {
namespace {

using flat::Expr;

std::int64_t bytes_of(flat::Type type) { return std::int64_t{type.lanes} * size_of(type.dtype); }

// The expressions of one statement, each shared node once: code generators compute it once.
class Expressions {
 public:
  explicit Expressions(int vector_bytes) : vector_bytes_(vector_bytes) {}

  void add(const Expr& e) {
    // What holds no data is an index or a mask.
    if ((e->contents & flat::contents::kData) == 0 || !seen_.insert(e->hash).second) return;
    count(*e);
    flat::each_operand(*e, [&](const Expr& operand) { add(operand); });
  }
  const Work& work() const { return work_; }

 private:
  void count(const flat::Node& e) {
    if (std::holds_alternative<flat::Load>(e.value)) work_.bytes += bytes_of(e.type);
    if (std::holds_alternative<flat::Fma>(e.value)) work_.multiply_adds += e.type.lanes;
    if (is_multiply_add(e)) work_.multiply_adds += e.type.lanes;
    if (const auto* reduce = std::get_if<flat::Reduce>(&e.value))
      work_.operations += std::bit_width(static_cast<unsigned>(reduce->x->type.lanes)) - 1;
    else if (is_operation(e)) work_.operations += registers_of(e);
  }
  static bool is_operation(const flat::Node& e) {
    return std::holds_alternative<flat::Unary>(e.value) ||
           std::holds_alternative<flat::Binary>(e.value) ||
           std::holds_alternative<flat::Fma>(e.value) ||
           std::holds_alternative<flat::Select>(e.value) ||
           std::holds_alternative<flat::Cast>(e.value);
  }
  // A sum of a product, which integers have no operation of their own for.
  static bool is_multiply_add(const flat::Node& e) {
    const auto* sum = std::get_if<flat::Binary>(&e.value);
    if (sum == nullptr || sum->op != flat::BinaryOp::kAdd) return false;
    const auto multiplies = [](const Expr& x) {
      const auto* product = std::get_if<flat::Binary>(&x->value);
      return product != nullptr && product->op == flat::BinaryOp::kMul &&
             (x->contents & flat::contents::kData) != 0;
    };
    return multiplies(sum->a) || multiplies(sum->b);
  }
  // By the widest vector that it reads or makes.
  std::int64_t registers_of(const flat::Node& e) const {
    std::int64_t widest = bytes_of(e.type);
    flat::each_operand(e, [&](const Expr& x) { widest = std::max(widest, bytes_of(x->type)); });
    return (widest + vector_bytes_ - 1) / vector_bytes_;
  }

  int vector_bytes_;
  std::unordered_set<std::uint64_t> seen_;
  Work work_;
};

}  // namespace

std::size_t WorkCounter::KeyHash::operator()(const Values& key) const {
  std::size_t hash = key.size();
  for (const std::int64_t value : key)
    hash = (hash ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15U + (hash >> 29);
  return hash;
}

Work WorkCounter::of_write(const flat::Stmt& s) {
  if (const auto known = writes_.find(s); known != writes_.end()) return known->second;
  if (std::holds_alternative<flat::PrefetchAt>(s->value)) return {};
  Expressions expressions(vector_bytes_);
  flat::each_part(*s, [&](const Expr& e) { expressions.add(e); }, [](const flat::Stmt&) {});
  Work work = expressions.work();
  if (const auto* store = std::get_if<flat::Store>(&s->value))
    work.bytes += bytes_of(store->value->type);
  return writes_[s] = work;
}

Work WorkCounter::of_loop(const flat::Stmt& s, const flat::For& n, Values& values) {
  Values key;
  for (const int var : control_(s)) key.push_back(values[static_cast<std::size_t>(var)]);
  auto& known = loops_[s];
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const std::int64_t begin = value_of(n.begin, values), end = value_of(n.end, values);
  Work work;
  if (begin < end && !std::ranges::binary_search(control_(n.body), n.var)) {
    work = of(n.body, values) * (end - begin);
  } else {
    for (std::int64_t i = begin; i < end; ++i) {
      values[static_cast<std::size_t>(n.var)] = i;
      work += of(n.body, values);
    }
  }
  known.emplace(std::move(key), work);
  return work;
}

Work WorkCounter::of(const flat::Stmt& s, Values& values) {
  if (const auto* n = std::get_if<flat::For>(&s->value)) return of_loop(s, *n, values);
  if (const auto* n = std::get_if<flat::If>(&s->value)) {
    if (value_of(n->condition, values) != 0) return of(n->then, values);
    return n->otherwise ? of(n->otherwise, values) : Work{};
  }
  const auto* list = std::get_if<flat::Seq>(&s->value);
  if (list == nullptr) return of_write(s);
  Work work;
  for (const flat::Stmt& inner : list->stmts) {
    if (const auto* let = std::get_if<flat::Let>(&inner->value))
      values[static_cast<std::size_t>(let->var)] = value_of(let->value, values);
    else work += of(inner, values);
  }
  return work;
}

}  // namespace lathe::sharing
