#include "compiler/sequence/check.h"

#include <algorithm>
#include <utility>

namespace lathe::sequence {
namespace {

// The same bytes mean the same elements, in row-major order.
bool is_alike(const flat::Border& made, const flat::Border& read) {
  if (made.dtype != read.dtype || made.size != read.size) return false;
  if (tensor::is_plain(made) && tensor::is_plain(read)) return true;
  return made.shape == read.shape && made.layout == read.layout;
}

class Checker {
 public:
  explicit Checker(const Sequence& sequence) : sequence_(sequence), uses_(sequence.values.size()) {}

  Result<std::vector<Uses>> run() && {
    LATHE_TRY_STATUS(check_ends());
    for (std::size_t p = 0; p < sequence_.parts.size(); ++p)
      LATHE_TRY_STATUS(add(static_cast<int>(p)));
    for (const int value : sequence_.outputs)
      if (uses_[at(value)].maker < 0)
        return fail(ErrorKind::kInvalidArgument, "no part makes the output {}", name(value));
    for (const int value : sequence_.inputs)
      if (!uses_[at(value)].read)
        return fail(ErrorKind::kInvalidArgument, "no part reads the input {}", name(value));
    return std::move(uses_);
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  const std::string& name(int value) const { return sequence_.values[at(value)].name; }
  bool is_value(int value) const { return value >= 0 && at(value) < sequence_.values.size(); }

  Status check_ends() {
    for (const int value : sequence_.inputs) {
      if (!is_value(value) || uses_[at(value)].given)
        return fail(ErrorKind::kInvalidArgument, "the inputs are no values, each once");
      uses_[at(value)].given = true;
      uses_[at(value)].constant = sequence_.values[at(value)].constant;
    }
    for (std::size_t v = 0; v < uses_.size(); ++v) {
      if (sequence_.values[v].data.bytes.empty()) continue;
      if (uses_[v].given)
        return fail(ErrorKind::kInvalidArgument, "{} lies in the code, and is an input, too",
                    sequence_.values[v].name);
      uses_[v].given = uses_[v].constant = true;
    }
    for (const int value : sequence_.outputs) {
      if (!is_value(value) || uses_[at(value)].taken)
        return fail(ErrorKind::kInvalidArgument, "the outputs are no values, each once");
      uses_[at(value)].taken = true;
    }
    return {};
  }

  Status add(int number) {
    const Part& part = sequence_.parts[at(number)];
    const flat::Program& program = part.program;
    if (part.inputs.size() != program.inputs.size() ||
        part.outputs.size() != program.outputs.size())
      return fail_at(part.name, ErrorKind::kInvalidArgument,
                     "the part has {} inputs and {} outputs, and {} and {} values are named for "
                     "them",
                     program.inputs.size(), program.outputs.size(), part.inputs.size(),
                     part.outputs.size());
    for (std::size_t i = 0; i < part.inputs.size(); ++i)
      LATHE_TRY_STATUS(read(number, part.inputs[i], program.inputs[i]));
    const bool constant = is_constant(part, uses_);
    for (std::size_t o = 0; o < part.outputs.size(); ++o)
      LATHE_TRY_STATUS(make(number, part.outputs[o], program.outputs[o], constant));
    return {};
  }

  Status read(int number, int value, const flat::Border& border) {
    const std::string& part = sequence_.parts[at(number)].name;
    if (!is_value(value))
      return fail_at(part, ErrorKind::kInvalidArgument, "there is no value {} for the input {}",
                     value, border.name);
    Uses& use = uses_[at(value)];
    if (use.maker < 0 && !use.given)
      return fail_at(part, ErrorKind::kInvalidArgument, "nothing has made {} before it is read",
                     name(value));
    if (use.maker < 0 && !use.read) use.border = border;
    const tensor::Data& data = sequence_.values[at(value)].data;
    if (!data.bytes.empty() &&
        (!tensor::is_plain(border) || std::cmp_not_equal(data.bytes.size(), border.bytes())))
      return fail_at(part, ErrorKind::kInvalidArgument,
                     "{} has {} bytes, and the part reads {} as {}, or not row-major", name(value),
                     data.bytes.size(), border.bytes(), border.name);
    if (!is_alike(use.border, border))
      return fail_at(part, ErrorKind::kInvalidArgument,
                     "{} is stored in another type, size or layout than the part reads as {}",
                     name(value), border.name);
    if (border.constant && !use.constant)
      return fail_at(part, ErrorKind::kInvalidArgument,
                     "the input {} is constant there, and {} changes from call to call",
                     border.name, name(value));
    use.read = true;
    use.last = number;
    return {};
  }

  Status make(int number, int value, const flat::Border& border, bool constant) {
    const std::string& part = sequence_.parts[at(number)].name;
    if (!is_value(value))
      return fail_at(part, ErrorKind::kInvalidArgument, "there is no value {} for the output {}",
                     value, border.name);
    Uses& use = uses_[at(value)];
    if (use.maker >= 0 || use.given)
      return fail_at(part, ErrorKind::kInvalidArgument, "{} is made twice, or is an input",
                     name(value));
    use.maker = use.last = number;
    use.constant = constant;
    use.border = border;
    return {};
  }

  const Sequence& sequence_;
  std::vector<Uses> uses_;
};

}  // namespace

bool is_constant(const Part& part, const std::vector<Uses>& uses) {
  const auto use = [&](int value) -> const Uses& { return uses[static_cast<std::size_t>(value)]; };
  return std::ranges::all_of(part.inputs, [&](int v) { return use(v).constant; }) &&
         std::ranges::none_of(part.outputs, [&](int v) { return use(v).taken; });
}

Result<std::vector<Uses>> uses_of(const Sequence& sequence) { return Checker(sequence).run(); }

}  // namespace lathe::sequence
