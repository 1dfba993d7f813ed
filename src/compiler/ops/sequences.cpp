#include "compiler/ops/sequences.h"

#include <array>

#include "compiler/ops/cell.h"
#include "compiler/ops/text.h"
#include "compiler/te/types.h"

namespace lathe::ops {
namespace {

using Kind = Parameter::Kind;
using Shape = std::vector<std::int64_t>;

enum class Direction { kForward, kReverse, kBoth };

struct Sequence {
  Cell cell;
  std::int64_t length;
  Direction direction;
  bool initial, separate, reset_first;
  // Where the rows of a gate are among those of the weights: of i, f, g, o or r, z, n.
  std::array<int, 4> rows;

  Shape of_steps(Shape shape) const {
    shape.insert(shape.begin(), length);
    return shape;
  }
};

// Statements of one direction.
class OneWay {
 public:
  OneWay(const Sequence& sequence, bool backward, std::string suffix)
      : s_(sequence), backward_(backward), suffix_(std::move(suffix)) {}

  std::string inputs() const {
    std::string out = s_.cell.weights(suffix_);
    if (!s_.initial) return out;
    for (const char* state : {"h_0", "c_0"})
      if (s_.cell.gates == 4 || state[0] == 'h')
        out += typed(shaped(state + suffix_, s_.cell.state()), s_.cell.dtype) + "\n";
    return out;
  }

  // The states of all steps are h() and c(); `declared`: of h, as an output or not.
  std::string statements(const std::string& declared) const {
    const Cell& cell = s_.cell;
    const Shape gates = s_.of_steps({cell.batch, cell.gates, cell.hidden});
    std::string out = declared + typed(shaped(h(), s_.of_steps(cell.state())), cell.dtype) + "\n";
    out += cell.wide(name("A"), gates);
    out += fmt::format("{}[t,b,g,k] = (sum(i) x[t,b,i] * {}[g,k,i]){}\n", name("A"), name("w_ih"),
                       cell.bias ? fmt::format(" + {}[g,k]", name("b_ih")) : "");
    if (s_.initial) out += before_statement();
    return out + (cell.gates == 4 ? lstm_statements() : gru_statements());
  }

  std::string h() const { return name("h"); }
  std::string c() const { return name("c"); }
  // The place after which no step comes.
  std::int64_t last() const { return backward_ ? 0 : s_.length - 1; }

 private:
  std::string name(const char* base) const { return base + suffix_; }
  std::string wide_state(const std::string& of) const {
    return s_.cell.wide(of, s_.of_steps(s_.cell.state()));
  }

  // The state before step t, at the iterator `at` of the hidden elements.
  std::string earlier(const std::string& state, const char* at) const {
    return fmt::format("{}[t{}1,b,{} else 0]", state, backward_ ? "+" : "-", at);
  }
  std::string first() const { return fmt::format("t == {}", backward_ ? s_.length - 1 : 0); }
  std::string h_before(const char* at) const {
    return s_.initial ? fmt::format("{}[t,b,{}]", name("h_before"), at) : earlier(h(), at);
  }
  std::string before_statement() const {
    return typed(shaped(name("h_before"), s_.of_steps(s_.cell.state())), s_.cell.dtype) +
           fmt::format("\n{}[t,b,k] = select({}, {}[b,k], {})\n", name("h_before"), first(),
                       name("h_0"), earlier(h(), "k"));
  }
  std::string c_before() const {
    if (!s_.initial) return earlier(c(), "k");
    return fmt::format("select({}, {}, {})", first(), s_.cell.read(name("c_0") + "[b,k]"),
                       earlier(c(), "k"));
  }

  // Products of the state with the weights, of so many gates.
  std::string state_products(std::int64_t gates) const {
    return s_.cell.wide(name("B"), s_.of_steps({s_.cell.batch, gates, s_.cell.hidden})) +
           fmt::format("{}[t:{},b,g:{},k] = (sum(j) {} * {}[g,k,j]){}\n", name("B"), s_.length,
                       gates, h_before("j"), name("w_hh"),
                       s_.cell.bias ? fmt::format(" + {}[g,k]", name("b_hh")) : "");
  }
  std::string gate(int which) const {
    return fmt::format("{0}[t,b,{2},k] + {1}[t,b,{2},k]", name("A"), name("B"),
                       s_.rows[static_cast<std::size_t>(which)]);
  }

  std::string lstm_statements() const {
    std::string out = state_products(4) + wide_state(c());
    out += fmt::format("{}[t,b,k] = sigmoid({}) * {} + sigmoid({}) * tanh({})\n", c(), gate(1),
                       c_before(), gate(0), gate(2));
    return out + fmt::format("{}[t,b,k] = sigmoid({}) * tanh({}[t,b,k])\n", h(), gate(3), c());
  }

  std::string gru_statements() const {
    std::string out = state_products(s_.reset_first ? 2 : 3);
    for (const char* each : {"z", "n"}) out += wide_state(name(each));
    out += fmt::format("{}[t,b,k] = sigmoid({})\n", name("z"), gate(1));
    const std::string input = fmt::format("{}[t,b,2,k]", name("A"));
    if (s_.reset_first) {
      out += wide_state(name("r_h")) + fmt::format("{}[t,b,k] = sigmoid({}) * {}\n", name("r_h"),
                                                   gate(0), s_.cell.read(h_before("k")));
      out += fmt::format("{}[t,b,k] = tanh({} + (sum(j) {}[t,b,j] * {}[2,k,j]){})\n", name("n"),
                         input, name("r_h"), name("w_hh"),
                         s_.cell.bias ? fmt::format(" + {}[2,k]", name("b_hh")) : "");
    } else {
      out += fmt::format("{}[t,b,k] = tanh({} + sigmoid({}) * {}[t,b,2,k])\n", name("n"), input,
                         gate(0), name("B"));
    }
    return out + fmt::format("{0}[t,b,k] = (1 - {1}[t,b,k]) * {2}[t,b,k] + {1}[t,b,k] * {3}\n", h(),
                             name("z"), name("n"), s_.cell.read(h_before("k")));
  }

  const Sequence& s_;
  bool backward_;
  std::string suffix_;
};

std::vector<OneWay> ways_of(const Sequence& s) {
  if (s.direction != Direction::kBoth) return {{s, s.direction == Direction::kReverse, ""}};
  return {{s, false, ""}, {s, true, "_reverse"}};
}

// The last states of each direction by itself.
std::string last_states(const Sequence& s, const OneWay& way, const std::string& suffix) {
  std::string out;
  const auto add = [&](const std::string& name, const std::string& from) {
    out += "output " + typed(shaped(name + suffix, s.cell.state()), s.cell.dtype) +
           fmt::format("\n{}[b,k] = {}[{},b,k]\n", name + suffix, from, way.last());
  };
  add("h_n", way.h());
  if (s.cell.gates == 4) add("c_n", way.c());
  return out;
}

// Both directions in one tensor: side by side in all steps, one after the other in the last states.
std::string joined(const Sequence& s, const std::vector<OneWay>& ways) {
  const Cell& cell = s.cell;
  const auto cast = [&](const std::string& element) {
    return cell.narrow() ? fmt::format("{}({})", name_of(cell.dtype), element) : element;
  };
  std::string out = "output " +
                    typed(shaped("y", s.of_steps({cell.batch, 2, cell.hidden}),
                                 s.of_steps({cell.batch, 2 * cell.hidden})),
                          cell.dtype) +
                    fmt::format("\ny[t,b,d,k] = select(d == 0, {}[t,b,k], {}[t,b,k])\n",
                                ways[0].h(), ways[1].h());
  const auto add = [&](const char* name, const std::string& one, const std::string& other) {
    out += "output " + typed(shaped(name, {2, cell.batch, cell.hidden}), cell.dtype) +
           fmt::format("\n{}[d,b,k] = {}\n", name,
                       cast(fmt::format("select(d == 0, {}[{},b,k], {}[{},b,k])", one,
                                        ways[0].last(), other, ways[1].last())));
  };
  add("h_n", ways[0].h(), ways[1].h());
  if (cell.gates == 4) add("c_n", ways[0].c(), ways[1].c());
  return out;
}

std::string text_of(const Sequence& s) {
  const std::vector<OneWay> ways = ways_of(s);
  const bool apart = ways.size() == 1 || s.separate;
  std::string out =
      typed(shaped("x", s.of_steps({s.cell.batch, s.cell.inputs})), s.cell.dtype) + "\n";
  for (const OneWay& way : ways) out += way.inputs();
  for (const OneWay& way : ways) out += way.statements(apart ? "output " : "");
  if (!apart) return out + joined(s, ways);
  for (std::size_t w = 0; w < ways.size(); ++w)
    out += last_states(s, ways[w], w == 0 ? "" : "_reverse");
  return out;
}

Result<Direction> direction_of(const Values& values) {
  const std::string& text = values.text("direction");
  if (text == "forward") return Direction::kForward;
  if (text == "reverse") return Direction::kReverse;
  if (text == "bidirectional") return Direction::kBoth;
  return Values::error("direction",
                       "'{}' is no direction; known are forward, reverse and "
                       "bidirectional",
                       text);
}

Result<bool> rows_as_in_onnx(const Values& values) {
  const std::string& text = values.text("gate-order");
  if (text == "pytorch" || text == "onnx") return text == "onnx";
  return Values::error("gate-order", "'{}' is no order of gates; known are pytorch and onnx", text);
}

Result<Sequence> sequence_of(const Values& values, std::int64_t gates) {
  const bool onnx = LATHE_TRY(rows_as_in_onnx(values));
  Sequence out{LATHE_TRY(cell_of(values, gates)),
               LATHE_TRY(values.size("length")),
               LATHE_TRY(direction_of(values)),
               values.flag("initial"),
               values.flag("separate"),
               false,
               {0, 1, 2, 3}};
  if (onnx) out.rows = gates == 4 ? std::array{0, 2, 3, 1} : std::array{1, 0, 2, 3};
  if (out.separate && out.direction != Direction::kBoth)
    return Values::error("separate",
                         "there is one direction only; give --direction bidirectional, "
                         "or leave --separate out");
  return out;
}

Result<std::vector<Algorithm>> build_lstm_sequence(const Values& values) {
  return direct(parsed("lstm", text_of(LATHE_TRY(sequence_of(values, 4)))));
}

Result<std::vector<Algorithm>> build_gru_sequence(const Values& values) {
  Sequence sequence = LATHE_TRY(sequence_of(values, 3));
  sequence.reset_first = values.flag("reset-first");
  return direct(parsed("gru", text_of(sequence)));
}

std::vector<Parameter> sequence_parameters(bool gru) {
  std::vector<Parameter> out = cell_parameters();
  out.insert(out.begin(), {Kind::kInt, "length", "", "steps of the sequence"});
  const std::vector<Parameter> own = {
      {Kind::kText, "direction", "forward", "forward, reverse or bidirectional"},
      {Kind::kFlag, "initial", "false", "with initial states as inputs; else they are 0"},
      {Kind::kFlag, "separate", "false", "of two directions: outputs of their own for each"},
      {Kind::kText, "gate-order", "pytorch",
       gru ? "of the rows of weights: pytorch (r, z, n) or onnx (z, r, h)"
           : "of the rows of weights: pytorch (i, f, g, o) or onnx (i, o, f, c)"}};
  out.insert(out.end(), own.begin(), own.end());
  if (gru)
    out.push_back({Kind::kFlag, "reset-first", "false",
                   "the state is reset before its product with the weights, as where ONNX has "
                   "linear_before_reset 0"});
  return out;
}

}  // namespace

Operator lstm() {
  return {"lstm", "all steps of an LSTM over a sequence x, and its last states",
          sequence_parameters(false), build_lstm_sequence};
}

Operator gru() {
  return {"gru", "all steps of a GRU over a sequence x, and its last state",
          sequence_parameters(true), build_gru_sequence};
}

}  // namespace lathe::ops
