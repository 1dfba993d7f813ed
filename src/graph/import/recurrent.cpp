// Recurrent networks: LSTM, GRU and RNN.
#include <algorithm>
#include <cctype>

#include <fmt/ranges.h>

#include "graph/import/element_wise.h"

namespace lathe::graph {
namespace {

struct Recurrent {
  std::string op;      // of compiler/ops
  std::int64_t gates;  // 4, 3 or 1
  std::size_t states;  // h, and of an LSTM c
};

struct RecurrentSizes {
  std::int64_t length, batch, inputs, hidden, directions;
  bool batch_first;
};

Status check_operand(const Site& site, std::size_t i, const char* what, const Shape& shape) {
  if (!site.has(i)) return {};
  if (site.shape(i) != shape || site.dtype(i) != site.dtype(0))
    return site.wrong("its {} are {}, and must be {}", what, typed(site.dtype(i), site.shape(i)),
                      typed(site.dtype(0), shape));
  return {};
}

Result<RecurrentSizes> sizes_of(const Site& site, const Recurrent& net) {
  const Shape &x = site.shape(0), &r = site.shape(2);
  const bool batch_first = LATHE_TRY(site.integer("layout", 0)) != 0;
  if (x.size() != 3 || r.size() != 3)
    return site.wrong("its input is {}, its weights {}", typed(site.dtype(0), x),
                      typed(site.dtype(2), r));
  const RecurrentSizes out{
      batch_first ? x[1] : x[0], batch_first ? x[0] : x[1], x[2], r[2], r[0], batch_first};
  const std::string direction = LATHE_TRY(site.text("direction", "forward"));
  if (out.directions != (direction == "bidirectional" ? 2 : 1))
    return site.wrong("it goes {}, and its weights are of {} directions", direction,
                      out.directions);
  const std::int64_t hidden = LATHE_TRY(site.integer("hidden_size", out.hidden)), d = r[0];
  if (hidden != out.hidden)
    return site.wrong("its hidden_size is {}, its weights {}", hidden, typed(site.dtype(2), r));
  const std::int64_t rows = elements_of({net.gates, hidden});
  LATHE_TRY_STATUS(check_operand(site, 1, "weights", {d, rows, out.inputs}));
  LATHE_TRY_STATUS(check_operand(site, 2, "weights", {d, rows, hidden}));
  LATHE_TRY_STATUS(check_operand(site, 3, "constant summands", {d, 2 * rows}));
  const Shape state = batch_first ? Shape{out.batch, d, hidden} : Shape{d, out.batch, hidden};
  for (std::size_t s = 0; s < net.states; ++s)
    LATHE_TRY_STATUS(check_operand(site, 5 + s, "first states", state));
  if (net.states == 2) LATHE_TRY_STATUS(check_operand(site, 7, "peepholes", {d, 3 * hidden}));
  return out;
}

// Which functions there are: those by default, or of a network without gates relu.
Result<std::string> activation_of(const Site& site, const Recurrent& net, std::int64_t directions) {
  const auto* given = site.attribute("activations");
  const std::vector<std::string> usual =
      net.gates == 4   ? std::vector<std::string>{"sigmoid", "tanh", "tanh"}
      : net.gates == 3 ? std::vector<std::string>{"sigmoid", "tanh"}
                       : std::vector<std::string>{"tanh"};
  if (!given || given->texts.empty()) return "tanh";
  std::vector<std::string> names = given->texts;
  for (std::string& name : names)
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ssize(names) != directions * std::ssize(usual))
    return site.wrong("it has {} activations", names.size());
  bool known = true;
  for (std::size_t n = 0; n < names.size(); ++n) known &= names[n] == usual[n % usual.size()];
  if (known) return "tanh";
  if (net.gates == 1 && std::ranges::all_of(names, [](const auto& n) { return n == "relu"; }))
    return "relu";
  return site.unsupported("its activations are {}", fmt::join(given->texts, ", "));
}

Status check_attributes(const Site& site, const RecurrentSizes& sizes) {
  if (site.given("clip")) return site.unsupported("it has the attribute clip");
  if (LATHE_TRY(site.integer("input_forget", 0)) != 0)
    return site.unsupported("its attribute input_forget is not 0");
  if (!site.has(4)) return {};
  for (const std::int64_t length : LATHE_TRY(site.known_integers(4, "lengths of sequences")))
    if (length != sizes.length)
      return site.unsupported("a sequence has {} steps of {}", length, sizes.length);
  return {};
}

Result<ops::Arguments> recurrent_arguments(const Site& site, const Recurrent& net,
                                           const RecurrentSizes& sizes) {
  ops::Arguments out{{"length", std::to_string(sizes.length)},
                     {"batch", std::to_string(sizes.batch)},
                     {"input-size", std::to_string(sizes.inputs)},
                     {"hidden-size", std::to_string(sizes.hidden)},
                     {"direction", LATHE_TRY(site.text("direction", "forward"))},
                     {"dtype", std::string(name_of(site.dtype(0)))}};
  const std::string activation = LATHE_TRY(activation_of(site, net, sizes.directions));
  if (net.gates == 1) out["nonlinearity"] = activation;
  else out["gate-order"] = "onnx";
  if (net.gates == 3 && LATHE_TRY(site.integer("linear_before_reset", 0)) == 0)
    out["reset-first"] = "true";
  if (net.gates == 4 && site.has(7)) out["peepholes"] = "true";
  if (!site.has(3)) out["no-bias"] = "true";
  if (site.has(5) || (net.states == 2 && site.has(6))) out["initial"] = "true";
  if (sizes.directions == 2) out["directions-first"] = "true";
  return out;
}

// The first states of all directions, one after the other; 0 where they are left out.
Result<int> first_states(Site& site, std::size_t i, const RecurrentSizes& sizes) {
  if (!site.has(i)) {
    const Shape shape{sizes.directions, sizes.batch, sizes.hidden};
    if (elements_of(shape) > 1 << 24)
      return site.unsupported("its states are {}", typed(site.dtype(0), shape));
    return site.constant(site.dtype(0), shape,
                         std::vector<double>(static_cast<std::size_t>(elements_of(shape)), 0));
  }
  if (!sizes.batch_first) return site.input(i);
  return LATHE_TRY(permuted(site, site.input(i), {1, 0, 2}))[0];
}

// What the operator reads, in its order.
Made operands(Site& site, const Recurrent& net, const RecurrentSizes& sizes,
              const ops::Arguments& arguments) {
  const std::int64_t rows = net.gates * sizes.hidden;
  std::vector<int> states,
      ids{sizes.batch_first ? LATHE_TRY(permuted(site, site.input(0), {1, 0, 2}))[0]
                            : site.input(0)};
  for (std::size_t s = 0; arguments.contains("initial") && s < net.states; ++s)
    states.push_back(LATHE_TRY(first_states(site, 5 + s, sizes)));
  const auto add = [&](int id, std::int64_t begin, const Shape& shape) -> Status {
    ids.push_back(LATHE_TRY(site.part(id, begin * elements_of(shape), shape)));
    return {};
  };
  for (std::int64_t d = 0; d < sizes.directions; ++d) {
    LATHE_TRY_STATUS(add(site.input(1), d, {rows, sizes.inputs}));
    LATHE_TRY_STATUS(add(site.input(2), d, {rows, sizes.hidden}));
    for (std::int64_t half = 0; site.has(3) && half < 2; ++half)
      LATHE_TRY_STATUS(add(site.input(3), 2 * d + half, {rows}));
    if (arguments.contains("peepholes"))
      LATHE_TRY_STATUS(add(site.input(7), d, {3 * sizes.hidden}));
    for (const int state : states) LATHE_TRY_STATUS(add(state, d, {sizes.batch, sizes.hidden}));
  }
  return ids;
}

Made recurrent(Site& site, const Recurrent& net) {
  const RecurrentSizes sizes = LATHE_TRY(sizes_of(site, net));
  LATHE_TRY_STATUS(check_attributes(site, sizes));
  const ops::Arguments arguments = LATHE_TRY(recurrent_arguments(site, net, sizes));
  const auto inputs = LATHE_TRY(operands(site, net, sizes, arguments));
  auto ids = LATHE_TRY(site.call(net.op, arguments, inputs));
  for (std::size_t o = 0; o < ids.size(); ++o) {
    Shape shape{sizes.directions, sizes.batch, sizes.hidden};
    if (o == 0) shape.insert(shape.begin(), sizes.length);
    ids[o] = site.view(ids[o], shape);
    if (!sizes.batch_first || !site.wants(o)) continue;
    const std::vector<std::int64_t> order =
        o == 0 ? std::vector<std::int64_t>{2, 0, 1, 3} : std::vector<std::int64_t>{1, 0, 2};
    ids[o] = LATHE_TRY(permuted(site, ids[o], order))[0];
  }
  return ids;
}

Row recurrent_row(const char* name, const Recurrent& net) {
  return {name, 7, 3, [=](Site& site) { return recurrent(site, net); }};
}

}  // namespace

std::vector<Row> recurrent_rows() {
  return {recurrent_row("LSTM", {"lstm", 4, 2}), recurrent_row("GRU", {"gru", 3, 1}),
          recurrent_row("RNN", {"rnn", 1, 1})};
}

}  // namespace lathe::graph
