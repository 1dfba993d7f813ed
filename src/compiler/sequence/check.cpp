#include "compiler/sequence/check.h"

#include <algorithm>
#include <compare>
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
  explicit Checker(const Sequence& sequence)
      : sequence_(sequence), uses_(sequence.values.size()), pieces_(sequence.values.size()) {}

  Result<std::vector<Uses>> run() && {
    for (const Value& value : sequence_.values) LATHE_TRY_STATUS(check_within(value));
    LATHE_TRY_STATUS(check_ends());
    for (std::size_t p = 0; p < sequence_.parts.size(); ++p)
      LATHE_TRY_STATUS(add(static_cast<int>(p)));
    for (const int value : sequence_.outputs)
      if (uses_[at(value)].maker < 0)
        return fail(ErrorKind::kInvalidArgument, "no part makes the output {}", name(value));
    for (const int value : sequence_.inputs)
      if (!uses_[at(value)].read)
        return fail(ErrorKind::kInvalidArgument, "no part reads the input {}", name(value));
    for (std::size_t v = 0; v < uses_.size(); ++v) LATHE_TRY_STATUS(finish(v));
    return std::move(uses_);
  }

 private:
  struct Span {
    std::int64_t begin, end;
    auto operator<=>(const Span&) const = default;
  };
  // Of a value with memory of its own: what is touched of it in pieces.
  struct Pieces {
    std::vector<Span> made;  // in order
    std::int64_t end = 0;    // of the last one
    Dtype dtype = Dtype::kF32;
    bool is_seen_whole = false;  // a part makes or reads it as one

    // Up to where everything from `begin` on is made.
    std::int64_t known_from(std::int64_t begin) const {
      for (const Span& each : made)
        if (each.begin <= begin) begin = std::max(begin, each.end);
      return begin;
    }
  };

  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  const std::string& name(int value) const { return sequence_.values[at(value)].name; }
  bool is_value(int value) const { return value >= 0 && at(value) < sequence_.values.size(); }

  Status check_within(const Value& value) const {
    if (!value.within) return {};
    const auto [of, begin] = *value.within;
    if (is_value(of) && !sequence_.values[at(of)].within && begin >= 0 && value.data.bytes.empty())
      return {};
    return fail(ErrorKind::kInvalidArgument, "{} lies within no value that has memory of its own",
                value.name);
  }

  // What is touched in pieces alone has the elements up to the last of them, if it does not say.
  Status finish(std::size_t value) {
    Uses& use = uses_[value];
    const Pieces& pieces = pieces_[value];
    if (pieces.end == 0) return {};
    const Value& named = sequence_.values[value];
    if (!pieces.is_seen_whole) {
      const auto bytes = static_cast<std::int64_t>(named.data.bytes.size());
      const std::int64_t size = bytes > 0 ? bytes / size_of(pieces.dtype) : pieces.end;
      use.border =
          tensor::plain_border(named.name, pieces.dtype,
                               named.shape.empty() ? std::vector<std::int64_t>{size} : named.shape);
    }
    if (pieces.end > use.border.size || use.border.dtype != pieces.dtype ||
        !tensor::is_plain(use.border))
      return fail(ErrorKind::kInvalidArgument,
                  "pieces of {} are of another type, beyond its end, or it is not stored row-major",
                  named.name);
    if (use.taken && !pieces.is_seen_whole && pieces.known_from(0) < use.border.size)
      return fail(ErrorKind::kInvalidArgument, "no part makes all of the output {}", named.name);
    return {};
  }

  Status check_ends() {
    for (const int value : sequence_.inputs) {
      if (!is_value(value) || uses_[at(value)].given || sequence_.values[at(value)].within)
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
      if (!is_value(value) || uses_[at(value)].taken || sequence_.values[at(value)].within)
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
    for (std::size_t o = 0; o < part.outputs.size(); ++o)
      if (!is_value(part.outputs[o]))
        return fail_at(part.name, ErrorKind::kInvalidArgument,
                       "there is no value {} for the output {}", part.outputs[o],
                       program.outputs[o].name);
    const bool constant = is_constant(sequence_, part, uses_);
    for (std::size_t o = 0; o < part.outputs.size(); ++o)
      LATHE_TRY_STATUS(make(number, part.outputs[o], program.outputs[o], constant));
    return {};
  }

  Status read(int number, int value, const flat::Border& border) {
    const std::string& part = sequence_.parts[at(number)].name;
    if (!is_value(value))
      return fail_at(part, ErrorKind::kInvalidArgument, "there is no value {} for the input {}",
                     value, border.name);
    Uses& use = uses_[at(whole_of(sequence_, value))];
    if (use.maker < 0 && !use.given)
      return fail_at(part, ErrorKind::kInvalidArgument, "nothing has made {} before it is read",
                     name(value));
    if (border.constant && !use.constant)
      return fail_at(part, ErrorKind::kInvalidArgument,
                     "the input {} is constant there, and {} changes from call to call",
                     border.name, name(value));
    if (sequence_.values[at(value)].within || !pieces_[at(value)].made.empty())
      LATHE_TRY_STATUS(read_pieces(part, value, border));
    else LATHE_TRY_STATUS(read_whole(part, value, border));
    use.read = true;
    use.last = number;
    return {};
  }

  Status read_whole(const std::string& part, int value, const flat::Border& border) {
    Uses& use = uses_[at(value)];
    if (use.maker < 0 && !pieces_[at(value)].is_seen_whole) use.border = border;
    pieces_[at(value)].is_seen_whole = true;
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
    return {};
  }

  // Where the tensor of a part lies in the memory of `value`, or of what that lies within.
  Result<Span> touch(const std::string& part, int value, const flat::Border& border) {
    const auto& within = sequence_.values[at(value)].within;
    Pieces& pieces = pieces_[at(whole_of(sequence_, value))];
    const std::int64_t begin = within ? within->begin : 0;
    if (!tensor::is_plain(border) || (pieces.end > 0 && pieces.dtype != border.dtype))
      return fail_at(part, ErrorKind::kInvalidArgument,
                     "{} is a piece, or made of pieces, of another type than {}, which must be "
                     "row-major",
                     name(value), border.name);
    pieces.dtype = border.dtype;
    pieces.end = std::max(pieces.end, begin + border.size);
    if (within) uses_[at(value)].border = border;
    return Span{begin, begin + border.size};
  }

  Status read_pieces(const std::string& part, int value, const flat::Border& border) {
    const Span span = LATHE_TRY(touch(part, value, border));
    const int whole = whole_of(sequence_, value);
    if (pieces_[at(whole)].known_from(span.begin) < span.end && !uses_[at(whole)].given &&
        !pieces_[at(whole)].is_seen_whole)
      return fail_at(part, ErrorKind::kInvalidArgument, "nothing has made {} before it is read",
                     name(value));
    return {};
  }

  Status make(int number, int value, const flat::Border& border, bool constant) {
    const std::string& part = sequence_.parts[at(number)].name;
    const bool is_piece = sequence_.values[at(value)].within.has_value();
    const int whole = whole_of(sequence_, value);
    Uses& use = uses_[at(whole)];
    Pieces& pieces = pieces_[at(whole)];
    Span span{0, border.size};
    if (is_piece) span = LATHE_TRY(touch(part, value, border));
    const auto overlaps = [&](const Span& made) {
      return made.begin < span.end && span.begin < made.end;
    };
    if (use.given || pieces.is_seen_whole || std::ranges::any_of(pieces.made, overlaps) ||
        (!is_piece && use.maker >= 0))
      return fail_at(part, ErrorKind::kInvalidArgument, "{} is made twice, or is an input",
                     name(value));
    use.maker = use.maker < 0 ? number : use.maker;
    use.last = number;
    use.constant = constant;
    if (is_piece) {
      pieces.made.insert(std::ranges::upper_bound(pieces.made, span), span);
    } else {
      pieces.is_seen_whole = true;
      use.border = border;
    }
    return {};
  }

  const Sequence& sequence_;
  std::vector<Uses> uses_;
  std::vector<Pieces> pieces_;
};

}  // namespace

int whole_of(const Sequence& sequence, int value) {
  const auto& within = sequence.values[static_cast<std::size_t>(value)].within;
  return within ? within->value : value;
}

bool is_constant(const Sequence& sequence, const Part& part, const std::vector<Uses>& uses) {
  const auto is_known = [&](int value) {
    return uses[static_cast<std::size_t>(whole_of(sequence, value))].constant;
  };
  const auto is_shared = [&](int value) {
    return whole_of(sequence, value) != value || uses[static_cast<std::size_t>(value)].taken;
  };
  return std::ranges::all_of(part.inputs, is_known) &&
         std::ranges::none_of(part.outputs, is_shared);
}

Result<std::vector<Uses>> uses_of(const Sequence& sequence) { return Checker(sequence).run(); }

}  // namespace lathe::sequence
