#include "compiler/sharing/sharing.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "compiler/ir/flat/rewrite.h"
#include "compiler/sharing/repeats.h"
#include "compiler/sharing/values.h"

namespace lathe::sharing {
namespace {

using flat::Stmt;

// A phase in one execution of its region.
struct PhaseRun {
  std::int64_t parts = 0;
  Work all, busiest;
  Repeats repeats;
};

// Goes through a kernel as it runs, but through what does the same again only once.
class KernelWalk {
 public:
  KernelWalk(const flat::Program& program, int threads, int vector_bytes, KernelWork& out)
      : program_(program),
        threads_(threads),
        counter_(vector_bytes),
        values_(program.vars.size()),
        out_(out) {}

  void walk(const Stmt& s, std::int64_t times) {
    if ((s->contents & flat::contents::kRegion) == 0) {
      if (const auto* let = std::get_if<flat::Let>(&s->value)) set(let->var, value(let->value));
      else out_.alone += counter_.of(s, values_) * times;
    } else if (const auto* list = std::get_if<flat::Seq>(&s->value)) {
      for (const Stmt& inner : list->stmts) walk(inner, times);
    } else if (const auto* branch = std::get_if<flat::If>(&s->value)) {
      if (value(branch->condition) != 0) walk(branch->then, times);
      else if (branch->otherwise) walk(branch->otherwise, times);
    } else if (const auto* loop = std::get_if<flat::For>(&s->value)) {
      walk_loop(*loop, times);
    } else {
      run(s, std::get<flat::Region>(s->value), times);
    }
  }

 private:
  std::int64_t value(const flat::Expr& e) const { return value_of(e, values_); }
  void set(int var, std::int64_t value) { values_[static_cast<std::size_t>(var)] = value; }

  void walk_loop(const flat::For& n, std::int64_t times) {
    const std::int64_t begin = value(n.begin), end = value(n.end);
    if (begin >= end) return;
    if (!std::ranges::binary_search(vars_of_runs(n.body), n.var)) {
      set(n.var, begin);
      walk(n.body, times * (end - begin));
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      set(n.var, i);
      walk(n.body, times);
    }
  }

  void run(const Stmt& s, const flat::Region& region, std::int64_t times) {
    Values key;
    for (const int var : vars_of_runs(s)) key.push_back(values_[static_cast<std::size_t>(var)]);
    const auto [known, fresh] = runs_.try_emplace({s, std::move(key)});
    if (fresh)
      for (std::size_t i = 0; i < region.phases.size(); ++i)
        known->second.push_back(run_of(region.phases[i], *repeats_of(s, region)[i]));
    add(s, region, known->second, times);
  }

  void add(const Stmt& s, const flat::Region& region, const std::vector<PhaseRun>& runs,
           std::int64_t times) {
    const auto [place, fresh] = first_phase_.try_emplace(s, out_.phases.size());
    if (fresh)
      for (std::size_t i = 0; i < region.phases.size(); ++i)
        out_.phases.push_back(
            {.region = static_cast<int>(first_phase_.size()),
             .number = static_cast<int>(i) + 1,
             .loop = program_.vars[static_cast<std::size_t>(region.phases[i].var)]});
    bool shared = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Phase& phase = out_.phases[place->second + i];
      phase.runs += times;
      phase.parts = std::max(phase.parts, runs[i].parts);
      phase.threads = static_cast<int>(std::min<std::int64_t>(threads_, phase.parts));
      phase.all += runs[i].all * times;
      phase.busiest += runs[i].busiest * times;
      phase.repeats += runs[i].repeats * times;
      shared = shared || runs[i].parts > 1;
    }
    // The pool runs a region alone where no other thread has a part.
    if (shared && threads_ > 1) out_.barriers += static_cast<std::int64_t>(runs.size()) * times;
  }

  std::vector<std::unique_ptr<RepeatCounter>>& repeats_of(const Stmt& s,
                                                          const flat::Region& region) {
    const auto [known, fresh] = repeats_.try_emplace(s);
    if (fresh)
      for (const flat::For& phase : region.phases)
        known->second.push_back(std::make_unique<RepeatCounter>(program_, phase));
    return known->second;
  }

  // The variables around the statement on which it depends what its regions do and repeat.
  const Vars& vars_of_runs(const Stmt& s) {
    if (const auto known = vars_of_runs_.find(s); known != vars_of_runs_.end())
      return known->second;
    Vars vars = counter_.control_vars(s);
    add_repeated(s, vars);
    return vars_of_runs_.emplace(s, std::move(vars)).first->second;
  }
  void add_repeated(const Stmt& s, Vars& vars) {
    if ((s->contents & flat::contents::kRegion) == 0) return;
    if (const auto* region = std::get_if<flat::Region>(&s->value)) {
      for (const auto& repeats : repeats_of(s, *region)) vars = joined(vars, repeats->outer_vars());
      return;
    }
    flat::each_part(
        *s, [](const flat::Expr&) {}, [&](const Stmt& inner) { add_repeated(inner, vars); });
  }

  PhaseRun run_of(const flat::For& phase, RepeatCounter& repeats) {
    PhaseRun run;
    const std::int64_t begin = value(phase.begin), end = value(phase.end);
    run.parts = std::max<std::int64_t>(0, end - begin);
    if (run.parts == 0) return run;
    add_work(phase, begin, run);
    run.repeats = repeats.of_run(begin, end, values_, counter_);
    return run;
  }

  void add_work(const flat::For& phase, std::int64_t begin, PhaseRun& run) {
    const bool even = !std::ranges::binary_search(counter_.control_vars(phase.body), phase.var);
    if (even) {
      set(phase.var, begin);
      const Work one = counter_.of(phase.body, values_);
      run.all = one * run.parts;
      run.busiest = one * ((run.parts + threads_ - 1) / threads_);
      return;
    }
    for (std::int64_t t = 0; t < threads_; ++t) {
      Work slice;
      const std::int64_t last = begin + run.parts * (t + 1) / threads_;
      for (std::int64_t i = begin + run.parts * t / threads_; i < last; ++i) {
        set(phase.var, i);
        slice += counter_.of(phase.body, values_);
      }
      run.all += slice;
      run.busiest = {std::max(run.busiest.operations, slice.operations),
                     std::max(run.busiest.multiply_adds, slice.multiply_adds),
                     std::max(run.busiest.bytes, slice.bytes)};
    }
  }

  const flat::Program& program_;
  int threads_;
  WorkCounter counter_;
  Values values_;
  KernelWork& out_;
  std::map<std::pair<Stmt, Values>, std::vector<PhaseRun>> runs_;
  std::map<Stmt, std::vector<std::unique_ptr<RepeatCounter>>> repeats_;  // of a region, by phase
  std::map<Stmt, Vars> vars_of_runs_;
  std::map<Stmt, std::size_t> first_phase_;  // of a region, its place among the kernel's phases
};

}  // namespace

Result<Sharing> sharing_of(const flat::Program& program, int threads, int vector_bytes) {
  for (const flat::Kernel& kernel : program.kernels)
    if (!kernel.grid.is_single())
      return fail(
          ErrorKind::kUnsupported,
          "kernel {} runs on a grid; how threads share work is told of processors' programs",
          kernel.name);
  Sharing sharing{.threads = threads, .vector_bytes = vector_bytes, .kernels = {}};
  const auto add = [&](int id, bool prepares) {
    const flat::Kernel& kernel = program.kernels[static_cast<std::size_t>(id)];
    KernelWork& out = sharing.kernels.emplace_back();
    out.name = kernel.name;
    out.prepares = prepares;
    KernelWalk(program, threads, vector_bytes, out).walk(kernel.body, 1);
  };
  try {
    for (const int id : program.prepare) add(id, true);
    for (const int id : program.run) add(id, false);
  } catch (const DependsOnData&) {
    return fail(ErrorKind::kUnsupported,
                "how this program's threads share its work depends on its inputs' elements, so it "
                "cannot be told without them");
  }
  return sharing;
}

}  // namespace lathe::sharing
