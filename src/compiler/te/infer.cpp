#include <algorithm>

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
};

class Inference {
 public:
  Inference(StageScope& scope, const StageSyntax& stage, const ShapeOf& shapes)
      : scope_(scope), stage_(stage), shapes_(shapes), sources_(scope.iters.size()) {}

  Status run() {
    LATHE_TRY_STATUS(from_written());
    for (const auto& [read, place] : scope_.reads) LATHE_TRY_STATUS(from_alone(*read, place));
    while (from_windows()) {
    }
    return {};
  }

 private:
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
      if (!i.extent) sources_[d] = Source{shape[d], source_text(stage_.name, shape, d)};
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
      StageIter& i = scope_.iters[id];
      if (!i.extent) {
        i.extent = shape[d];
        sources_[id] = Source{shape[d], source_text(read.tensor, shape, d)};
      } else if (sources_[id] && sources_[id]->extent != shape[d]) {
        return fail_at(place.text(), ErrorKind::kInvalidArgument,
                       "the iterator {0} has the size {1} from {2} but {3} from {4}; correct a "
                       "shape, or give the "
                       "size to use: {0}:SIZE",
                       i.name, sources_[id]->extent, sources_[id]->text, shape[d],
                       source_text(read.tensor, shape, d));
      }
    }
    return {};
  }

  // For an unpadded index with one unknown iterator: takes the largest size that stays inside the
  // tensor. Returns true if it found one.
  bool from_windows() {
    std::vector<std::optional<std::int64_t>> largest(scope_.iters.size());
    for (const auto& [read, place] : scope_.reads) {
      const auto found = shapes_.find(read->tensor);
      if (found == shapes_.end() || read->pad) continue;
      for (std::size_t d = 0; d < found->second.size(); ++d)
        if (read->affine[d]) limit(*read->affine[d], found->second[d], largest);
    }
    bool any = false;
    for (std::size_t id = 0; id < largest.size(); ++id) {
      if (!largest[id] || scope_.iters[id].extent) continue;
      scope_.iters[id].extent = largest[id];
      any = true;
    }
    return any;
  }

  void limit(const ir::Affine& index, std::int64_t size,
             std::vector<std::optional<std::int64_t>>& largest) {
    int unknown = -1;
    std::int64_t coef = 0;
    Wide low = index.offset, high = index.offset;
    for (const ir::AffineTerm& term : index.terms) {
      if (const auto extent = iter(term.iter).extent) {
        (term.coef > 0 ? high : low) += Wide{term.coef} * (*extent - 1);
      } else if (unknown >= 0) {
        return;
      } else {
        unknown = term.iter;
        coef = term.coef;
      }
    }
    if (unknown < 0) return;
    const Wide room = coef > 0 ? size - 1 - high : low;
    if (room < 0) return;
    const auto extent = static_cast<std::int64_t>(room / (coef > 0 ? coef : -coef)) + 1;
    auto& so_far = largest[static_cast<std::size_t>(unknown)];
    so_far = so_far ? std::min(*so_far, extent) : extent;
  }

  StageScope& scope_;
  const StageSyntax& stage_;
  const ShapeOf& shapes_;
  std::vector<std::optional<Source>> sources_;
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
