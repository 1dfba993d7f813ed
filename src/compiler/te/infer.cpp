#include <algorithm>

#include "compiler/te/limits.h"
#include "compiler/te/resolve.h"

namespace lathe::te {
namespace {

using Wide = __int128;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

// What a dimension says about an iterator; kept for the message when two disagree.
struct Source {
  std::int64_t extent;
  std::string text;  // "dimension 1 of A[64,32]"
  Place place;       // of the read
};

// Sizes are found in this order: those that the text or a declaration of the written tensor gives;
// those of iterators that index a tensor alone, for which reads at other places (x + 1 beside x)
// may leave less; and those of windows, as 2*y + r, one iterator after the other.
class Inference {
 public:
  Inference(StageScope& scope, const StageSyntax& stage, const ShapeOf& shapes)
      : scope_(scope),
        stage_(stage),
        shapes_(shapes),
        written_(scope.iters.size()),
        alone_(scope.iters.size()) {}

  Status run() {
    LATHE_TRY_STATUS(from_written());
    for (const auto& [read, place] : scope_.reads) LATHE_TRY_STATUS(from_alone(*read, place));
    settle_reductions();
    settle_spatial();
    LATHE_TRY_STATUS(check_written());
    while (LATHE_TRY(from_windows())) {
    }
    return {};
  }

 private:
  using Sizes = std::vector<std::optional<std::int64_t>>;  // by iterator

  StageIter& iter(int id) { return scope_.iters[static_cast<std::size_t>(id)]; }

  // Where the written tensor has a declared shape, its sizes are the spatial extents.
  Status from_written() {
    const auto found = shapes_.find(stage_.name);
    if (found == shapes_.end()) return {};
    const auto& shape = found->second;
    if (shape.size() != stage_.iters.size())
      return fail_at(stage_.place.text(), ErrorKind::kInvalidArgument,
                     "{} is declared with the shape {} but written with {} iterator{}", stage_.name,
                     shape_text(shape), stage_.iters.size(), stage_.iters.size() == 1 ? "" : "s");
    for (std::size_t d = 0; d < shape.size(); ++d) {
      StageIter& i = scope_.iters[d];
      if (i.extent && *i.extent != shape[d])
        return fail_at(i.place.text(), ErrorKind::kInvalidArgument,
                       "the iterator {} has the size {} but dimension {} of {}{} has {}", i.name,
                       *i.extent, d, stage_.name, shape_text(shape), shape[d]);
      // A size in the text is taken at its word: a larger tensor may be read in part.
      if (!i.extent) written_[d] = Source{shape[d], source_text(stage_.name, shape, d), {}};
      i.extent = shape[d];
    }
    return {};
  }

  static std::string source_text(const std::string& tensor, const std::vector<std::int64_t>& shape,
                                 std::size_t d) {
    return fmt::format("dimension {} of {}{}", d, tensor, shape_text(shape));
  }

  Status from_alone(const ReadSyntax& read, Place place) {
    const auto found = shapes_.find(read.tensor);
    if (found == shapes_.end()) return {};
    const auto& shape = found->second;
    if (shape.size() != read.affine.size())
      return fail_at(place.text(), ErrorKind::kInvalidArgument,
                     "{}{} is read with {} {}, but has {}", read.tensor, shape_text(shape),
                     read.affine.size(), read.affine.size() == 1 ? "index" : "indices",
                     shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!read.affine[d]) continue;
      const ir::Affine& index = *read.affine[d];
      if (index.terms.size() != 1 || index.terms[0].coef != 1 || index.offset != 0) continue;
      const auto id = static_cast<std::size_t>(index.terms[0].iter);
      const Source here{shape[d], source_text(read.tensor, shape, d), place};
      if (scope_.iters[id].extent && !written_[id]) continue;
      if (!alone_[id]) alone_[id] = here;
      else if (alone_[id]->extent != here.extent) return disagree(id, *alone_[id], here);
    }
    return {};
  }

  std::unexpected<Error> disagree(std::size_t id, const Source& one, const Source& other) const {
    return fail_at(other.place.text(), ErrorKind::kInvalidArgument,
                   "the iterator {0} has the size {1} from {2} but {3} from {4}; correct a "
                   "shape, or give the size to use: {0}:SIZE",
                   scope_.iters[id].name, one.extent, one.text, other.extent, other.text);
  }

  // Terms of a sum that index a tensor alone are all there but for those whose neighbours, as k +
  // 1, are not. What they are added to, as in x + k, is made smaller instead.
  void settle_reductions() {
    Sizes largest(scope_.iters.size());
    each_unpadded([&](const ir::Affine& index, std::int64_t size, const ReadSyntax&, Place) {
      if (index.terms.size() == 1) limit(index, size, index.terms[0].iter, largest);
    });
    for (std::size_t id = 0; id < largest.size(); ++id)
      if (scope_.iters[id].kind == IterKind::kReduce && !scope_.iters[id].extent && alone_[id])
        scope_.iters[id].extent = least(alone_[id]->extent, largest[id]);
  }

  void settle_spatial() {
    Sizes sizes(scope_.iters.size());
    for (std::size_t id = 0; id < sizes.size(); ++id)
      if (alone_[id] && !scope_.iters[id].extent)
        sizes[id] = least(alone_[id]->extent, largest_of(static_cast<int>(id)));
    for (std::size_t id = 0; id < sizes.size(); ++id)
      if (sizes[id]) scope_.iters[id].extent = sizes[id];
  }

  // A declared size must be the one that follows from the reads, too.
  Status check_written() {
    for (std::size_t id = 0; id < written_.size(); ++id)
      if (written_[id] && alone_[id] && written_[id]->extent != alone_[id]->extent &&
          written_[id]->extent != least(alone_[id]->extent, largest_of(static_cast<int>(id))))
        return disagree(id, *written_[id], *alone_[id]);
    return {};
  }

  static std::int64_t least(std::int64_t size, std::optional<std::int64_t> limit) {
    return limit ? std::min(size, *limit) : size;
  }

  // Calls visit(index, size of the dimension, read, place) for every index that must stay inside.
  template <class F>
  void each_unpadded(F&& visit) const {
    for (const auto& [read, place] : scope_.reads) {
      const auto found = shapes_.find(read->tensor);
      if (found == shapes_.end() || read->pad) continue;
      for (std::size_t d = 0; d < found->second.size(); ++d)
        if (read->affine[d]) visit(*read->affine[d], found->second[d], *read, place);
    }
  }

  // The largest size that keeps the iterator's reads inside, where it is the only one of an index
  // or the others' sizes are known; none where no index limits it so, or no size does.
  std::optional<std::int64_t> largest_of(int id) {
    Sizes largest(scope_.iters.size());
    each_unpadded([&](const ir::Affine& index, std::int64_t size, const ReadSyntax&, Place) {
      const bool others_known = std::ranges::all_of(index.terms, [&](const ir::AffineTerm& t) {
        return t.iter == id || iter(t.iter).extent;
      });
      if (others_known) limit(index, size, id, largest);
    });
    return largest[static_cast<std::size_t>(id)];
  }

  // For an unpadded index with one unknown iterator: takes the largest size that stays inside the
  // tensor. Returns true if it found one.
  Result<bool> from_windows() {
    Sizes largest(scope_.iters.size());
    Status room;
    each_unpadded([&](const ir::Affine& index, std::int64_t size, const ReadSyntax& read,
                      Place place) {
      const int unknown = only_unknown(index);
      if (unknown < 0 || limit(index, size, unknown, largest) || !room) return;
      room =
          fail_at(place.text(), ErrorKind::kInvalidArgument,
                  "{0} is read outside of {1}{2} even where {0} is 0, so no size of {0} keeps "
                  "it inside; correct the index or a shape, or write what is read outside: "
                  "{1}[... else 0], and the size {0}:SIZE",
                  iter(unknown).name, read.tensor, shape_text(shapes_.find(read.tensor)->second));
    });
    LATHE_TRY_STATUS(room);
    bool any = false;
    for (std::size_t id = 0; id < largest.size(); ++id) {
      if (!largest[id] || scope_.iters[id].extent) continue;
      scope_.iters[id].extent = largest[id];
      any = true;
    }
    return any;
  }

  // -1 where none or several are.
  int only_unknown(const ir::Affine& index) {
    int unknown = -1;
    for (const ir::AffineTerm& term : index.terms) {
      if (iter(term.iter).extent) continue;
      if (unknown >= 0) return -1;
      unknown = term.iter;
    }
    return unknown;
  }

  // Lowers largest[id] to what keeps the index inside; the other iterators' sizes are known. False
  // if no size does.
  bool limit(const ir::Affine& index, std::int64_t size, int id, Sizes& largest) {
    std::int64_t coef = 0;
    Wide low = index.offset, high = index.offset;
    for (const ir::AffineTerm& term : index.terms) {
      if (term.iter == id) coef = term.coef;
      else (term.coef > 0 ? high : low) += Wide{term.coef} * (*iter(term.iter).extent - 1);
    }
    if (coef == 0) return true;
    const Wide room = coef > 0 ? size - 1 - high : low;
    if (room < 0) return false;
    const Wide extent = std::min<Wide>(room / (coef > 0 ? coef : -coef) + 1, kMaxIterations);
    auto& so_far = largest[static_cast<std::size_t>(id)];
    so_far = least(static_cast<std::int64_t>(extent), so_far);
    return true;
  }

  StageScope& scope_;
  const StageSyntax& stage_;
  const ShapeOf& shapes_;
  // By iterator: its size in the declaration of the written tensor, and in the first tensor that it
  // indexes alone.
  std::vector<std::optional<Source>> written_, alone_;
};

}  // namespace

Status infer_extents(StageScope& scope, const StageSyntax& stage, const ShapeOf& shapes) {
  return Inference(scope, stage, shapes).run();
}

Status require_extents(const StageScope& scope) {
  for (const StageIter& i : scope.iters)
    if (!i.extent)
      return fail_at(i.place.text(), ErrorKind::kInvalidArgument,
                     "the size of the iterator {0} does not follow from the tensors' shapes; write "
                     "it: {0}:SIZE",
                     i.name);
  return {};
}

}  // namespace lathe::te
