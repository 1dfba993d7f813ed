#include "compiler/te/foresee.h"

#include <algorithm>
#include <utility>

#include "compiler/te/build_stage.h"
#include "compiler/te/recurrence.h"

namespace lathe::te {
namespace {

class Foresight {
 public:
  Foresight(const Workload& workload, const WorkloadSyntax& syntax,
            const std::vector<StageScope>& scopes, const std::vector<int>& cycle)
      : known_(workload), syntax_(syntax), scopes_(scopes), cycle_(cycle) {}

  Result<std::vector<Tensor>> run(ShapeOf shapes,
                                  const std::map<std::string, Dtype, std::less<>>& dtypes) {
    LATHE_TRY_STATUS(find_shapes(shapes));
    std::vector<Tensor> out;
    for (const int s : cycle_) {
      const std::string& name = statement(s).name;
      if (known_.find(name) >= 0) continue;
      if (const auto given = dtypes.find(name); given != dtypes.end())
        add(name, shapes[name], given->second);
      else open_.insert(name);
      if (is_read_early(s)) out.push_back({name, Dtype::kF32, shapes[name]});
    }
    find_types(shapes);
    for (Tensor& tensor : out) {
      const int found = known_.find(tensor.name);
      if (found >= 0) tensor.dtype = known_.tensors[static_cast<std::size_t>(found)].dtype;
      tensor.role = TensorRole::kIntermediate;
    }
    return out;
  }

 private:
  const StageSyntax& statement(int s) const { return syntax_.stages[static_cast<std::size_t>(s)]; }
  const StageScope& scope(int s) const { return scopes_[static_cast<std::size_t>(s)]; }

  // True if a statement of the group reads it that is not behind its own.
  bool is_read_early(int s) const {
    return std::ranges::any_of(cycle_, [&](int reader) {
      return reader <= s && std::ranges::any_of(scope(reader).reads, [&](const auto& read) {
               return !read.first->own && read.first->tensor == statement(s).name;
             });
    });
  }

  // Shapes of those whose iterators have sizes already, one after the other.
  Status find_shapes(ShapeOf& shapes) const {
    Status missing;
    for (bool more = true; more;) {
      more = false;
      missing = {};
      for (const int s : cycle_) {
        if (shapes.contains(statement(s).name)) continue;
        StageScope tried = scope(s);
        LATHE_TRY_STATUS(infer_extents(tried, statement(s), shapes));
        std::vector<std::int64_t> shape;
        for (const StageIter& iter : tried.iters)
          if (iter.kind == IterKind::kSpatial && iter.extent) shape.push_back(*iter.extent);
        if (shape.size() == statement(s).iters.size()) {
          shapes[statement(s).name] = std::move(shape);
          more = true;
        } else if (missing) {
          missing = require_extents(tried);
        }
      }
    }
    return missing;
  }

  void find_types(const ShapeOf& shapes) {
    for (bool more = true; more;) {
      more = false;
      for (const int s : cycle_) {
        if (!open_.contains(statement(s).name)) continue;
        const auto dtype = natural_type(known_, statement(s), open_);
        if (!dtype) continue;
        add(statement(s).name, shapes.find(statement(s).name)->second, *dtype);
        open_.erase(statement(s).name);
        more = true;
      }
    }
  }
  void add(const std::string& name, const std::vector<std::int64_t>& shape, Dtype dtype) {
    known_.tensors.push_back({name, dtype, shape, TensorRole::kIntermediate});
  }

  Workload known_;  // with the tensors of the group whose types are known
  const WorkloadSyntax& syntax_;
  const std::vector<StageScope>& scopes_;
  const std::vector<int>& cycle_;
  OpenTensors open_;  // their types are not known
};

}  // namespace

std::vector<std::vector<int>> statement_cycles(const WorkloadSyntax& syntax,
                                               const std::vector<StageScope>& scopes) {
  std::map<std::string, int, std::less<>> writers;
  for (std::size_t s = 0; s < syntax.stages.size(); ++s)
    writers[syntax.stages[s].name] = static_cast<int>(s);
  std::vector<std::vector<int>> needs(syntax.stages.size());
  std::vector<int> sums_itself;
  bool later = false;
  for (std::size_t s = 0; s < syntax.stages.size(); ++s)
    for (const auto& [read, place] : scopes[s].reads) {
      const auto writer = writers.find(read->tensor);
      if (read->own || writer == writers.end()) continue;
      needs[s].push_back(writer->second);
      later = later || std::cmp_greater_equal(writer->second, s);
      if (std::cmp_equal(writer->second, s) &&
          std::ranges::count(sums_itself, static_cast<int>(s)) == 0)
        sums_itself.push_back(static_cast<int>(s));
    }
  if (!later) return {};
  std::vector<std::vector<int>> cycles = cycles_of(needs);
  for (const int s : sums_itself)
    if (std::ranges::none_of(
            cycles, [&](const std::vector<int>& each) { return std::ranges::count(each, s) > 0; }))
      cycles.push_back({s});
  return cycles;
}

Result<std::vector<Tensor>> foresee(const Workload& workload, const WorkloadSyntax& syntax,
                                    const std::vector<StageScope>& scopes,
                                    const std::vector<int>& cycle, const ShapeOf& shapes,
                                    const std::map<std::string, Dtype, std::less<>>& dtypes) {
  return Foresight(workload, syntax, scopes, cycle).run(shapes, dtypes);
}

}  // namespace lathe::te
