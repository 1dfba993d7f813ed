#include "compiler/sequence/one_region.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lathe::sequence {
namespace {

using flat::Expr;
using flat::Region;
using flat::Stmt;

bool has(flat::Contents contents, flat::Contents bits) { return (contents & bits) != 0; }

// Whether it has its value before what stands above it has run.
bool is_known_before(const Expr& e) { return !has(e->contents, flat::contents::kData); }

// Statements in order, as few regions as may be.
class Gatherer {
 public:
  explicit Gatherer(std::vector<std::string>& vars) : vars_(vars) {}

  void add(const Stmt& s) {
    if (const auto* list = std::get_if<flat::Seq>(&s->value)) {
      for (const Stmt& inner : list->stmts) add(inner);
    } else if (const auto* region = std::get_if<Region>(&s->value)) {
      add(*region, s);
    } else if (const auto* let = std::get_if<flat::Let>(&s->value)) {
      if (!is_known_before(let->value)) close();
      done_.push_back(s);
    } else if (has(s->contents, flat::contents::kRegion)) {
      close();
      done_.push_back(s);
    } else {
      serial_.push_back(s);
    }
  }

  Stmt take() {
    close();
    return flat::seq(std::move(done_));
  }

 private:
  void add(const Region& region, const Stmt& s) {
    const bool follows = std::ranges::all_of(region.phases, [](const flat::For& phase) {
      return is_known_before(phase.begin) && is_known_before(phase.end);
    });
    if (!follows) {
      close();
      done_.push_back(s);
      return;
    }
    make_phase();
    phases_.insert(phases_.end(), region.phases.begin(), region.phases.end());
    regions_ += 1;
  }

  // What is serial since the last phase becomes one.
  void make_phase() {
    if (serial_.empty()) return;
    const int var = static_cast<int>(vars_.size());
    vars_.emplace_back("once");
    phases_.push_back({var, flat::int_imm(0), flat::int_imm(1), flat::seq(std::move(serial_))});
    serial_.clear();
  }

  // Ends the region. What is serial behind its last phase stays behind it.
  void close() {
    if (regions_ > 0) done_.push_back(flat::region(std::move(phases_)));
    else
      for (flat::For& phase : phases_) done_.push_back(std::move(phase.body));
    phases_.clear();
    regions_ = 0;
    done_.insert(done_.end(), serial_.begin(), serial_.end());
    serial_.clear();
  }

  std::vector<std::string>& vars_;
  std::vector<Stmt> done_, serial_;
  std::vector<flat::For> phases_;
  int regions_ = 0;  // whose phases these are
};

}  // namespace

flat::Program in_one_region(flat::Program program) {
  if (program.run.size() < 2) return program;
  Gatherer gatherer(program.vars);
  for (const int k : program.run) gatherer.add(program.kernels[static_cast<std::size_t>(k)].body);
  std::vector<flat::Kernel> kernels;
  for (int& k : program.prepare) {
    kernels.push_back(program.kernels[static_cast<std::size_t>(k)]);
    k = static_cast<int>(kernels.size()) - 1;
  }
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::any_of(kernels, [&](const flat::Kernel& k) { return k.name == name; });
  };
  std::string name = "run";
  while (is_taken(name)) name += "_";
  program.run = {static_cast<int>(kernels.size())};
  kernels.push_back({std::move(name), gatherer.take()});
  program.kernels = std::move(kernels);
  return program;
}

}  // namespace lathe::sequence
