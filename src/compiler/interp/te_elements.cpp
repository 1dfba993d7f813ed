#include "compiler/interp/te_elements.h"

#include <algorithm>

#include "base/result.h"
#include "compiler/interp/reduction.h"

namespace lathe::interp {
namespace {

constexpr std::int64_t kLanes = 256;  // evaluated together
// Elements of a stage without a reduction
constexpr std::size_t kMostRemembered = std::size_t{1} << 18;

// More elements one after the other take too much memory.
constexpr std::int64_t kLongestLine = std::int64_t{1} << 20;

// Evaluations that are nested in one another deeper than this take too much of the stack: elements
// of a recurrence that read others beside them in each step.
constexpr int kDeepest = 400;

struct Exhausted {};

void decode(std::int64_t offset, const std::vector<std::int64_t>& shape,
            std::vector<std::int64_t>& at) {
  at.resize(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = offset % shape[d];
    offset /= shape[d];
  }
}

// Counts how deep evaluations are nested, where there is something to count in.
class Depth {
 public:
  explicit Depth(int* depth) : depth_(depth) {
    if (depth_ != nullptr && ++*depth_ > kDeepest) {
      --*depth_;
      throw Exhausted{};
    }
  }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() {
    if (depth_ != nullptr) --*depth_;
  }

 private:
  int* depth_;
};

template <class F>
std::vector<Value> by_lane(std::size_t lanes, const F& f) {
  std::vector<Value> out(lanes);
  for (std::size_t l = 0; l < lanes; ++l) out[l] = f(l);
  return out;
}

}  // namespace

// `lanes` positions of the iterators of a stage.
struct Elements::Points {
  const te::Stage& stage;
  std::size_t lanes;
  std::vector<std::vector<std::int64_t>> position;  // by iterator, then lane

  std::int64_t at(const ir::Affine& index, std::size_t lane) const {
    std::int64_t out = index.offset;
    for (const ir::AffineTerm& term : index.terms)
      out += term.coef * position[static_cast<std::size_t>(term.iter)][lane];
    return out;
  }
};

Elements::Elements(const te::Workload& workload, std::vector<std::span<const double>> inputs,
                   std::int64_t most_terms)
    : workload_(workload),
      values_(workload.tensors.size()),
      writers_(workload.tensors.size()),
      known_(workload.tensors.size()),
      scanning_(workload.tensors.size(), false),
      most_terms_(most_terms) {
  const auto order = workload.inputs();
  LATHE_CHECK(order.size() == inputs.size(), "{} inputs are given, {} are needed", inputs.size(),
              order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    values_[static_cast<std::size_t>(order[i])] = inputs[i];
  for (std::size_t t = 0; t < workload.tensors.size(); ++t)
    if (workload.tensors[t].role == te::TensorRole::kLiteral)
      values_[t] = workload.tensors[t].literal;
  for (const te::Stage& stage : workload.stages)
    writers_[static_cast<std::size_t>(stage.tensor)] = &stage;
  lines_.resize(workload.tensors.size());
  for (const te::Stage& stage : workload.stages)
    lines_[static_cast<std::size_t>(stage.tensor)] = te::scan_of(stage);
  for (const te::Recurrence& recurrence : te::recurrences_of(workload))
    for (std::size_t p = 0; p < recurrence.stages.size(); ++p) {
      const auto& stage = workload.stages[static_cast<std::size_t>(recurrence.stages[p])];
      lines_[static_cast<std::size_t>(stage.tensor)] =
          te::Scan{recurrence.axes[p], recurrence.backward};
    }
}

std::optional<Value> Elements::at(int tensor, std::int64_t offset) {
  try {
    return read(tensor, {offset}).front();
  } catch (const Exhausted&) {
    scanning_.assign(scanning_.size(), false);
    return std::nullopt;
  }
}

void Elements::count(std::size_t terms) {
  terms_ += static_cast<std::int64_t>(terms);
  if (terms_ > most_terms_) throw Exhausted{};
}

Elements::Lanes Elements::read(int tensor, const std::vector<std::int64_t>& offsets) {
  const auto t = static_cast<std::size_t>(tensor);
  Lanes out(offsets.size());
  const te::Stage* writer = writers_[t];
  if (writer == nullptr) {
    for (std::size_t l = 0; l < offsets.size(); ++l)
      out[l] = exact(values_[t][static_cast<std::size_t>(offsets[l])]);
    return out;
  }
  std::vector<std::int64_t> unknown;
  std::vector<std::size_t> lanes;
  for (std::size_t l = 0; l < offsets.size(); ++l) {
    const auto known = known_[t].find(offsets[l]);
    if (known != known_[t].end()) {
      out[l] = known->second;
    } else {
      unknown.push_back(offsets[l]);
      lanes.push_back(l);
    }
  }
  const bool reduces = writer->reduce != ir::ReduceOp::kNone;
  const std::optional<te::Scan>& scan = lines_[t];
  if (scan && !scanning_[t]) {
    for (const std::int64_t offset : unknown) know_line(*writer, *scan, offset);
    for (std::size_t i = 0; i < unknown.size(); ++i) out[lanes[i]] = known_[t].at(unknown[i]);
    return out;
  }
  const Depth depth(scan && !unknown.empty() ? &depth_ : nullptr);
  Lanes made = reduces || unknown.empty() ? Lanes{} : element_wise(*writer, unknown);
  for (std::size_t i = 0; i < unknown.size(); ++i) {
    if (reduces) {
      const bool again = i > 0 && unknown[i] == unknown[i - 1];  // lanes often share an element
      made.push_back(again ? made.back() : reduced(*writer, unknown[i]));
    }
    out[lanes[i]] = made[i];
    if (reduces || scan || known_[t].size() < kMostRemembered)
      known_[t].emplace(unknown[i], made[i]);
  }
  return out;
}

// Computes what is not known of the elements along the axis of a scan, up to this one. So each
// finds those before it, and evaluations are not nested in each other.
void Elements::know_line(const te::Stage& stage, const te::Scan& scan, std::int64_t offset) {
  const auto t = static_cast<std::size_t>(stage.tensor);
  const auto& shape = workload_.tensors[t].shape;
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > static_cast<std::size_t>(scan.iter) + 1;)
    stride *= shape[d];
  const std::int64_t extent = shape[static_cast<std::size_t>(scan.iter)];
  const std::int64_t place = offset / stride % extent;
  const std::int64_t step = scan.backward ? -stride : stride;
  const std::int64_t before = scan.backward ? extent - 1 - place : place;
  std::int64_t first = before;  // elements before this one, as far as none of them is known
  while (first > 0 && !known_[t].contains(offset - (before - first + 1) * step)) --first;
  if (before - first > kLongestLine) throw Exhausted{};
  scanning_[t] = true;
  for (std::int64_t k = first; k <= before; ++k) read(stage.tensor, {offset - (before - k) * step});
  scanning_[t] = false;
}

Elements::Lanes Elements::element_wise(const te::Stage& stage,
                                       const std::vector<std::int64_t>& offsets) {
  count(offsets.size());
  Points points{stage, offsets.size(), {}};
  points.position.assign(stage.iters.size(), std::vector<std::int64_t>(offsets.size()));
  std::vector<std::int64_t> at;
  for (std::size_t l = 0; l < offsets.size(); ++l) {
    decode(offsets[l], workload_.tensors[static_cast<std::size_t>(stage.tensor)].shape, at);
    for (std::size_t d = 0; d < at.size(); ++d) points.position[d][l] = at[d];
  }
  return evaluate(stage.body, points);
}

Value Elements::reduced(const te::Stage& stage, std::int64_t offset) {
  std::vector<std::int64_t> at;
  decode(offset, workload_.tensors[static_cast<std::size_t>(stage.tensor)].shape, at);
  const std::size_t first = at.size();
  at.resize(stage.iters.size(), 0);
  std::int64_t left = 1;
  for (std::size_t i = first; i < at.size(); ++i) left *= stage.iters[i].extent;
  Points points{stage, 0, std::vector<std::vector<std::int64_t>>(at.size())};
  Reduction reduction(stage.reduce, stage.body->dtype, terms_may_be_alike(workload_, stage),
                      may_be_factored(stage));
  while (left > 0) {
    points.lanes = static_cast<std::size_t>(std::min(left, kLanes));
    left -= static_cast<std::int64_t>(points.lanes);
    count(points.lanes);
    for (auto& position : points.position) position.resize(points.lanes);
    for (std::size_t l = 0; l < points.lanes; ++l) {
      for (std::size_t i = 0; i < at.size(); ++i) points.position[i][l] = at[i];
      for (std::size_t i = at.size(); i-- > first;) {
        if (++at[i] < stage.iters[i].extent) break;
        at[i] = 0;
      }
    }
    for (const Value& term : evaluate(stage.body, points)) reduction.add(term);
  }
  return reduction.result();
}

const Elements::Address& Elements::address(const ir::Read& read, std::size_t iterators) {
  const auto [found, added] = addresses_.try_emplace(&read);
  Address& out = found->second;
  if (!added) return out;
  out.factors.assign(iterators, 0);
  std::int64_t stride = 1;
  const auto& shape = workload_.tensors[static_cast<std::size_t>(read.tensor)].shape;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
    out.offset += stride * read.index[d].offset;
    for (const ir::AffineTerm& term : read.index[d].terms)
      out.factors[static_cast<std::size_t>(term.iter)] += stride * term.coef;
  }
  return out;
}

Elements::Lanes Elements::evaluate(const ir::Read& read, const Points& points) {
  const Address& where = address(read, points.position.size());
  std::vector<std::int64_t> offsets(points.lanes, where.offset);
  for (std::size_t i = 0; i < where.factors.size(); ++i)
    if (where.factors[i] != 0)
      for (std::size_t l = 0; l < points.lanes; ++l)
        offsets[l] += where.factors[i] * points.position[i][l];
  if (!read.pad) return this->read(read.tensor, offsets);
  const auto& shape = workload_.tensors[static_cast<std::size_t>(read.tensor)].shape;
  std::vector<std::int64_t> inside;
  std::vector<std::size_t> lanes;
  Lanes out(points.lanes, Value{*read.pad, 0, *read.pad == 0});
  for (std::size_t l = 0; l < points.lanes; ++l) {
    bool in = true;
    for (std::size_t d = 0; d < shape.size() && in; ++d) {
      const std::int64_t index = points.at(read.index[d], l);
      in = index >= 0 && index < shape[d];
    }
    if (!in) continue;
    inside.push_back(offsets[l]);
    lanes.push_back(l);
  }
  const Lanes values = inside.empty() ? Lanes{} : this->read(read.tensor, inside);
  for (std::size_t i = 0; i < values.size(); ++i) out[lanes[i]] = values[i];
  return out;
}

Elements::Lanes Elements::evaluate(const ir::Lookup& lookup, const Points& points) {
  std::vector<Lanes> rows;
  for (const ir::Expr& index : lookup.index) rows.push_back(evaluate(index, points));
  const auto& shape = workload_.tensors[static_cast<std::size_t>(lookup.tensor)].shape;
  const auto offset_of = [&](std::span<const std::int64_t> at) -> std::optional<std::int64_t> {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (at[d] < 0 || at[d] >= shape[d]) return std::nullopt;
      offset = offset * shape[d] + at[d];
    }
    return offset;
  };
  const Value outside{lookup.pad.value_or(0), 0, lookup.pad == 0};
  Lanes out(points.lanes, outside);
  std::vector<std::int64_t> offsets;
  std::vector<std::size_t> certain;
  std::vector<Value> index(rows.size());
  for (std::size_t l = 0; l < points.lanes; ++l) {
    bool exact = true;
    for (std::size_t d = 0; d < rows.size(); ++d)
      index[d] = rows[d][l], exact = exact && index[d].bound == 0;
    out[l] = looked_up(index, shape, lookup.pad.has_value(), [&](auto at) -> Value {
      const auto offset = offset_of(at);
      if (!offset) return outside;
      if (!exact) return read(lookup.tensor, {*offset}).front();
      offsets.push_back(*offset);
      certain.push_back(l);
      return {};
    });
  }
  const Lanes values = offsets.empty() ? Lanes{} : read(lookup.tensor, offsets);
  for (std::size_t i = 0; i < values.size(); ++i) out[certain[i]] = values[i];
  return out;
}

Elements::Lanes Elements::evaluate(const ir::Select& select, const Points& points) {
  const Lanes condition = evaluate(select.condition, points);
  const auto wanted = [&](bool which) {
    return std::ranges::any_of(
        condition, [&](const Value& c) { return c.bound > 0 || (c.value != 0) == which; });
  };
  const Lanes then = wanted(true) ? evaluate(select.then, points) : Lanes(points.lanes);
  const Lanes otherwise = wanted(false) ? evaluate(select.otherwise, points) : Lanes(points.lanes);
  Lanes out(points.lanes);
  for (std::size_t l = 0; l < points.lanes; ++l)
    out[l] = choose(condition[l], then[l], otherwise[l]);
  return out;
}

Elements::Lanes Elements::evaluate(const ir::Expr& e, const Points& points) {
  struct Visitor {
    Elements& self;
    const Points& points;
    const ir::Expr& e;

    Lanes operator()(const ir::Const& n) const { return Lanes(points.lanes, exact(n.value)); }
    Lanes operator()(const ir::IterValue& n) const {
      const auto& position = points.position[static_cast<std::size_t>(n.iter)];
      return by_lane(points.lanes,
                     [&](std::size_t l) { return exact(static_cast<double>(position[l])); });
    }
    Lanes operator()(const ir::Read& n) const { return self.evaluate(n, points); }
    Lanes operator()(const ir::Lookup& n) const { return self.evaluate(n, points); }
    Lanes operator()(const ir::Select& n) const { return self.evaluate(n, points); }
    Lanes operator()(const ir::Unary& n) const {
      Lanes x = self.evaluate(n.x, points);
      for (Value& value : x) value = apply(n.op, value, n.x->dtype);
      return x;
    }
    Lanes operator()(const ir::Binary& n) const {
      Lanes a = self.evaluate(n.a, points);
      const Lanes b = self.evaluate(n.b, points);
      for (std::size_t l = 0; l < a.size(); ++l) a[l] = apply(n.op, a[l], b[l], n.a->dtype);
      return a;
    }
    Lanes operator()(const ir::Cast& n) const {
      Lanes x = self.evaluate(n.x, points);
      for (Value& value : x) value = convert(value, n.x->dtype, e->dtype);
      return x;
    }
    Lanes operator()(const ir::InRange& n) const {
      return by_lane(points.lanes, [&](std::size_t l) {
        const bool inside = std::ranges::all_of(n.rows, [&](const ir::InRange::Row& row) {
          const std::int64_t index = points.at(row.index, l);
          return index >= row.low && index < row.high;
        });
        return exact(inside ? 1 : 0);
      });
    }
  };
  return std::visit(Visitor{*this, points, e}, e->value);
}

}  // namespace lathe::interp
