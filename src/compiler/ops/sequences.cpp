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
  bool initial, separate, directions_first;
  // Where the rows of a gate are among those of the weights: of i, f, g, o or r, z, n.
  std::array<int, 4> rows = {0, 1, 2, 3};
  bool peepholes = false;           // of an LSTM
  bool reset_first = false;         // of a GRU
  std::string activation = "tanh";  // of a cell without gates

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
    std::string out = s_.cell.rows_of_weights(suffix_);
    if (s_.peepholes)
      out += "const " +
             typed(shaped(name("p"), {3, s_.cell.hidden}, {3 * s_.cell.hidden}), s_.cell.dtype) +
             "\n";
    if (!s_.initial) return out;
    for (const char* state : {"h_0", "c_0"})
      if (s_.cell.gates == 4 || state[0] == 'h')
        out += typed(shaped(state + suffix_, s_.cell.state()), s_.cell.dtype) + "\n";
    return out;
  }

  // The states of all steps are h() and c(); `declared`: of h, as an output or not.
  std::string statements(const std::string& declared) const {
    const Cell& cell = s_.cell;
    const std::int64_t rows = cell.gates * cell.hidden;
    std::string out = declared + typed(shaped(h(), s_.of_steps(cell.state())), cell.dtype) + "\n";
    out += cell.wide(name("A"), s_.of_steps({cell.batch, rows}));
    out += fmt::format("{}[t,b,n:{}] = (sum(i) x[t,b,i] * {}[n,i]){}\n", name("A"), rows,
                       name("w_ih"), cell.bias ? fmt::format(" + {}[n]", name("b_ih")) : "");
    if (s_.initial && s_.length > 1) out += before_statement();
    return out + (cell.gates == 4   ? lstm_statements()
                  : cell.gates == 3 ? gru_statements()
                                    : plain_statements());
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

  // The state before step t, at the iterator `at` of the hidden elements. A single step has none
  // before it: then nothing needs what comes later.
  std::string earlier(const std::string& state, const char* at) const {
    if (s_.length == 1) return "0";
    return fmt::format("{}[t{}1,b,{} else 0]", state, backward_ ? "+" : "-", at);
  }
  std::string first() const { return fmt::format("t == {}", backward_ ? s_.length - 1 : 0); }
  std::string h_before(const char* at) const {
    if (s_.initial && s_.length == 1) return fmt::format("{}[b,{}]", name("h_0"), at);
    return s_.initial ? fmt::format("{}[t,b,{}]", name("h_before"), at) : earlier(h(), at);
  }
  std::string before_statement() const {
    return typed(shaped(name("h_before"), s_.of_steps(s_.cell.state())), s_.cell.dtype) +
           fmt::format("\n{}[t,b,k] = select({}, {}[b,k], {})\n", name("h_before"), first(),
                       name("h_0"), earlier(h(), "k"));
  }
  std::string c_before() const {
    if (!s_.initial) return earlier(c(), "k");
    std::string given = s_.cell.read(name("c_0") + "[b,k]");
    if (s_.length == 1) return given;
    return fmt::format("select({}, {}, {})", first(), given, earlier(c(), "k"));
  }

  // Products of the state with the weights, of so many gates: of all in one, as a matrix of their
  // rows has them.
  std::string state_products(std::int64_t gates) const {
    const std::int64_t rows = gates * s_.cell.hidden;
    return s_.cell.wide(name("B"), s_.of_steps({s_.cell.batch, rows})) +
           fmt::format("{}[t:{},b:{},n:{}] = (sum(j) {} * {}[n,j]){}\n", name("B"), s_.length,
                       s_.cell.batch, rows, h_before("j"), name("w_hh"),
                       s_.cell.bias ? fmt::format(" + {}[n]", name("b_hh")) : "");
  }
  // The row of element k of a gate among those of the weights.
  std::string row(std::int64_t gate) const { return fmt::format("{}+k", gate * s_.cell.hidden); }
  std::string gate(int which) const {
    return fmt::format("{0}[t,b,{2}] + {1}[t,b,{2}]", name("A"), name("B"),
                       row(s_.rows[static_cast<std::size_t>(which)]));
  }
  // An element of a state, of which the rows of gates do not tell how many there are.
  std::string element() const { return fmt::format("t,b,k:{}", s_.cell.hidden); }

  // What the state c adds to a gate; `row`: of i, o, f.
  std::string peephole(int row, const std::string& state) const {
    if (!s_.peepholes) return "";
    return fmt::format(" + {} * {}", s_.cell.read(fmt::format("{}[{},k]", name("p"), row)), state);
  }

  std::string lstm_statements() const {
    std::string out = state_products(4) + wide_state(c());
    const std::string before = c_before(), now = c() + "[t,b,k]";
    out += fmt::format("{}[{}] = sigmoid({}{}) * {} + sigmoid({}{}) * tanh({})\n", c(), element(),
                       gate(1), peephole(2, before), before, gate(0), peephole(0, before), gate(2));
    return out + fmt::format("{}[{}] = sigmoid({}{}) * tanh({})\n", h(), element(), gate(3),
                             peephole(1, now), now);
  }

  std::string plain_statements() const {
    return state_products(1) +
           fmt::format("{}[{}] = {}({})\n", h(), element(), s_.activation, gate(0));
  }

  std::string gru_statements() const {
    std::string out = state_products(s_.reset_first ? 2 : 3);
    for (const char* each : {"z", "n"}) out += wide_state(name(each));
    out += fmt::format("{}[{}] = sigmoid({})\n", name("z"), element(), gate(1));
    const std::string input = fmt::format("{}[t,b,{}]", name("A"), row(2));
    if (s_.reset_first) {
      out += wide_state(name("r_h")) + fmt::format("{}[{}] = sigmoid({}) * {}\n", name("r_h"),
                                                   element(), gate(0), s_.cell.read(h_before("k")));
      out += fmt::format("{}[{}] = tanh({} + (sum(j) {}[t,b,j] * {}[{},j]){})\n", name("n"),
                         element(), input, name("r_h"), name("w_hh"), row(2),
                         s_.cell.bias ? fmt::format(" + {}[{}]", name("b_hh"), row(2)) : "");
    } else {
      out += fmt::format("{}[{}] = tanh({} + sigmoid({}) * {}[t,b,{}])\n", name("n"), element(),
                         input, gate(0), name("B"), row(2));
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
  const std::string y = s.directions_first ? shaped("y", s.of_steps({2, cell.batch, cell.hidden}))
                                           : shaped("y", s.of_steps({cell.batch, 2, cell.hidden}),
                                                    s.of_steps({cell.batch, 2 * cell.hidden}));
  std::string out = "output " + typed(y, cell.dtype) +
                    fmt::format("\ny[t,{},k] = select(d == 0, {}[t,b,k], {}[t,b,k])\n",
                                s.directions_first ? "d,b" : "b,d", ways[0].h(), ways[1].h());
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
  Sequence out{LATHE_TRY(cell_of(values, gates)), LATHE_TRY(values.size("length")),
               LATHE_TRY(direction_of(values)),   values.flag("initial"),
               values.flag("separate"),           values.flag("directions-first")};
  if (gates > 1 && LATHE_TRY(rows_as_in_onnx(values)))
    out.rows = gates == 4 ? std::array{0, 2, 3, 1} : std::array{1, 0, 2, 3};
  for (const char* flag : {"separate", "directions-first"})
    if (values.flag(flag) && out.direction != Direction::kBoth)
      return Values::error(flag,
                           "there is one direction only; give --direction bidirectional, or leave "
                           "--{} out",
                           flag);
  if (out.separate && out.directions_first)
    return Values::error("directions-first", "--separate leaves no output with both directions");
  return out;
}

Result<std::vector<Algorithm>> build_lstm_sequence(const Values& values) {
  Sequence sequence = LATHE_TRY(sequence_of(values, 4));
  sequence.peepholes = values.flag("peepholes");
  return direct(parsed("lstm", text_of(sequence)));
}

Result<std::vector<Algorithm>> build_gru_sequence(const Values& values) {
  Sequence sequence = LATHE_TRY(sequence_of(values, 3));
  sequence.reset_first = values.flag("reset-first");
  return direct(parsed("gru", text_of(sequence)));
}

Result<std::vector<Algorithm>> build_rnn_sequence(const Values& values) {
  Sequence sequence = LATHE_TRY(sequence_of(values, 1));
  sequence.activation = values.text("nonlinearity");
  if (sequence.activation != "tanh" && sequence.activation != "relu")
    return Values::error("nonlinearity", "'{}' is none of tanh and relu", sequence.activation);
  return direct(parsed("rnn", text_of(sequence)));
}

// Those of all sequences, and then `own` ones.
std::vector<Parameter> sequence_parameters(std::vector<Parameter> own) {
  std::vector<Parameter> out = cell_parameters();
  out.insert(out.begin(), {Kind::kInt, "length", "", "steps of the sequence"});
  const std::vector<Parameter> all = {
      {Kind::kText, "direction", "forward", "forward, reverse or bidirectional"},
      {Kind::kFlag, "initial", "false", "with initial states as inputs; else they are 0"},
      {Kind::kFlag, "separate", "false", "of two directions: outputs of their own for each"},
      {Kind::kFlag, "directions-first", "false",
       "of two directions: the output is [length,2,batch,hidden-size], as ONNX has it"}};
  out.insert(out.end(), all.begin(), all.end());
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

Parameter gate_order(const char* known) { return {Kind::kText, "gate-order", "pytorch", known}; }

}  // namespace

Operator lstm() {
  return {"lstm", "all steps of an LSTM over a sequence x, and its last states",
          sequence_parameters(
              {gate_order("of the rows of weights: pytorch (i, f, g, o) or onnx (i, o, f, c)"),
               {Kind::kFlag, "peepholes", "false",
                "with a constant p: what of the state c is added to the gates i, o and f"}}),
          build_lstm_sequence};
}

Operator gru() {
  return {"gru", "all steps of a GRU over a sequence x, and its last state",
          sequence_parameters(
              {gate_order("of the rows of weights: pytorch (r, z, n) or onnx (z, r, h)"),
               {Kind::kFlag, "reset-first", "false",
                "the state is reset before its product with the weights, as where ONNX has "
                "linear_before_reset 0"}}),
          build_gru_sequence};
}

Operator rnn() {
  return {"rnn",
          "all steps of a recurrent network without gates over a sequence x, and its last state",
          sequence_parameters({{Kind::kText, "nonlinearity", "tanh", "tanh or relu"}}),
          build_rnn_sequence};
}

}  // namespace lathe::ops
