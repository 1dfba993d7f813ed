#include "compiler/te/parse.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/known_names.h"
#include "compiler/te/build_stage.h"
#include "compiler/te/foresee.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"
#include "compiler/te/types.h"
#include "compiler/te/validate.h"

namespace lathe::te {
namespace {

// The range with its ends rounded to the type.
Result<InputRange> range_as(const InputRange& range, Dtype dtype) {
  InputRange out;
  for (const auto& [end, from] : {std::pair(&out.low, range.low), {&out.high, range.high}}) {
    const auto rounded = number_as(from, dtype);
    if (!rounded)
      return fail(ErrorKind::kInvalidArgument,
                  "{0} is no number of {1}, so no range of {1} ends there", from, name_of(dtype));
    *end = *rounded;
  }
  return out;
}

class WorkloadBuilder {
 public:
  WorkloadBuilder(WorkloadSyntax syntax, const Declarations& given)
      : syntax_(std::move(syntax)), given_(given) {}

  Result<Workload> run() {
    LATHE_TRY_STATUS(check_count(syntax_.stages.size(), syntax_.declarations.size()));
    for (const StageSyntax& stage : syntax_.stages)
      if (!written_.insert(stage.name).second)
        return error_at(stage.place, "{} is written twice", stage.name);
    for (const DeclarationSyntax& d : syntax_.declarations) LATHE_TRY_STATUS(declare(d));
    for (const auto& [name, shape] : given_.shapes) LATHE_TRY_STATUS(declare_given(name, shape));
    for (StageSyntax& stage : syntax_.stages) {
      scopes_.push_back(LATHE_TRY(resolve(stage)));
      for (const auto& [read, place] : scopes_.back().reads) read_.insert(read->tensor);
    }
    LATHE_TRY_STATUS(check_given());
    if (syntax_.stages.empty())
      return fail(
          ErrorKind::kInvalidArgument,
          "the expression computes nothing; write for example C[i,j] = sum(k) A[i,k] * B[k,j]");
    for (const auto& [name, shape] : shapes_)
      inputs_declared_ = inputs_declared_ || !written_.contains(name);
    cycles_ = statement_cycles(syntax_, scopes_);
    for (std::size_t s = 0; s < syntax_.stages.size(); ++s) LATHE_TRY_STATUS(add_stage(s));
    for (const DeclarationSyntax& d : syntax_.declarations)
      if (!read_.contains(d.name) && !written_.contains(d.name))
        return error_at(d.place, "{} is declared but not used; leave it out", d.name);
    LATHE_TRY_STATUS(check_dtype());
    return finish();
  }

 private:
  bool is_given(const std::string& name) const { return given_.shapes.contains(name); }

  bool is_constant(const std::string& name) const {
    return std::ranges::find(given_.constants, name) != given_.constants.end();
  }

  // The range that is given for an input outside the expression.
  Status take_range(Tensor& input) const {
    const auto given = given_.ranges.find(input.name);
    if (given == given_.ranges.end()) return {};
    input.range = LATHE_TRY(range_as(given->second, input.dtype));
    return check_range(input);
  }

  // A declaration in the text becomes a tensor at once, so tensors have the order of the
  // declarations.
  Status declare(const DeclarationSyntax& d) {
    LATHE_TRY_STATUS(at(d.place, check_shape(d.name, d.shape)));
    if (workload_.find(d.name) >= 0) return error_at(d.place, "{} is declared twice", d.name);
    if (is_given(d.name) && given_.shapes.find(d.name)->second != d.shape)
      return error_at(d.place, "{} is declared [{}] here and [{}] outside the expression", d.name,
                      fmt::join(d.shape, ","), fmt::join(given_.shapes.find(d.name)->second, ","));
    if (const auto given = given_.dtypes.find(d.name);
        given != given_.dtypes.end() && given->second != d.dtype)
      return error_at(d.place, "{} is declared {} here and {} outside the expression", d.name,
                      name_of(d.dtype), name_of(given->second));
    const bool is_written = written_.contains(d.name);
    if (d.literal && (is_written || d.constant || d.output))
      return error_at(d.place, "{} is a literal: it cannot be written, const or output as well",
                      d.name);
    if (is_written && d.constant)
      return error_at(d.place, "{} is computed, so it is no const input", d.name);
    if (d.range && (is_written || d.literal))
      return error_at(d.place, "{} is no input, so its range follows from what it is", d.name);
    if (d.output && !is_written)
      return error_at(d.place, "{} is declared output, but nothing computes it", d.name);
    Tensor tensor{d.name, d.dtype, d.shape, TensorRole::kInput};
    tensor.constant = d.constant || (is_constant(d.name) && !is_written && !d.literal);
    tensor.border_shape = d.border_shape;
    if (d.range) tensor.range = LATHE_TRY(at(d.place, range_as(*d.range, d.dtype)));
    if (!is_written && !d.literal) LATHE_TRY_STATUS(at(d.place, take_range(tensor)));
    LATHE_TRY_STATUS(at(d.place, check_range(tensor)));
    LATHE_TRY_STATUS(at(d.place, check_border_shape(tensor)));
    if (is_written) tensor.role = TensorRole::kIntermediate;
    if (d.literal) {
      tensor.role = TensorRole::kLiteral;
      for (const double value : *d.literal)
        tensor.literal.push_back(LATHE_TRY(at(d.place, number_as(value, d.dtype))));
      std::int64_t elements = 1;
      for (const std::int64_t size : d.shape) elements *= size;
      if (std::cmp_not_equal(tensor.literal.size(), elements))
        return error_at(d.place, "{}[{}] needs {} elements, {} are given", d.name,
                        fmt::join(d.shape, ","), elements, tensor.literal.size());
    }
    workload_.tensors.push_back(std::move(tensor));
    shapes_[d.name] = d.shape;
    if (d.output) outputs_.insert(d.name);
    return {};
  }

  Status declare_given(const std::string& name, const std::vector<std::int64_t>& shape) {
    LATHE_TRY_STATUS(check_shape(name, shape));
    shapes_[name] = shape;
    return {};
  }

  // What is given outside the expression must concern a tensor in it.
  Status check_given() const {
    const auto used = [&](const std::string& name) {
      return read_.contains(name) || written_.contains(name);
    };
    std::vector<std::string> names(read_.begin(), read_.end());
    names.insert(names.end(), written_.begin(), written_.end());
    for (const auto& [name, shape] : given_.shapes)
      if (!used(name) && !has_unknown_read())
        return fail(ErrorKind::kInvalidArgument,
                    "a shape is given for {}, which the expression does not use (known: {})", name,
                    known_names(names, name));
    for (const auto& [name, dtype] : given_.dtypes)
      if (!used(name))
        return fail(ErrorKind::kInvalidArgument,
                    "a type is given for {}, which the expression does not use (known: {})", name,
                    known_names(names, name));
    std::vector<std::string> inputs(read_.begin(), read_.end());
    std::erase_if(inputs, [&](const std::string& name) { return written_.contains(name); });
    for (const std::string& name : given_.constants)
      if (!read_.contains(name) || written_.contains(name))
        return fail(ErrorKind::kInvalidArgument,
                    "{} is declared constant, but is no input of the expression (inputs: {})", name,
                    known_names(inputs, name));
    for (const auto& [name, range] : given_.ranges)
      if (!read_.contains(name) || written_.contains(name))
        return fail(ErrorKind::kInvalidArgument,
                    "a range is given for {}, which is no input of the expression (inputs: {})",
                    name, known_names(inputs, name));
    return {};
  }

  // Refuses a type for all inputs that no input took: it was meant to change something.
  Status check_dtype() const {
    if (!given_.dtype) return {};
    bool inputs = false;
    for (const Tensor& tensor : workload_.tensors) {
      if (tensor.role != TensorRole::kInput) continue;
      if (tensor.dtype == *given_.dtype) return {};
      inputs = true;
    }
    if (!inputs) return {};
    return fail(ErrorKind::kInvalidArgument,
                "the type {} is given for the inputs, but each of them is declared with another; "
                "change it there",
                name_of(*given_.dtype));
  }

  bool has_unknown_read() const {
    return std::ranges::any_of(read_, [&](const std::string& name) {
      return !shapes_.contains(name) && !written_.contains(name);
    });
  }

  template <class T>
  static Result<T> at(Place place, Result<T> result) {
    if (!result) result.error().place = place.text();
    return result;
  }

  Status add_stage(std::size_t s) {
    const StageSyntax& stage = syntax_.stages[s];
    StageScope& scope = scopes_[s];
    for (const auto& [read, place] : scope.reads) LATHE_TRY_STATUS(check_order(s, *read, place));
    LATHE_TRY_STATUS(foresee_cycle(s));
    LATHE_TRY_STATUS(infer_extents(scope, stage, shapes_));
    for (const auto& [read, place] : scope.reads) LATHE_TRY_STATUS(make_input(scope, *read, place));
    LATHE_TRY_STATUS(require_extents(scope));
    StageOutput written;
    written.tensor = workload_.find(stage.name);
    if (written.tensor >= 0)
      written.dtype = workload_.tensors[static_cast<std::size_t>(written.tensor)].dtype;
    else if (const auto given = given_.dtypes.find(stage.name); given != given_.dtypes.end())
      written.dtype = given->second;
    written.unique_name = [this](const std::string& name) { return unique_name(name); };
    const int tensor = LATHE_TRY(build_stage(workload_, stage, scope, written));
    shapes_[stage.name] = workload_.tensors[static_cast<std::size_t>(tensor)].shape;
    done_.insert(stage.name);
    return {};
  }

  // Before the first statement of a recurrence: its tensors, which statements before theirs read.
  Status foresee_cycle(std::size_t s) {
    const auto cycle = std::ranges::find_if(
        cycles_, [&](const std::vector<int>& each) { return std::cmp_equal(each.front(), s); });
    if (cycle == cycles_.end()) return {};
    // Inputs that later statements of the recurrence are the first to read.
    for (const int each : *cycle)
      for (const auto& [read, place] : scopes_[static_cast<std::size_t>(each)].reads)
        if (!written_.contains(read->tensor))
          LATHE_TRY_STATUS(make_input(scopes_[static_cast<std::size_t>(each)], *read, place));
    for (Tensor& tensor :
         LATHE_TRY(foresee(workload_, syntax_, scopes_, *cycle, shapes_, given_.dtypes))) {
      shapes_[tensor.name] = tensor.shape;
      workload_.tensors.push_back(std::move(tensor));
    }
    return {};
  }

  Status check_order(std::size_t s, const ReadSyntax& read, Place place) const {
    if (read.own || !written_.contains(read.tensor) || done_.contains(read.tensor)) return {};
    for (const std::vector<int>& cycle : cycles_) {
      if (std::ranges::count(cycle, static_cast<int>(s)) == 0) continue;
      for (const int other : cycle)
        if (syntax_.stages[static_cast<std::size_t>(other)].name == read.tensor) return {};
    }
    return error_at(place,
                    "{0} is computed further down; move the statement that writes {0} before this "
                    "one",
                    read.tensor);
  }

  // Makes an input of a tensor that is read, but neither declared in the text nor written. Its
  // shape is given outside; or, where no input is declared and all iterators are known, it is as
  // large as what is read of it.
  Status make_input(const StageScope& scope, const ReadSyntax& read, Place place) {
    if (read.own || workload_.find(read.tensor) >= 0) return {};
    Tensor tensor{read.tensor, Dtype::kF32, {}, TensorRole::kInput};
    if (const auto given = given_.dtypes.find(read.tensor); given != given_.dtypes.end())
      tensor.dtype = given->second;
    else if (given_.dtype) tensor.dtype = *given_.dtype;
    tensor.constant = is_constant(read.tensor);
    if (!shapes_.contains(read.tensor))
      shapes_[read.tensor] = LATHE_TRY(shape_read(scope, read, place));
    tensor.shape = shapes_[read.tensor];
    LATHE_TRY_STATUS(at(place, check_shape(tensor.name, tensor.shape)));
    LATHE_TRY_STATUS(at(place, take_range(tensor)));
    workload_.tensors.push_back(std::move(tensor));
    return {};
  }

  Result<std::vector<std::int64_t>> shape_read(const StageScope& scope, const ReadSyntax& first,
                                               Place place) const {
    std::vector<std::string> known;
    for (const auto& [name, shape] : shapes_) known.push_back(name);
    const auto unknown = [&] {
      return error_at(
          place,
          "there is no tensor {0} (known: {1}); if it is an input, declare its shape, for "
          "example {0}: "
          "f32[{2}], or --shape {0}={2}",
          first.tensor, known_names(known, first.tensor),
          fmt::join(std::vector<std::string>(first.affine.size(), "64"), ","));
    };
    if (inputs_declared_) return unknown();
    std::vector<std::int64_t> shape(first.affine.size(), 1);
    for (const StageScope& stage : scopes_)
      for (const auto& [read, where] : stage.reads) {
        if (read->tensor != first.tensor) continue;
        if (read->affine.size() != shape.size())
          return error_at(where, "{} is read with {} indices here and {} elsewhere", first.tensor,
                          read->affine.size(), shape.size());
        const auto size = read->pad ? std::nullopt : size_read(stage, *read);
        if (!size && &stage == &scope) return unknown();
        for (std::size_t d = 0; size && d < shape.size(); ++d)
          shape[d] = std::max(shape[d], (*size)[d]);
      }
    return shape;
  }

  // How large a tensor is of which no more is read; nothing where an iterator's size is not known.
  static std::optional<std::vector<std::int64_t>> size_read(const StageScope& scope,
                                                            const ReadSyntax& read) {
    constexpr __int128 kMax = __int128{1} << 50;
    std::vector<std::int64_t> size;
    for (const std::optional<ir::Affine>& index : read.affine) {
      if (!index) return std::nullopt;
      __int128 high = index->offset;
      for (const ir::AffineTerm& term : index->terms) {
        const auto& extent = scope.iters[static_cast<std::size_t>(term.iter)].extent;
        if (!extent) return std::nullopt;
        if (term.coef > 0) high += static_cast<__int128>(term.coef) * (*extent - 1);
      }
      size.push_back(
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(high + 1, kMax))));
    }
    return size;
  }

  std::string unique_name(const std::string& wanted) const {
    const auto taken = [&](const std::string& name) {
      return syntax_.names.contains(name) || shapes_.contains(name) || workload_.find(name) >= 0;
    };
    std::string name = wanted;
    for (int n = 2; taken(name); ++n) name = wanted + std::to_string(n);
    return name;
  }

  // The tensors that are read for something else than their own later elements.
  std::set<int> read_on(const std::vector<Recurrence>& recurrences) const {
    std::set<int> read;
    for (std::size_t s = 0; s < workload_.stages.size(); ++s)
      for (const int tensor : ir::tensors_of(workload_.stages[s].body)) {
        const bool goes_on = std::ranges::any_of(recurrences, [&](const Recurrence& recurrence) {
          return reads_earlier_steps_only(workload_, recurrence, static_cast<int>(s), tensor);
        });
        if (tensor != workload_.stages[s].tensor && !goes_on) read.insert(tensor);
      }
    return read;
  }

  Result<Workload> finish() {
    gather_recurrences(workload_);
    const std::set<int> read = read_on(LATHE_TRY(find_recurrences(workload_)));
    for (const Stage& stage : workload_.stages) {
      Tensor& tensor = workload_.tensors[static_cast<std::size_t>(stage.tensor)];
      const bool output = !read.contains(stage.tensor) || outputs_.contains(tensor.name);
      tensor.role = output ? TensorRole::kOutput : TensorRole::kIntermediate;
    }
    workload_.contract.max_error = syntax_.max_error.value_or(workload_.contract.max_error);
    workload_.contract.algorithm = syntax_.algorithm;
    workload_.contract.numerics = syntax_.numerics;
    workload_.contract.free_layout = syntax_.free_layout.value_or(false);
    workload_.name = syntax_.name;
    if (workload_.name.empty())
      workload_.name =
          workload_.tensors[static_cast<std::size_t>(workload_.outputs().front())].name;
    LATHE_TRY_STATUS(validate(workload_));
    return std::move(workload_);
  }

  WorkloadSyntax syntax_;
  const Declarations& given_;
  Workload workload_;
  std::vector<StageScope> scopes_;        // of syntax_.stages
  std::vector<std::vector<int>> cycles_;  // of statements that need each other
  ShapeOf shapes_;
  bool inputs_declared_ = false;  // at least one is: then all must be
  std::set<std::string, std::less<>> written_, read_, outputs_, done_;
};

}  // namespace

Result<InputRange> parse_range(std::string_view text, Dtype dtype) {
  return range_as(LATHE_TRY(parse_range_syntax(text)), dtype);
}

Result<Workload> parse_workload(std::string_view text, const Declarations& declarations) {
  return WorkloadBuilder(LATHE_TRY(parse_syntax(text)), declarations).run();
}

}  // namespace lathe::te
