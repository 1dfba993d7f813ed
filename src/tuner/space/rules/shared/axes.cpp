#include "tuner/space/rules/shared/axes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "compiler/te/scan.h"

namespace lathe::space {
namespace {

// True if a dimension is walked through by several iterators: such an operand is not packed.
bool is_split(const std::vector<ir::Affine>& index) {
  return std::ranges::any_of(index, [](const ir::Affine& row) { return row.terms.size() > 1; });
}

// True if lanes along `iter` touch consecutive elements, or could with a layout that the schedule
// chooses.
bool consecutive(const te::Workload& workload, const Axes& axes, int tensor,
                 const std::vector<ir::Affine>& index, int iter) {
  if (!touches(index, iter)) return true;
  const auto rows =
      std::ranges::count_if(index, [&](const ir::Affine& r) { return r.coef_of(iter) != 0; });
  return (rows == 1 && index.back().coef_of(iter) == 1) ||
         (layout_is_free(workload, tensor) && plain_dim(index, iter) >= 0 &&
          (!workload.tensors[tensor].constant || !is_split(without_parts(axes, index))));
}

// A sum of so many terms or more stores seldom enough to scatter what it stores: of C6 between
// row-major tensors, programs with lanes along the channels take 1 ms, others 4.
constexpr double kStoresSeldom = 64;
constexpr std::int64_t kWorthLanes = 8;

}  // namespace

std::string part_loop(const std::string& loop) { return loop + ".b"; }
std::string loop_in_part(const std::string& loop) { return loop + ".a"; }

namespace {

// What is reduced: the longest of them, its parts where it is cut, and the others.
void assign_reduction(const te::Workload& workload, const te::Stage& stage, Axes& axes) {
  const auto count = static_cast<int>(stage.iters.size());
  for (int i = 0; i < count; ++i) {
    if (stage.iters[i].kind != te::IterKind::kReduce) continue;
    if (axes.reduce < 0 || stage.iters[i].extent > stage.iters[axes.reduce].extent) axes.reduce = i;
  }
  for (int i = 0; i < count; ++i)
    if (stage.iters[i].kind == te::IterKind::kReduce && i != axes.reduce) axes.taps.push_back(i);
  if (axes.reduce < 0) return;
  for (int i = 0; i < count; ++i) {
    const std::string& name = stage.iters[i].name;
    const std::string whole = name.substr(0, name.rfind('.'));
    if (stage.iters[i].kind == te::IterKind::kSpatial && name == part_loop(whole) &&
        stage.iters[axes.reduce].name == loop_in_part(whole))
      axes.parts = i;
  }
  if (!has_reuse(stage) && !has_panels(workload, stage, axes)) axes.parts = -1;
}

bool has(const ir::Read* read, int iter) { return read != nullptr && touches(read->index, iter); }

// True for a sum of which both operands have all axes, as a product of two vectors and one of rows
// by rows of the same number: nothing is used again, and tiles are there to have many sums under
// way.
bool shares_all_axes(const te::Stage& stage, const Axes& axes) {
  if (stage.reduce == ir::ReduceOp::kNone || axes.input == nullptr) return false;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
    if (stage.iters[i].kind == te::IterKind::kSpatial && stage.iters[i].extent > 1 &&
        !(has(axes.weights, i) && has(axes.input, i)))
      return false;
  return true;
}

// A tile of so few results leaves multipliers idle.
constexpr std::int64_t kFewResults = 128;

// Where the other operand alone has one short axis, as few channels of an image, a tile takes rows
// of the operand that is read as vectors, too.
void fill_tile(const te::Stage& stage, Axes& axes) {
  if (stage.reduce == ir::ReduceOp::kNone || axes.pixels.size() != 1 || axes.input == nullptr ||
      stage.iters[axes.pixels[0]].extent * stage.iters[axes.vector].extent > kFewResults)
    return;
  const auto rows = std::ranges::find_if(axes.batch, [&](int i) {
    return stage.iters[i].extent > 1 && has(axes.weights, i) && !has(axes.input, i);
  });
  if (rows == axes.batch.end()) return;
  axes.pixels.push_back(*rows);
  axes.batch.erase(rows);
}

// Where rows of the result end in a few elements that the weights alone have, as the phases of a
// transposed convolution, a tile has them beside the pixels before them: it stores whole rows.
void take_phases(const te::Stage& stage, Axes& axes) {
  const int phase = last_spatial_of(stage);
  if (stage.reduce == ir::ReduceOp::kNone || phase < 1 || phase == axes.vector ||
      axes.pixels.empty() || axes.pixels[0] != phase - 1 || stage.iters[phase].extent < 2 ||
      stage.iters[phase].extent > kWorthLanes / 2 || !has(axes.weights, phase) ||
      has(axes.input, phase))
    return;
  std::erase(axes.batch, phase);
  axes.batch.insert(axes.batch.begin(), axes.pixels.begin() + 1, axes.pixels.end());
  axes.pixels = {phase, phase - 1};
  std::ranges::sort(axes.batch, std::greater{});
}

Axes assign(const te::Workload& workload, int stage_index, int vector) {
  const te::Stage& stage = workload.stages[stage_index];
  Axes axes;
  axes.stage = stage_index;
  axes.vector = vector;
  assign_reduction(workload, stage, axes);
  const auto reads = ir::reads_of(stage.body);
  for (const ir::Read* read : reads) {
    if (!touches(read->index, vector)) continue;
    const bool better =
        axes.weights == nullptr || (workload.tensors[read->tensor].constant &&
                                    !workload.tensors[axes.weights->tensor].constant);
    if (better) axes.weights = read;
  }
  for (const ir::Read* read : reads)
    if (read != axes.weights && axes.input == nullptr && !is_anywhere(*read)) axes.input = read;
  // Tiles use vectors again along the axes that the other operand alone has.
  bool reuses = false;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
    reuses = reuses || (i != vector && stage.iters[i].kind == te::IterKind::kSpatial &&
                        stage.iters[i].extent > 1 && has(axes.input, i) && !has(axes.weights, i));
  const bool along_both = has(axes.input, vector), all_shared = shares_all_axes(stage, axes);
  for (int i = static_cast<int>(stage.iters.size()); i-- > 0;) {
    if (stage.iters[i].kind != te::IterKind::kSpatial || i == vector) continue;
    const bool shared = !all_shared && has(axes.weights, i) && has(axes.input, i);
    const bool pixel = !shared && i != axes.parts && axes.pixels.size() < 2 &&
                       stage.iters[i].extent > 1 &&
                       (!reuses || along_both || !has(axes.weights, i));
    (pixel ? axes.pixels : axes.batch).push_back(i);
  }
  take_phases(stage, axes);
  fill_tile(stage, axes);
  // Where a map reads along another axis than it writes along, a tile has both: it is transposed.
  const int across = read_along(stage);
  if (across >= 0 && across != vector) {
    std::erase(axes.pixels, across);
    std::erase(axes.batch, across);
    axes.pixels.insert(axes.pixels.begin(), across);
    if (axes.pixels.size() > 2) {
      axes.batch.push_back(axes.pixels.back());
      axes.pixels.pop_back();
    }
  }
  // Rows of which lanes run along both are walked through so that the longer list passes once.
  if (has_dots(axes) && stage.iters[axes.pixels[1]].extent < stage.iters[axes.pixels[0]].extent)
    std::swap(axes.pixels[0], axes.pixels[1]);
  std::ranges::reverse(axes.batch);
  return axes;
}

}  // namespace

double elements_of(const te::Tensor& tensor) {
  double elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
  return elements;
}

double bytes_of(const te::Tensor& tensor) { return elements_of(tensor) * size_of(tensor.dtype); }

double work_of(const te::Stage& stage) {
  double work = stage.reduce == ir::ReduceOp::kNone ? 0.5 : 1;
  for (const te::Iterator& it : stage.iters) work *= static_cast<double>(it.extent);
  return work;
}

bool is_copy(const te::Stage& stage) {
  return stage.reduce == ir::ReduceOp::kNone && std::holds_alternative<ir::Read>(stage.body->value);
}

bool writes_plainly(const te::Workload& workload, const te::Stage& stage) {
  const auto axes = std::ranges::count(stage.iters, te::IterKind::kSpatial, &te::Iterator::kind);
  return axes == std::ssize(workload.tensors[stage.tensor].shape);
}

int main_stage(const te::Workload& workload) {
  const auto work = [&](const te::Stage& stage) {
    const bool once = workload.tensors[stage.tensor].constant;
    return once || te::is_scan(stage) || !writes_plainly(workload, stage) ? 0.0 : work_of(stage);
  };
  int best = 0;
  for (int s = 1; s < static_cast<int>(workload.stages.size()); ++s)
    if (work(workload.stages[s]) > work(workload.stages[best])) best = s;
  return best;
}

std::vector<ir::Affine> written_index(const te::Stage& stage) {
  std::vector<ir::Affine> index;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i)
    if (stage.iters[i].kind == te::IterKind::kSpatial) index.push_back(ir::Affine::iter(i));
  return index;
}

bool layout_is_free(const te::Workload& workload, int tensor) {
  const te::Tensor& t = workload.tensors[tensor];
  if (t.role == te::TensorRole::kLiteral) return false;
  return t.constant || t.role == te::TensorRole::kIntermediate || workload.contract.free_layout;
}

bool is_anywhere(const ir::Read& read) { return read.pad && std::isnan(*read.pad); }

bool copies_rows(const te::Stage& stage) {
  const auto last = ir::Affine::iter(static_cast<int>(stage.iters.size()) - 1);
  return stage.reduce == ir::ReduceOp::kNone && stage.iters.size() > 1 &&
         std::ranges::any_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
           return is_anywhere(*read) && !read->index.empty() && read->index.back() == last;
         });
}

namespace {
bool is_plain(const ir::Affine& row) {
  return row.offset == 0 && row.terms.size() == 1 && row.terms[0].coef == 1;
}
}  // namespace

int plain_dim(const std::vector<ir::Affine>& index, int iter) {
  int found = -1;
  for (int d = 0; d < static_cast<int>(index.size()); ++d) {
    if (index[d].coef_of(iter) == 0) continue;
    if (found >= 0 || index[d] != ir::Affine::iter(iter)) return -1;
    found = d;
  }
  return found;
}

bool all_plain(const std::vector<ir::Affine>& index) {
  return std::ranges::all_of(index, is_plain);
}

std::vector<ir::Affine> without_parts(const Axes& axes, std::vector<ir::Affine> index) {
  for (ir::Affine& row : index)
    if (axes.parts >= 0 && row.coef_of(axes.reduce) != 0)
      std::erase_if(row.terms, [&](const ir::AffineTerm& t) { return t.iter == axes.parts; });
  return index;
}

int dim_along(const Axes& axes, const std::vector<ir::Affine>& index, int iter) {
  return plain_dim(without_parts(axes, index), iter);
}

bool all_plain(const Axes& axes, const std::vector<ir::Affine>& index) {
  return std::ranges::all_of(without_parts(axes, index), [](const ir::Affine& row) {
    return is_plain(row) || row == ir::Affine::constant(0);
  });
}

namespace {

std::int64_t last_extent(const te::Stage& stage) {  // of the axes of the result
  std::int64_t extent = 1;
  for (const te::Iterator& iter : stage.iters)
    if (iter.kind == te::IterKind::kSpatial) extent = iter.extent;
  return extent;
}

bool loads_vectors(const te::Workload& workload, const te::Stage& stage, const Axes& axes,
                   int iter) {
  return std::ranges::all_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
    return consecutive(workload, axes, read->tensor, read->index, iter);
  });
}

// The best two of what was found, or what is left where nothing was.
std::vector<Axes> best_two(std::vector<std::pair<std::int64_t, Axes>> found,
                           std::optional<Axes> before, std::optional<Axes> instead) {
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Axes> out;
  for (auto& [score, axes] : found)
    if (out.size() < 2) out.push_back(std::move(axes));
  if (before && !out.empty()) out.insert(out.begin(), std::move(*before));
  if (out.size() > 2) out.pop_back();
  if (out.empty() && instead) out.push_back(std::move(*instead));
  return out;
}

bool reads_only_intermediates(const te::Workload& workload, const te::Stage& stage) {
  return std::ranges::all_of(ir::reads_of(stage.body), [&](const ir::Read* read) {
    return workload.tensors[read->tensor].role == te::TensorRole::kIntermediate;
  });
}

}  // namespace

std::vector<Axes> classify(const te::Workload& workload, int stage_index,
                           const std::set<std::string>& steps) {
  const te::Stage& stage = workload.stages[stage_index];
  const auto written = written_index(stage);
  // An intermediate counts like the output that it flows to: a fused consumer stores along the same
  // axis.
  const bool plain_result = !workload.contract.free_layout;
  // For intermediates, no other layout than theirs gains anything.
  const bool only_intermediates = reads_only_intermediates(workload, stage);
  // Rows of a few results, as the phases of a transposed convolution, leave most lanes idle: sums
  // store along another axis, apart.
  const bool reduces = stage.reduce != ir::ReduceOp::kNone;
  const bool narrow = plain_result && reduces && last_extent(stage) <= kWorthLanes / 2 &&
                      te::terms_of(stage) >= kWorthLanes;
  // Of short sums the results are most of what moves: they are stored as they lie.
  bool stores_much = te::terms_of(stage) < kStoresSeldom && last_extent(stage) >= kWorthLanes;
  Axes reduced;
  assign_reduction(workload, stage, reduced);
  std::vector<std::pair<std::int64_t, Axes>> found;
  // Lanes that all that is read lies along, and no store does: better than lanes for which all is
  // read apart.
  std::optional<Axes> scattering;
  int last_spatial = -1;
  for (int i = 0; i < static_cast<int>(stage.iters.size()); ++i) {
    if (stage.iters[i].kind != te::IterKind::kSpatial || i == reduced.parts ||
        steps.contains(stage.iters[i].name))
      continue;
    last_spatial = i;
    const bool fills = stage.iters[i].extent >= kWorthLanes;
    const bool stores_last = plain_dim(written, i) == static_cast<int>(written.size()) - 1;
    if (plain_result && reduces && fills && !stores_last && reads_near(stage, i))
      scattering = assign(workload, stage_index, i);
    if (stage.iters[i].extent < 2 || !loads_vectors(workload, stage, reduced, i)) continue;
    const bool stores =
        plain_result ? stores_last : consecutive(workload, reduced, stage.tensor, written, i);
    Axes axes = assign(workload, stage_index, i);
    // Prefers axes that only constant weights touch where a long reduction stores seldom, then axes
    // with consecutive stores, then others that only one operand touches, then long ones.
    const bool broadcast = axes.input == nullptr || !touches(axes.input->index, i);
    if (!stores && (!reduces || !broadcast) && !(narrow && fills)) continue;
    const bool prepared =
        axes.weights != nullptr && workload.tensors[axes.weights->tensor].constant;
    stores_much = stores_much && !stores && !prepared;
    const bool as_it_lies =
        only_intermediates && written.back().coef_of(i) == 1 && reads_as_they_lie(stage, i);
    const bool seldom = broadcast && axes.input != nullptr && axes.weights != nullptr &&
                        workload.tensors[axes.weights->tensor].constant &&
                        stage.iters[i].extent >= kWorthLanes &&
                        te::terms_of(stage) >= kStoresSeldom;
    found.emplace_back((as_it_lies ? 1 << 23 : 0) + (seldom ? 1 << 22 : 0) +
                           (stores && !narrow ? 1 << 21 : 0) +
                           (broadcast && (fills || !narrow) ? 1 << 20 : 0) +
                           std::min<std::int64_t>(stage.iters[i].extent, 1 << 16),
                       std::move(axes));
  }
  std::optional<Axes> before, last;
  if (last_spatial >= 0) last = assign(workload, stage_index, last_spatial);
  if (plain_result && stores_much) before = last;
  return best_two(std::move(found), std::move(before), scattering ? scattering : last);
}

}  // namespace lathe::space
