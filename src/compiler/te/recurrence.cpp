#include "compiler/te/recurrence.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/te/scan.h"

namespace lathe::te {
namespace {

// By tensor, the stage that writes it; -1: none does.
std::vector<int> writers_of(const Workload& workload) {
  std::vector<int> writers(workload.tensors.size(), -1);
  for (std::size_t s = 0; s < workload.stages.size(); ++s)
    writers[static_cast<std::size_t>(workload.stages[s].tensor)] = static_cast<int>(s);
  return writers;
}

// Of each stage those that it reads, without itself.
std::vector<std::vector<int>> needs_of(const Workload& workload, const std::vector<int>& writers) {
  std::vector<std::vector<int>> needs;
  for (const Stage& stage : workload.stages) {
    needs.emplace_back();
    for (const int tensor : ir::tensors_of(stage.body)) {
      const int writer = writers[static_cast<std::size_t>(tensor)];
      if (writer >= 0 && tensor != stage.tensor) needs.back().push_back(writer);
    }
  }
  return needs;
}

bool reads_later_stages(const Workload& workload) {
  std::vector<bool> later(workload.tensors.size());
  for (const Stage& stage : workload.stages) later[static_cast<std::size_t>(stage.tensor)] = true;
  for (const Stage& stage : workload.stages) {
    for (const int tensor : ir::tensors_of(stage.body))
      if (tensor != stage.tensor && later[static_cast<std::size_t>(tensor)]) return true;
    later[static_cast<std::size_t>(stage.tensor)] = false;
  }
  return false;
}

// The stages of a cycle with an axis for each, as far as they are known.
class AxisSearch {
 public:
  AxisSearch(const Workload& workload, std::vector<int> stages)
      : workload_(workload), stages_(std::move(stages)), writers_(writers_of(workload)) {}

  Result<Recurrence> run() {
    for (const int s : stages_) LATHE_TRY_STATUS(check_lookups(stage(s)));
    std::optional<Error> nearest;
    for (int i = 0; i < spatial(stages_[0]); ++i) {
      axes_.assign(stages_.size(), -1);
      axes_[0] = i;
      reached_ = 0;
      auto found = along_axis();
      if (found) return found;
      if (!nearest || reached_ > best_) nearest = found.error(), best_ = reached_;
    }
    return std::unexpected(*nearest);
  }

 private:
  const Stage& stage(int s) const { return workload_.stages[static_cast<std::size_t>(s)]; }
  const std::string& name(int s) const {
    return workload_.tensors[static_cast<std::size_t>(stage(s).tensor)].name;
  }
  const std::string& axis_name(std::size_t p) const {
    return stage(stages_[p]).iters[static_cast<std::size_t>(axes_[p])].name;
  }
  int spatial(int s) const {
    return static_cast<int>(
        std::ranges::count(stage(s).iters, IterKind::kSpatial, &Iterator::kind));
  }
  // The position of the stage that writes the tensor; -1: it is none of these.
  int place_of(int tensor) const {
    const int writer = writers_[static_cast<std::size_t>(tensor)];
    const auto found = std::ranges::find(stages_, writer);
    return writer < 0 || found == stages_.end() ? -1 : static_cast<int>(found - stages_.begin());
  }

  Status check_lookups(const Stage& own) const {
    for (const ir::Lookup* lookup : ir::lookups_of(own.body))
      if (place_of(lookup->tensor) >= 0)
        return fail(ErrorKind::kInvalidArgument,
                    "{} is read at computed places to compute {}, and the two need each other; a "
                    "recurrence reads a constant number of steps before, as t-1 for t",
                    workload_.tensors[static_cast<std::size_t>(lookup->tensor)].name,
                    workload_.tensors[static_cast<std::size_t>(own.tensor)].name);
    return {};
  }

  Result<Recurrence> along_axis() {
    LATHE_TRY_STATUS(spread());
    reached_ = 1;
    LATHE_TRY_STATUS(check_extents());
    reached_ = 2;
    Recurrence out{stages_, axes_, false, true};
    out.backward = LATHE_TRY(direction());
    reached_ = 3;
    LATHE_TRY_STATUS(check_order());
    out.element_wise = is_element_wise();
    return out;
  }

  // Finds the axis of every stage from those that it reads, and of what reads it.
  Status spread() {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t p = 0; p < stages_.size(); ++p)
        for (const ir::Read* read : ir::reads_of(stage(stages_[p]).body)) {
          const int q = place_of(read->tensor);
          if (q >= 0) more = LATHE_TRY(spread(p, static_cast<std::size_t>(q), *read)) || more;
        }
    }
    if (std::ranges::count(axes_, -1) > 0) return no_axis(0, stages_.size() - 1);
    return {};
  }
  Result<bool> spread(std::size_t reader, std::size_t writer, const ir::Read& read) {
    if (axes_[writer] >= 0) {
      const ir::Affine& row = read.index[static_cast<std::size_t>(axes_[writer])];
      const bool plain = row.terms.size() == 1 && row.terms[0].coef == 1 &&
                         row.terms[0].iter < spatial(stages_[reader]);
      if (!plain) return no_axis(reader, writer);
      int& own = axes_[reader];
      if (own >= 0 && own != row.terms[0].iter) return no_axis(reader, writer);
      return std::exchange(own, row.terms[0].iter) < 0;
    }
    if (axes_[reader] < 0) return false;
    for (std::size_t d = 0; d < read.index.size(); ++d) {
      ir::Affine row = read.index[d];
      row.offset = 0;
      if (row != ir::Affine::iter(axes_[reader])) continue;
      axes_[writer] = static_cast<int>(d);
      return true;
    }
    return no_axis(reader, writer);
  }
  std::unexpected<Error> no_axis(std::size_t a, std::size_t b) const {
    return fail(ErrorKind::kInvalidArgument,
                "{} and {} need each other, but along no axis does each read the other a constant "
                "number of steps before; give all of them one axis, along which they read at t-1 "
                "for t",
                name(stages_[a]), name(stages_[b]));
  }

  Status check_extents() const {
    const auto extent = [&](std::size_t p) {
      return stage(stages_[p]).iters[static_cast<std::size_t>(axes_[p])].extent;
    };
    for (std::size_t p = 1; p < stages_.size(); ++p)
      if (extent(p) != extent(0))
        return fail(ErrorKind::kInvalidArgument,
                    "{} and {} need each other step by step, but {} has {} steps and {} has {}; "
                    "give both one size, as {}:{}",
                    name(stages_[0]), name(stages_[p]), name(stages_[0]), extent(0),
                    name(stages_[p]), extent(p), axis_name(0), extent(0));
    return {};
  }

  // How many steps behind its own a stage reads.
  std::int64_t apart(const ir::Read& read, int writer) const {
    return read.index[static_cast<std::size_t>(axes_[static_cast<std::size_t>(writer)])].offset;
  }

  Result<bool> direction() const {
    bool before = false, behind = false;
    for (const int s : stages_)
      for (const ir::Read* read : ir::reads_of(stage(s).body)) {
        const int q = place_of(read->tensor);
        if (q < 0) continue;
        before = before || apart(*read, q) < 0;
        behind = behind || apart(*read, q) > 0;
        if (before && behind)
          return fail(ErrorKind::kInvalidArgument,
                      "{} and {} need each other, and elements before and behind those that are "
                      "computed along {} are read; a recurrence goes in one direction: write one "
                      "for each",
                      name(stages_.front()), name(stages_.back()), axis_name(0));
      }
    return behind;
  }

  // What is read of the same step is computed by an earlier stage.
  Status check_order() const {
    for (std::size_t p = 0; p < stages_.size(); ++p)
      for (const ir::Read* read : ir::reads_of(stage(stages_[p]).body)) {
        const int q = place_of(read->tensor);
        if (q < 0 || apart(*read, q) != 0 || std::cmp_less(q, p)) continue;
        if (std::cmp_equal(q, p))
          return fail(ErrorKind::kInvalidArgument,
                      "{} reads itself along another axis than {}, along which it goes on with {}; "
                      "a recurrence goes along one axis",
                      name(stages_[p]), axis_name(p), name(stages_[p == 0 ? 1 : 0]));
        return fail(ErrorKind::kInvalidArgument,
                    "{0} needs {1} of the same step, which is computed after it; read an earlier "
                    "step, as {2}-1, or move the statement that writes {1} before that of {0}",
                    name(stages_[p]), name(stages_[static_cast<std::size_t>(q)]), axis_name(p));
      }
    return {};
  }

  bool is_element_wise() const {
    const auto& first = stage(stages_[0]).iters;
    for (std::size_t p = 0; p < stages_.size(); ++p) {
      const Stage& own = stage(stages_[p]);
      if (own.reduce != ir::ReduceOp::kNone || own.iters.size() != first.size() ||
          axes_[p] != axes_[0])
        return false;
      for (std::size_t i = 0; i < first.size(); ++i)
        if (own.iters[i].extent != first[i].extent) return false;
      for (const ir::Read* read : ir::reads_of(own.body)) {
        if (place_of(read->tensor) < 0) continue;
        for (std::size_t d = 0; d < read->index.size(); ++d)
          if (std::cmp_not_equal(d, axes_[p]) &&
              read->index[d] != ir::Affine::iter(static_cast<int>(d)))
            return false;
      }
    }
    return true;
  }

  const Workload& workload_;
  std::vector<int> stages_, writers_;
  std::vector<int> axes_;
  int reached_ = 0, best_ = -1;  // how far a search came
};

}  // namespace

bool Recurrence::has(int stage) const { return std::ranges::count(stages, stage) > 0; }

int Recurrence::axis_of(int stage) const {
  return axes[static_cast<std::size_t>(std::ranges::find(stages, stage) - stages.begin())];
}

std::vector<std::vector<int>> cycles_of(const std::vector<std::vector<int>>& needs) {
  const std::size_t count = needs.size();
  std::vector<std::vector<bool>> reach(count, std::vector<bool>(count));
  for (std::size_t from = 0; from < count; ++from) {
    std::vector<int> open = needs[from];
    while (!open.empty()) {
      const auto next = static_cast<std::size_t>(open.back());
      open.pop_back();
      if (reach[from][next]) continue;
      reach[from][next] = true;
      open.insert(open.end(), needs[next].begin(), needs[next].end());
    }
  }
  std::vector<std::vector<int>> cycles;
  std::vector<bool> seen(count);
  for (std::size_t a = 0; a < count; ++a) {
    if (seen[a]) continue;
    std::vector<int> cycle = {static_cast<int>(a)};
    for (std::size_t b = a + 1; b < count; ++b)
      if (reach[a][b] && reach[b][a]) cycle.push_back(static_cast<int>(b)), seen[b] = true;
    if (cycle.size() > 1) cycles.push_back(std::move(cycle));
  }
  return cycles;
}

Result<std::vector<Recurrence>> find_recurrences(const Workload& workload) {
  std::vector<Recurrence> out;
  if (!reads_later_stages(workload)) return out;
  for (std::vector<int>& cycle : cycles_of(needs_of(workload, writers_of(workload)))) {
    const std::string& first = workload
                                   .tensors[static_cast<std::size_t>(
                                       workload.stages[static_cast<std::size_t>(cycle[0])].tensor)]
                                   .name;
    if (cycle.back() - cycle.front() + 1 != static_cast<int>(cycle.size()))
      return fail(ErrorKind::kInvalidArgument,
                  "stages that need each other, of which {} is the first, follow one another",
                  first);
    auto found = AxisSearch(workload, std::move(cycle)).run();
    if (!found) {
      Error error = std::move(found).error();
      error.place = fmt::format("the stage that writes {}", first);
      return std::unexpected(std::move(error));
    }
    out.push_back(std::move(*found));
  }
  return out;
}

std::vector<Recurrence> recurrences_of(const Workload& workload) {
  auto found = find_recurrences(workload);
  LATHE_CHECK(found.has_value(), "a recurrence is not valid: {}", found.error().message);
  return std::move(*found);
}

bool has_recurrence(const Workload& workload) { return reads_later_stages(workload); }

void gather_recurrences(Workload& workload) {
  if (!reads_later_stages(workload)) return;
  const auto needs = needs_of(workload, writers_of(workload));
  const std::vector<std::vector<int>> cycles = cycles_of(needs);
  const std::size_t count = needs.size();
  std::vector<int> cycle_of(count, -1);
  for (std::size_t c = 0; c < cycles.size(); ++c)
    for (const int s : cycles[c]) cycle_of[static_cast<std::size_t>(s)] = static_cast<int>(c);
  std::vector<bool> done(count);
  const auto is_ready = [&](int s) {
    return std::ranges::all_of(needs[static_cast<std::size_t>(s)], [&](int need) {
      const int own = cycle_of[static_cast<std::size_t>(s)];
      return done[static_cast<std::size_t>(need)] ||
             (own >= 0 && cycle_of[static_cast<std::size_t>(need)] == own);
    });
  };
  std::vector<Stage> ordered;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t s = 0; s < count && !more; ++s) {
      if (done[s]) continue;
      const int c = cycle_of[s];
      const std::vector<int> together =
          c < 0 ? std::vector<int>{static_cast<int>(s)} : cycles[static_cast<std::size_t>(c)];
      if (!std::ranges::all_of(together, is_ready)) continue;
      for (const int each : together) {
        ordered.push_back(workload.stages[static_cast<std::size_t>(each)]);
        done[static_cast<std::size_t>(each)] = true;
      }
      more = true;
    }
  }
  workload.stages = std::move(ordered);
}

bool reads_earlier_steps_only(const Workload& workload, const Recurrence& recurrence, int reader,
                              int tensor) {
  const auto writer = std::ranges::find_if(recurrence.stages, [&](int s) {
    return workload.stages[static_cast<std::size_t>(s)].tensor == tensor;
  });
  if (writer == recurrence.stages.end() || !recurrence.has(reader)) return false;
  const auto axis = static_cast<std::size_t>(recurrence.axis_of(*writer));
  return std::ranges::all_of(ir::reads_of(workload.stages[static_cast<std::size_t>(reader)].body),
                             [&](const ir::Read* read) {
                               return read->tensor != tensor || read->index[axis].offset != 0;
                             });
}

}  // namespace lathe::te
