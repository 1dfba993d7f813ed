#include "oracle/flat_count.h"

#include <algorithm>
#include <string>

#include "compiler/ir/flat/rewrite.h"
#include "oracle/flat_indices.h"
#include "oracle/flat_parts.h"

namespace lathe::interp {
namespace {

using flat::BinaryOp;
using flat::Expr;
using flat::Stmt;

class Walk {
 public:
  Walk(const flat::Program& program, int vector_bytes)
      : program_(program), vector_bytes_(vector_bytes), recorder_(program, indices_) {}

  CountedKernel kernel(const Stmt& body) {
    run(body);
    return std::move(out_);
  }

 private:
  void run(const Stmt& s) {
    if (const auto* list = std::get_if<flat::Seq>(&s->value)) {
      for (const Stmt& inner : list->stmts) run(inner);
    } else if (const auto* let = std::get_if<flat::Let>(&s->value)) {
      indices_.set(let->var, indices_.scalar(let->value));
    } else if (const auto* loop = std::get_if<flat::For>(&s->value)) {
      const std::int64_t end = indices_.scalar(loop->end);
      for (std::int64_t i = indices_.scalar(loop->begin); i < end; ++i) {
        indices_.set(loop->var, i);
        run(loop->body);
      }
    } else if (const auto* branch = std::get_if<flat::If>(&s->value)) {
      if (indices_.scalar(branch->condition) != 0) run(branch->then);
      else if (branch->otherwise) run(branch->otherwise);
    } else if (const auto* region = std::get_if<flat::Region>(&s->value)) {
      run_region(s, *region);
    } else if (!std::holds_alternative<flat::PrefetchAt>(s->value)) {
      write(s);
    }
  }

  void run_region(const Stmt& s, const flat::Region& region) {
    CountedRegion counted{s.get(), {}};
    for (const flat::For& phase : region.phases) {
      recorder_.begin_phase(phase.body);
      std::vector<CountedPart> parts;
      const std::int64_t end = indices_.scalar(phase.end);
      for (std::int64_t i = indices_.scalar(phase.begin); i < end; ++i) {
        indices_.set(phase.var, i);
        recorder_.begin_part();
        part_ = &parts.emplace_back();
        run(phase.body);
      }
      part_ = nullptr;
      counted.phases.push_back(std::move(parts));
    }
    out_.regions.push_back(std::move(counted));
  }

  void write(const Stmt& s) {
    Counted& work = part_ != nullptr ? part_->work : out_.alone;
    const auto [known, fresh] = works_.try_emplace(s.get());
    if (fresh) known->second = work_of(s);
    work.operations += known->second.operations;
    work.multiply_adds += known->second.multiply_adds;
    work.bytes += known->second.bytes;
    if (part_ != nullptr) recorder_.add(s, known->second, *part_);
  }

  Counted work_of(const Stmt& s) {
    Counted work;
    std::set<std::string> seen;
    flat::each_part(*s, [&](const Expr& e) { count(e, seen, work); }, [](const Stmt&) {});
    if (const auto* store = std::get_if<flat::Store>(&s->value))
      work.bytes += store->value->type.lanes * size_of(store->value->type.dtype);
    return work;
  }
  std::string text(const Expr& e) const {
    return std::string(name_of(e->type.dtype)) + std::to_string(e->type.lanes) + " " +
           flat::print(program_, e);
  }
  void count(const Expr& e, std::set<std::string>& seen, Counted& work) {
    if (!indices_.reads_data(e) || !seen.insert(text(e)).second) return;
    int widest = e->type.lanes * size_of(e->type.dtype);
    flat::each_operand(*e, [&](const Expr& x) {
      widest = std::max(widest, x->type.lanes * size_of(x->type.dtype));
      count(x, seen, work);
    });
    if (is_one_of<flat::Unary, flat::Binary, flat::Fma, flat::Select, flat::Cast>(e))
      work.operations += (widest + vector_bytes_ - 1) / vector_bytes_;
    if (const auto* sum = std::get_if<flat::Reduce>(&e->value))
      for (int left = sum->x->type.lanes; left > 1; left /= 2) ++work.operations;
    if (is_one_of<flat::Load>(e)) work.bytes += e->type.lanes * size_of(e->type.dtype);
    if (is_one_of<flat::Fma>(e) || is_multiply_add(e)) work.multiply_adds += e->type.lanes;
  }
  bool is_multiply_add(const Expr& e) {
    const auto* sum = std::get_if<flat::Binary>(&e->value);
    if (sum == nullptr || sum->op != BinaryOp::kAdd) return false;
    for (const Expr& x : {sum->a, sum->b})
      if (const auto* product = std::get_if<flat::Binary>(&x->value);
          product != nullptr && product->op == BinaryOp::kMul && indices_.reads_data(x))
        return true;
    return false;
  }

  const flat::Program& program_;
  int vector_bytes_;
  Indices indices_;
  PartRecorder recorder_;
  CountedKernel out_;
  std::map<const flat::StmtNode*, Counted> works_;
  CountedPart* part_ = nullptr;  // the one that runs; null outside of regions
};

}  // namespace

CountedKernel count_kernel(const flat::Program& program, const flat::Kernel& kernel,
                           int vector_bytes) {
  return Walk(program, vector_bytes).kernel(kernel.body);
}

}  // namespace lathe::interp
