#include "compiler/te/compose.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "compiler/te/reshape.h"

namespace lathe::te {
namespace {

std::string said(const PartTensor& place) {
  return fmt::format("{} of part {}", place.tensor, place.part);
}

// Tensors of all parts, those that are one joined, as numbers.
class Composer {
 public:
  explicit Composer(const Composition& whole) : whole_(whole), parts_(whole.parts) {}

  Result<Composed> run() {
    LATHE_TRY_STATUS(number_tensors());
    for (const auto& edge : whole_.edges) LATHE_TRY_STATUS(join(edge));
    for (const auto& alike : whole_.alike) LATHE_TRY_STATUS(join(alike));
    LATHE_TRY_STATUS(order_parts());
    LATHE_TRY_STATUS(choose_outputs());
    reshape_inputs();
    add_tensors();
    add_stages();
    LATHE_TRY_STATUS(join_contracts());
    LATHE_TRY_STATUS(validate(out_.workload));
    return std::move(out_);
  }

 private:
  using Sizes = std::vector<std::int64_t>;
  struct Member {
    int part, tensor;
  };
  const Tensor& tensor_of(int number) const {
    const Member& member = members_[static_cast<std::size_t>(number)];
    return parts_[static_cast<std::size_t>(member.part)]
        .tensors[static_cast<std::size_t>(member.tensor)];
  }

  Status number_tensors() {
    if (parts_.empty())
      return fail(ErrorKind::kInvalidArgument, "a composition of no expressions computes nothing");
    for (int p = 0; p < static_cast<int>(parts_.size()); ++p) {
      first_.push_back(static_cast<int>(members_.size()));
      const auto& tensors = parts_[static_cast<std::size_t>(p)].tensors;
      for (int t = 0; t < static_cast<int>(tensors.size()); ++t) {
        stands_for_.push_back(static_cast<int>(members_.size()));
        members_.push_back({p, t});
      }
    }
    return {};
  }

  // The number of a tensor that must have this role.
  Result<int> number_of(const PartTensor& place, TensorRole role) const {
    if (place.part < 0 || std::cmp_greater_equal(place.part, parts_.size()))
      return fail(ErrorKind::kInvalidArgument, "there is no part {}; there are {}", place.part,
                  parts_.size());
    const Workload& part = parts_[static_cast<std::size_t>(place.part)];
    const bool input = role == TensorRole::kInput;
    const int found = part.find(place.tensor);
    if (found >= 0 && part.tensors[static_cast<std::size_t>(found)].role == role)
      return first_[static_cast<std::size_t>(place.part)] + found;
    std::vector<std::string> known;
    for (const int t : input ? part.inputs() : part.outputs())
      known.push_back(part.tensors[static_cast<std::size_t>(t)].name);
    return fail(ErrorKind::kInvalidArgument, "{} is no {} of part {}; it has {}", place.tensor,
                input ? "input" : "output", place.part, fmt::join(known, ", "));
  }

  Status check_alike(const PartTensor& a, int one, const PartTensor& b, int other) const {
    const Tensor &x = tensor_of(one), &y = tensor_of(other);
    if (x.dtype != y.dtype)
      return fail(ErrorKind::kInvalidArgument, "{} is {}, and {} is {}; cast one of them", said(a),
                  name_of(x.dtype), said(b), name_of(y.dtype));
    if (x.shape_at_border() == y.shape_at_border()) return {};
    return fail(ErrorKind::kInvalidArgument, "{} is [{}], and {} is [{}]; they must be equal",
                said(a), fmt::join(x.shape_at_border(), ","), said(b),
                fmt::join(y.shape_at_border(), ","));
  }

  Status join(const Composition::Edge& edge) {
    const int output = LATHE_TRY(number_of(edge.output, TensorRole::kOutput));
    const int input = LATHE_TRY(number_of(edge.input, TensorRole::kInput));
    LATHE_TRY_STATUS(check_alike(edge.output, output, edge.input, input));
    int& stands = stands_for_[static_cast<std::size_t>(input)];
    if (stands != input)
      return fail(ErrorKind::kInvalidArgument, "two outputs take the place of {}",
                  said(edge.input));
    stands = output;
    taken_.insert(output);
    needs_.emplace_back(edge.input.part, edge.output.part);
    return {};
  }

  Status join(const Composition::Alike& alike) {
    const int one = LATHE_TRY(number_of(alike.one, TensorRole::kInput));
    const int other = LATHE_TRY(number_of(alike.other, TensorRole::kInput));
    LATHE_TRY_STATUS(check_alike(alike.one, one, alike.other, other));
    const int a = representative(one), b = representative(other);
    for (const auto& [number, place] : {std::pair{a, &alike.one}, std::pair{b, &alike.other}})
      if (tensor_of(number).role != TensorRole::kInput)
        return fail(ErrorKind::kInvalidArgument,
                    "an output takes the place of {}, so no input of the whole does", said(*place));
    stands_for_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    return {};
  }

  int representative(int number) const {
    while (stands_for_[static_cast<std::size_t>(number)] != number)
      number = stands_for_[static_cast<std::size_t>(number)];
    return number;
  }

  // Parts after those whose outputs they take, else in their order.
  Status order_parts() {
    const auto count = static_cast<int>(parts_.size());
    std::vector<bool> done(parts_.size());
    const auto ready = [&](int part) {
      return !done[static_cast<std::size_t>(part)] &&
             std::ranges::all_of(needs_, [&](const auto& need) {
               return need.first != part || done[static_cast<std::size_t>(need.second)];
             });
    };
    while (static_cast<int>(order_.size()) < count) {
      int next = 0;
      while (next < count && !ready(next)) ++next;
      if (next == count) {
        const auto left = std::ranges::find(done, false) - done.begin();
        return fail(ErrorKind::kInvalidArgument, "part {} takes what follows from itself", left);
      }
      done[static_cast<std::size_t>(next)] = true;
      order_.push_back(next);
    }
    return {};
  }

  Status choose_outputs() {
    for (const PartTensor& place : whole_.outputs)
      if (const int number = LATHE_TRY(number_of(place, TensorRole::kOutput));
          outputs_.insert(number).second)
        first_outputs_.push_back(number);
    if (!whole_.outputs.empty()) return {};
    for (int number = 0; number < static_cast<int>(members_.size()); ++number)
      if (tensor_of(number).role == TensorRole::kOutput && !taken_.contains(number))
        outputs_.insert(number);
    return {};
  }

  // Inputs get the inner shapes of what takes their place, parts in order: what one writes may get
  // other dimensions by that.
  void reshape_inputs() {
    std::set<std::string> tensors;
    for (const Workload& part : parts_)
      for (const Tensor& tensor : part.tensors) tensors.insert(tensor.name);
    for (const int p : order_) {
      Workload& part = parts_[static_cast<std::size_t>(p)];
      for (const int t : part.inputs()) {
        const int number = first_[static_cast<std::size_t>(p)] + t;
        const Sizes& shape = tensor_of(representative(number)).shape;
        if (shape != tensor_of(number).shape) reshape_input(part, t, Sizes(shape), tensors);
      }
    }
  }

  // No other tensor has it; a name that is made up is no iterator's either.
  std::string unique_name(const std::string& name) {
    std::string out = name;
    for (int copy = 2; used_.contains(out) || (out != name && iterators_.contains(out)); ++copy)
      out = fmt::format("{}_{}", name, copy);
    used_.insert(out);
    return out;
  }

  void add_tensors() {
    for (const Workload& part : parts_)
      for (const Stage& stage : part.stages)
        for (const Iterator& iter : stage.iters) iterators_.insert(iter.name);
    place_.resize(members_.size(), -1);
    // As a person declares them: what is given, then the outputs that are named, then what else is
    // computed, in order.
    for (const int part : order_) add_tensors_of(static_cast<std::size_t>(part), true);
    for (const int number : first_outputs_) add_tensor(number);
    for (const int part : order_) add_tensors_of(static_cast<std::size_t>(part), false);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      out_.names.emplace_back();
      for (int t = 0; t < static_cast<int>(parts_[p].tensors.size()); ++t)
        out_.names.back().push_back(out_.workload.tensors[in_whole(p, t)].name);
    }
  }

  void add_tensors_of(std::size_t part, bool given) {
    for (int t = 0; t < static_cast<int>(parts_[part].tensors.size()); ++t) {
      const int number = first_[part] + t;
      const TensorRole role = tensor_of(number).role;
      const bool is_given = role == TensorRole::kInput || role == TensorRole::kLiteral;
      if (representative(number) == number && is_given == given &&
          place_[static_cast<std::size_t>(number)] < 0)
        add_tensor(number);
    }
  }

  void add_tensor(int number) {
    Tensor tensor = tensor_of(number);
    tensor.name = unique_name(tensor.name);
    if (tensor.role == TensorRole::kOutput && !outputs_.contains(number))
      tensor.role = TensorRole::kIntermediate, tensor.border_shape.clear();
    place_[static_cast<std::size_t>(number)] = static_cast<int>(out_.workload.tensors.size());
    out_.workload.tensors.push_back(std::move(tensor));
  }

  std::size_t in_whole(std::size_t part, int tensor) const {
    return static_cast<std::size_t>(
        place_[static_cast<std::size_t>(representative(first_[part] + tensor))]);
  }

  void add_stages() {
    for (const int number : order_) {
      const auto part = static_cast<std::size_t>(number);
      for (Stage stage : parts_[part].stages) {
        stage.tensor = static_cast<int>(in_whole(part, stage.tensor));
        stage.body = ir::rewrite_leaves(stage.body, [&](const ir::Expr& leaf) {
          if (const auto* lookup = std::get_if<ir::Lookup>(&leaf->value))
            return ir::lookup(static_cast<int>(in_whole(part, lookup->tensor)), lookup->index,
                              leaf->dtype, lookup->pad);
          const auto* read = std::get_if<ir::Read>(&leaf->value);
          if (read == nullptr) return leaf;
          return ir::read(static_cast<int>(in_whole(part, read->tensor)), read->index, leaf->dtype,
                          read->pad);
        });
        out_.workload.stages.push_back(std::move(stage));
      }
    }
    out_.workload.name = parts_[static_cast<std::size_t>(order_.back())].name;
  }

  Status join_inputs() {
    for (int number = 0; number < static_cast<int>(members_.size()); ++number) {
      const int other = representative(number);
      Tensor& joined =
          out_.workload.tensors[static_cast<std::size_t>(place_[static_cast<std::size_t>(other)])];
      const Tensor& own = tensor_of(number);
      if (own.role != TensorRole::kInput || joined.role != TensorRole::kInput) continue;
      joined.constant = joined.constant || own.constant;
      if (!own.range) continue;
      if (!joined.range) joined.range = own.range;
      joined.range->low = std::max(joined.range->low, own.range->low);
      joined.range->high = std::min(joined.range->high, own.range->high);
      if (joined.range->low > joined.range->high)
        return fail(ErrorKind::kInvalidArgument,
                    "no number is in all ranges that parts promise of {}", joined.name);
    }
    return {};
  }

  Status join_contracts() {
    LATHE_TRY_STATUS(join_inputs());
    Contract& joined = out_.workload.contract;
    joined = parts_[0].contract;
    for (const Workload& part : std::span(parts_).subspan(1)) {
      const Contract& own = part.contract;
      joined.max_error = std::min(joined.max_error, own.max_error);
      joined.free_layout = joined.free_layout && own.free_layout;
      if (own.numerics && (!joined.numerics || *own.numerics < *joined.numerics))
        joined.numerics = own.numerics;
      if (own.algorithm.empty() || own.algorithm == joined.algorithm) continue;
      if (!joined.algorithm.empty())
        return fail(ErrorKind::kInvalidArgument,
                    "one part names the algorithm {}, another {}; a whole has one",
                    joined.algorithm, own.algorithm);
      joined.algorithm = own.algorithm;
    }
    return {};
  }

  const Composition& whole_;
  std::vector<Workload> parts_;
  Composed out_;
  std::vector<Member> members_;             // by number
  std::vector<int> first_;                  // by part: the number of its first tensor
  std::vector<int> stands_for_, place_;     // by number: another; its index in the whole
  std::vector<std::pair<int, int>> needs_;  // a part, and another whose output it takes
  std::vector<int> order_;                  // of parts
  std::set<int> taken_, outputs_;           // numbers
  std::vector<int> first_outputs_;          // numbers of those that are named, in their order
  std::set<std::string> used_, iterators_;  // names of tensors so far; of all parts' iterators
};

}  // namespace

Result<Composed> compose(const Composition& whole) { return Composer(whole).run(); }

}  // namespace lathe::te
