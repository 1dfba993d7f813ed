#include "compiler/te/reshape.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace lathe::te {
namespace {

using Sizes = std::vector<std::int64_t>;

// Of each dimension at the border, those that it is made of.
std::vector<Sizes> parts_of(const Sizes& shape, const Sizes& border) {
  const auto dims = merged_dims(shape, border);
  LATHE_CHECK(dims);
  std::vector<Sizes> out(border.size());
  for (std::size_t d = 0; d < shape.size(); ++d)
    out[static_cast<std::size_t>((*dims)[d])].push_back(shape[d]);
  return out;
}

// How far apart neighbours of each dimension lie in all of them together.
Sizes strides_of(const Sizes& sizes) {
  Sizes out(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) out[d - 1] = out[d] * sizes[d];
  return out;
}

ir::Expr number(std::int64_t value) {
  return ir::constant(static_cast<double>(value), Dtype::kI64);
}

// An index of several dimensions together as one of each, if terms can be shared out among them.
std::optional<std::vector<ir::Affine>> shared_out(const ir::Affine& index, const Sizes& sizes,
                                                  const std::vector<Iterator>& iters) {
  const Sizes strides = strides_of(sizes);
  std::vector<ir::Affine> out(sizes.size());
  Sizes low(sizes.size(), 0), high(sizes.size(), 0);
  for (const ir::AffineTerm& term : index.terms) {
    std::size_t d = 0;
    while (term.coef % strides[d] != 0) ++d;
    const std::int64_t coef = term.coef / strides[d];
    out[d] = out[d] + ir::Affine::iter(term.iter, coef);
    const std::int64_t last = iters[static_cast<std::size_t>(term.iter)].extent - 1;
    (coef < 0 ? low : high)[d] += coef * last;
  }
  std::int64_t rest = index.offset;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::int64_t digit = rest / strides[d];
    if (digit * strides[d] > rest) --digit;  // towards lower numbers
    out[d].offset = digit;
    rest -= digit * strides[d];
    if (d > 0 && (low[d] + digit < 0 || high[d] + digit >= sizes[d])) return std::nullopt;
  }
  return out;
}

// The same by division. Outside of all dimensions the first index is outside of its own.
std::vector<ir::Expr> divided(const ir::Expr& index, const Sizes& sizes, bool may_be_negative) {
  using enum ir::BinaryOp;
  const Sizes strides = strides_of(sizes);
  const ir::Expr inside = may_be_negative ? ir::binary(kMax, index, number(0)) : index;
  std::vector<ir::Expr> out;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    ir::Expr digit = strides[d] == 1 ? inside : ir::binary(kDiv, inside, number(strides[d]));
    if (d > 0) digit = ir::binary(kMod, digit, number(sizes[d]));
    else if (may_be_negative)
      digit = ir::select(ir::binary(kLt, index, number(0)), number(-1), digit);
    out.push_back(std::move(digit));
  }
  return out;
}

// Reads and lookups as one: their indices as expressions, and as affine forms where they are.
struct Access {
  int tensor = -1;
  std::vector<ir::Expr> index;
  std::vector<std::optional<ir::Affine>> affine;
  std::optional<double> pad;
};

std::optional<Access> access_of(const ir::Expr& leaf) {
  Access out;
  if (const auto* read = std::get_if<ir::Read>(&leaf->value)) {
    out = {.tensor = read->tensor, .pad = read->pad};
    for (const ir::Affine& row : read->index) {
      out.index.push_back(ir::value_of(row));
      out.affine.emplace_back(row);
    }
    return out;
  }
  const auto* lookup = std::get_if<ir::Lookup>(&leaf->value);
  if (lookup == nullptr) return std::nullopt;
  out = {.tensor = lookup->tensor, .pad = lookup->pad};
  for (const ir::Expr& row : lookup->index) {
    const auto [affine, rest] = ir::affine_and_rest(row);
    out.index.push_back(row);
    out.affine.push_back(rest == nullptr ? std::optional(affine) : std::nullopt);
  }
  return out;
}

class Reshaper {
 public:
  Reshaper(Workload& workload, const std::set<std::string>& used)
      : workload_(workload), used_(used) {}

  void reshape(int tensor, const Sizes& shape) {
    Tensor& own = workload_.tensors[static_cast<std::size_t>(tensor)];
    const Sizes border = own.shape_at_border();
    const auto before = parts_of(own.shape, border), after = parts_of(shape, border);
    own.shape = shape;
    own.border_shape = border == shape ? Sizes{} : border;
    follow(tensor, before, after);
  }

 private:
  using Parts = std::vector<Sizes>;

  void follow(int tensor, const Parts& before, const Parts& after) {
    if (before == after) return;
    for (std::size_t s = 0; s < workload_.stages.size(); ++s) {
      for (std::size_t b = 0; b < after.size(); ++b)
        if (before[b] != after[b] && before[b].size() == 1)
          split_along(s, tensor, before, b, after);
      rewrite(workload_.stages[s], tensor, before, after);
    }
  }

  // Where a read of the tensor has an iterator alone as its index along this dimension.
  void split_along(std::size_t s, int tensor, const Parts& before, std::size_t b,
                   const Parts& after) {
    std::size_t place = 0;
    for (std::size_t above = 0; above < b; ++above) place += before[above].size();
    const std::int64_t size = before[b].front();
    int found = -1;
    const Stage& stage = workload_.stages[s];
    ir::for_each_node(stage.body, [&](const ir::Expr& node) {
      const auto* read = std::get_if<ir::Read>(&node->value);
      if (read == nullptr || read->tensor != tensor || found >= 0) return;
      const ir::Affine& row = read->index[place];
      if (row.offset == 0 && row.terms.size() == 1 && row.terms[0].coef == 1 &&
          stage.iters[static_cast<std::size_t>(row.terms[0].iter)].extent == size)
        found = row.terms[0].iter;
    });
    if (found >= 0) split(s, found, after[b]);
  }

  std::string made_up(const std::string& base, const std::vector<Iterator>& iters) const {
    for (int n = 0;; ++n) {
      std::string name = base + std::to_string(n);
      const auto has = [&](const Iterator& iter) { return iter.name == name; };
      if (!used_.contains(name) && std::ranges::none_of(iters, has)) return name;
    }
  }

  void split(std::size_t s, int iter, const Sizes& sizes) {
    Stage& stage = workload_.stages[s];
    const Sizes strides = strides_of(sizes);
    std::vector<Iterator> iters;
    std::vector<ir::Expr> values;
    int spatial = 0, dimension = -1;  // that the iterator writes
    std::vector<Iterator> all = stage.iters;
    for (std::size_t i = 0; i < stage.iters.size(); ++i) {
      const Iterator& old = stage.iters[i];
      if (static_cast<int>(i) == iter) {
        if (old.kind == IterKind::kSpatial) dimension = spatial;
        ir::Affine value;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
          value = value + ir::Affine::iter(static_cast<int>(iters.size()), strides[d]);
          iters.push_back({made_up(old.name, all), sizes[d], old.kind});
          all.push_back(iters.back());
        }
        values.push_back(ir::value_of(value));
      } else {
        values.push_back(ir::iter_value(static_cast<int>(iters.size())));
        iters.push_back(old);
      }
      spatial += old.kind == IterKind::kSpatial ? 1 : 0;
    }
    auto body = ir::with_iterators(stage.body, values);
    LATHE_CHECK(body);  // sums of iterators are affine
    stage.body = std::move(*body);
    stage.iters = std::move(iters);
    if (dimension >= 0) split_written(stage.tensor, dimension, sizes);
  }

  // A dimension of what a stage writes becomes several; what reads it follows.
  void split_written(int tensor, int dimension, const Sizes& sizes) {
    Tensor& written = workload_.tensors[static_cast<std::size_t>(tensor)];
    Sizes border = written.shape_at_border();
    Parts before(written.shape.size());
    for (std::size_t d = 0; d < written.shape.size(); ++d) before[d] = {written.shape[d]};
    Parts after = before;
    after[static_cast<std::size_t>(dimension)] = sizes;
    written.shape.clear();
    for (const Sizes& part : after)
      written.shape.insert(written.shape.end(), part.begin(), part.end());
    const bool is_seen = written.role == TensorRole::kOutput && border != written.shape;
    written.border_shape = is_seen ? std::move(border) : Sizes{};
    follow(tensor, before, after);
  }

  void rewrite(Stage& stage, int tensor, const Parts& before, const Parts& after) const {
    stage.body = ir::rewrite_leaves(stage.body, [&](const ir::Expr& leaf) {
      const auto access = access_of(leaf);
      if (!access || access->tensor != tensor) return leaf;
      std::vector<ir::Expr> index;
      std::size_t first = 0;
      for (std::size_t b = 0; b < after.size(); first += before[b++].size())
        add_indices(*access, first, before[b], after[b], stage.iters, index);
      ir::Expr made = ir::lookup(tensor, std::move(index), leaf->dtype, access->pad);
      const ir::Expr inside = access->pad ? is_inside(*access, before, after) : nullptr;
      if (inside == nullptr) return made;
      return ir::select(inside, made, ir::constant(*access->pad, leaf->dtype));
    });
  }

  // Where several dimensions are taken together, an index outside of one of them must not become
  // one inside of all; null: there are none such.
  static ir::Expr is_inside(const Access& access, const Parts& before, const Parts& after) {
    using enum ir::BinaryOp;
    ir::Expr all;
    std::size_t place = 0;
    for (std::size_t b = 0; b < before.size(); ++b)
      for (const std::int64_t size : before[b]) {
        const ir::Expr& index = access.index[place++];
        if (before[b] == after[b] || before[b].size() == 1) continue;
        const ir::Expr own = ir::binary(kAnd, ir::binary(kLe, number(0), index),
                                        ir::binary(kLt, index, number(size)));
        all = all == nullptr ? own : ir::binary(kAnd, all, own);
      }
    return all;
  }

  // Of dimensions from `first` on, which together are one at the border.
  static void add_indices(const Access& access, std::size_t first, const Sizes& before,
                          const Sizes& after, const std::vector<Iterator>& iters,
                          std::vector<ir::Expr>& out) {
    if (before == after) {
      const auto begin = access.index.begin() + static_cast<std::ptrdiff_t>(first);
      out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(before.size()));
      return;
    }
    const Sizes strides = strides_of(before);
    std::optional<ir::Affine> affine = ir::Affine{};
    ir::Expr sum;
    for (std::size_t d = 0; d < before.size(); ++d) {
      const auto& row = access.affine[first + d];
      if (row && affine) affine = *affine + *row * strides[d];
      else affine.reset();
      const ir::Expr& index = access.index[first + d];
      const ir::Expr part =
          strides[d] == 1 ? index : ir::binary(ir::BinaryOp::kMul, index, number(strides[d]));
      sum = sum == nullptr ? part : ir::binary(ir::BinaryOp::kAdd, sum, part);
    }
    if (affine)
      if (const auto shared = shared_out(*affine, after, iters)) {
        for (const ir::Affine& row : *shared) out.push_back(ir::value_of(row));
        return;
      }
    const ir::Expr index = affine ? ir::value_of(*affine) : sum;
    for (ir::Expr& row : divided(index, after, access.pad.has_value()))
      out.push_back(std::move(row));
  }

  Workload& workload_;
  const std::set<std::string>& used_;
};

}  // namespace

void reshape_input(Workload& workload, int tensor, const std::vector<std::int64_t>& shape,
                   const std::set<std::string>& used) {
  Reshaper(workload, used).reshape(tensor, shape);
}

}  // namespace lathe::te
