// Programs joined to one compute, bit by bit, what they compute one after the other.
#include "compiler/sequence/sequence.h"

#include <cstdlib>
#include <map>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "compiler/driver/driver.h"
#include "compiler/ir/flat/touched.h"
#include "compiler/sequence/one_region.h"
#include "compiler/te/parse.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "unit/codegen/harness.h"

namespace lathe::sequence {
namespace {

const Target kTarget = testing::resolved("cpu:x86-64-v3"),
             kThreads = testing::resolved("cpu:x86-64-v3;threads=3");

te::Workload parsed(const std::string& text) {
  auto workload = te::parse_workload(text);
  EXPECT_TRUE(workload) << workload.error().text() << "\n" << text;
  return *workload;
}

flat::Program naive(const std::string& text) {
  auto program = driver::lowered(parsed(text), {}, kTarget);
  EXPECT_TRUE(program) << program.error().text();
  return *program;
}

const std::string kTwice = "X: f32[5,3]; Y[i,j] = X[i,j] * 2";
const std::string kProduct = "A: f32[5,3]; const B: f32[3,4]; C[i,j] = sum(k) A[i,k] * B[k,j]";
const std::string kRow = "A: f32[20]; Y[i] = A[i] + 1";

TEST(Sequence, ValuesShareOneArena) {
  const flat::Program row = naive(kRow);
  Sequence chain{.values = {{"x"}}, .parts = {}, .inputs = {0}, .outputs = {6}};
  for (int p = 0; p < 6; ++p) {
    chain.values.push_back({fmt::format("v{}", p)});
    chain.parts.push_back({fmt::format("part{}", p), row, {p}, {p + 1}});
  }
  const auto joined = join(chain);
  ASSERT_TRUE(joined) << joined.error().text();
  EXPECT_EQ(joined->unshared_bytes, 5 * 128);
  EXPECT_EQ(joined->most_at_once, 2 * 128);
  EXPECT_EQ(joined->arena_bytes, 2 * 128);
  EXPECT_EQ(joined->program.global_bytes, 2 * 128);
  EXPECT_EQ(joined->program.run.size(), 6U);
  EXPECT_EQ(joined->program.kernels[2].name, "part2_run");
  EXPECT_TRUE(flat::verify(joined->program));
}

TEST(Sequence, WhatIsConstantIsComputedOnce) {
  // Weights are scaled in prepare, then multiplied; the other shape has the same elements.
  Sequence scaled{
      .values = {{.name = "w", .constant = true}, {"x"}, {"scaled"}, {.name = "y", .shape = {20}}},
      .parts = {{"scale", naive("X: f32[12]; Y[i] = X[i] * 2"), {0}, {2}},
                {"product", naive(kProduct), {1, 2}, {3}}},
      .inputs = {0, 1},
      .outputs = {3}};
  const auto joined = join(scaled);
  ASSERT_TRUE(joined) << joined.error().text();
  EXPECT_GE(joined->program.prepare.size(), 1U);
  EXPECT_EQ(joined->program.run.size(), 1U);
  EXPECT_TRUE(joined->program.inputs[0].constant);
  EXPECT_EQ(joined->program.outputs[0].shape, (std::vector<std::int64_t>{20}));
  const auto verified = flat::verify(joined->program);
  EXPECT_TRUE(verified) << verified.error().text();
}

// What prepare makes on the way to packed weights has one place for all parts.
TEST(Sequence, ConstantsThatRunDoesNotReadShareAPlace) {
  using namespace flat;
  // By hand: prepare doubles B into a buffer of its own, and adds 1 to that for run.
  Program program = naive("A: f32[20]; const B: f32[20]; C[i] = A[i] + B[i]");
  const int step = static_cast<int>(program.buffers.size());
  program.buffers.push_back({"step", Dtype::kF32, 20, Scope::kConstant, 0, {}});
  program.buffers.push_back({"packed", Dtype::kF32, 20, Scope::kConstant, 128, {}});
  program.constant_bytes = 256;
  const int i = static_cast<int>(program.vars.size());
  program.vars.resize(program.vars.size() + 3, "i");
  const auto loop = [](int v, Stmt body) { return for_loop(v, int_imm(0), int_imm(20), body); };
  const auto at = [](int buffer, int v) { return load(buffer, var(v), {}); };
  set_prepare(program,
              seq({loop(i, store(step, var(i), binary(BinaryOp::kAdd, at(1, i), at(1, i)))),
                   loop(i + 1, store(step + 1, var(i + 1),
                                     binary(BinaryOp::kAdd, at(step, i + 1),
                                            float_imm(1, Dtype::kF32))))}));
  set_run(program, loop(i + 2, store(2, var(i + 2),
                                     binary(BinaryOp::kAdd, at(0, i + 2), at(step + 1, i + 2)))));
  Sequence chain{.values = {{"x"}}, .parts = {}, .inputs = {0}, .outputs = {5}};
  std::vector<double> want(20);
  for (int e = 0; e < 20; ++e) want[static_cast<std::size_t>(e)] = e;
  for (int p = 0; p < 3; ++p) {
    std::vector<double> weight;
    for (int e = 0; e < 20; ++e) {
      weight.push_back(p + e % 3);
      want[static_cast<std::size_t>(e)] += 2 * weight.back() + 1;
    }
    chain.values.push_back({fmt::format("w{}", p)});
    chain.values.back().data = tensor::Data::of(Dtype::kF32, weight);
  }
  chain.values.insert(chain.values.end(), {{"a"}, {"y"}, {"b"}});
  chain.parts = {
      {"p", program, {0, 1}, {4}}, {"q", program, {4, 2}, {6}}, {"r", program, {6, 3}, {5}}};
  const auto joined = join(chain);
  ASSERT_TRUE(joined) << joined.error().text();
  const Status verified = verify(joined->program);
  ASSERT_TRUE(verified) << verified.error().text();
  EXPECT_EQ(joined->kept_constant_bytes, 3 * 128);
  EXPECT_EQ(joined->program.constant_bytes, 4 * 128);
  EXPECT_EQ(read_constant_bytes(joined->program), 2 * 128 + 80);
  const auto module = testing::compile(joined->program, kTarget);
  ASSERT_TRUE(module) << module.error().text();
  std::vector<double> x(20);
  for (int e = 0; e < 20; ++e) x[static_cast<std::size_t>(e)] = e;
  const std::vector<interp::Bytes> stored = {interp::to_storage(joined->program.inputs[0], x)};
  const auto got = testing::run_module(**module, joined->program, stored);
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_EQ(interp::from_storage(joined->program.outputs[0], (*got)[0]), want);
}

TEST(Sequence, TellsWhatDoesNotGoTogether) {
  const flat::Program twice = naive(kTwice), product = naive(kProduct), row = naive(kRow);
  const auto said = [](const Sequence& sequence) {
    const auto joined = join(sequence);
    return joined ? "" : joined.error().text();
  };
  const std::vector<Value> three = {{"a"}, {"b", true}, {"c"}};
  EXPECT_EQ(said({three, {{"p", product, {0, 1}, {2}}}, {0, 1}, {2}}), "");
  EXPECT_EQ(said({three, {{"p", product, {0}, {2}}}, {0, 1}, {2}}),
            "p: the part has 2 inputs and 1 outputs, and 1 and 1 values are named for them");
  EXPECT_EQ(said({three, {{"p", product, {1, 0}, {2}}}, {0, 1}, {2}}),
            "p: the input B is constant there, and a changes from call to call");
  EXPECT_EQ(said({three, {{"p", product, {0, 7}, {2}}}, {0, 1}, {2}}),
            "p: there is no value 7 for the input B");
  EXPECT_EQ(said({three, {{"p", product, {0, 1}, {-1}}}, {0, 1}, {2}}),
            "p: there is no value -1 for the output C");
  EXPECT_EQ(said({three, {{"p", product, {0, 1}, {0}}}, {0, 1}, {2}}),
            "p: a is made twice, or is an input");
  EXPECT_EQ(said({three, {{"p", product, {2, 1}, {2}}}, {0, 1}, {2}}),
            "p: nothing has made c before it is read");
  EXPECT_EQ(said({three, {{"p", product, {0, 1}, {2}}}, {0, 1}, {0}}),
            "no part makes the output a");
  EXPECT_EQ(said({three, {{"t", twice, {0}, {2}}}, {0, 1}, {2}}), "no part reads the input b");
  EXPECT_EQ(said({three, {{"p", product, {0, 1}, {2}}}, {0, 1, 1}, {2}}),
            "the inputs are no values, each once");
  EXPECT_EQ(said({three, {{"p", product, {0, 1}, {2}}}, {0, 1}, {3}}),
            "the outputs are no values, each once");
  const std::vector<Value> four = {{"a"}, {"b"}, {"c"}, {.name = "d", .shape = {3, 3}}};
  EXPECT_EQ(said({four, {{"t", twice, {0}, {1}}, {"r", row, {1}, {2}}}, {0}, {2}}),
            "r: b is stored in another type, size or layout than the part reads as A");
  EXPECT_EQ(said({four, {{"t", twice, {0}, {3}}}, {0}, {3}}),
            "d cannot be seen as [3,3]: it has 15 elements, or is not stored row-major");
}

TEST(Sequence, ConstantsLieInTheCodeInTheirOwnType) {
  const std::vector<double> weights = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  Sequence product{.values = {{"x"}, {"w"}, {"y"}},
                   .parts = {{"product", naive(kProduct), {0, 1}, {2}}},
                   .inputs = {0},
                   .outputs = {2}};
  product.values[1].data = tensor::Data::of(Dtype::kF32, weights);
  const auto joined = join(product);
  ASSERT_TRUE(joined) << joined.error().text();
  EXPECT_EQ(joined->program.inputs.size(), 1U);
  const auto verified = flat::verify(joined->program);
  EXPECT_TRUE(verified) << verified.error().text();
  product.values[1].data = tensor::Data::of(Dtype::kF16, weights);
  const auto refused = join(product);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "product: w has 24 bytes, and the part reads 48 as B, or not row-major");
}

// Pieces of 20 elements: of the input x, of m between parts, and of the output y.
Sequence in_pieces() {
  const flat::Program row = naive(kRow), all = naive("A: f32[40]; Y[i] = A[i] * 3");
  std::vector<Value> values = {{"x"}, {"m"}, {"y"}};
  for (int whole = 0; whole < 3; ++whole)
    for (const std::int64_t begin : {0, 20})
      values.push_back(
          {.name = fmt::format("{}{}", "xmy"[whole], begin), .within = Within{whole, begin}});
  values.push_back({"all"});
  return {.values = values,
          .parts = {{"a", row, {4}, {5}},
                    {"b", row, {5}, {6}},
                    {"c", row, {6}, {8}},
                    {"d", row, {3}, {7}},
                    {"e", all, {1}, {9}}},
          .inputs = {0},
          .outputs = {2, 9}};
}

TEST(Sequence, PiecesMakeAWhole) {
  const auto joined = join(in_pieces());
  ASSERT_TRUE(joined) << joined.error().text();
  const flat::Program& whole = joined->program;
  const auto verified = flat::verify(whole);
  ASSERT_TRUE(verified) << verified.error().text();
  EXPECT_EQ(joined->arena_bytes, 192);  // m, in multiples of 64
  ASSERT_EQ(whole.inputs.size(), 1U);
  EXPECT_EQ(whole.inputs[0].size, 40);
  EXPECT_EQ(whole.outputs[0].size, 40);
  std::vector<double> x;
  for (int e = 0; e < 40; ++e) x.push_back(e);
  const std::vector<interp::Bytes> inputs = {interp::to_storage(whole.inputs[0], x)};
  const auto got = interp::eval_flat(whole, inputs);
  ASSERT_TRUE(got) << got.error().text();
  const auto y = interp::from_storage(whole.outputs[0], (*got)[0]),
             all = interp::from_storage(whole.outputs[1], (*got)[1]);
  for (int e = 0; e < 40; ++e) {
    const auto at = static_cast<std::size_t>(e);
    EXPECT_EQ(y[at], e < 20 ? e + 1 : e + 3) << e;  // d of the first half; c of b of a
    EXPECT_EQ(all[at], 3 * (e < 20 ? e + 21 : e + 2)) << e;
  }
  const auto module = testing::compile(whole, kTarget);
  ASSERT_TRUE(module) << module.error().text();
  const auto run = testing::run_module(**module, whole, inputs);
  ASSERT_TRUE(run) << run.error().text();
  EXPECT_EQ(testing::difference(whole, *got, *run, 64), "");
}

TEST(Sequence, TellsWhichPiecesDoNotGoTogether) {
  const auto said = [](const auto& change) {
    Sequence sequence = in_pieces();
    change(sequence);
    const auto joined = join(sequence);
    return joined ? "" : joined.error().text();
  };
  EXPECT_EQ(said([](Sequence& s) { s.values[6].within->begin = 19; }),
            "b: m20 is made twice, or is an input");
  EXPECT_EQ(said([](Sequence& s) { s.values[6].within->begin = 21; }),
            "e: nothing has made m before it is read");
  EXPECT_EQ(said([](Sequence& s) { std::swap(s.parts[0], s.parts[1]); }),
            "b: nothing has made m0 before it is read");
  EXPECT_EQ(said([](Sequence& s) { s.parts.erase(s.parts.begin() + 3); }),
            "no part makes all of the output y");
  EXPECT_EQ(said([](Sequence& s) { s.values[6].within->value = 5; }),
            "m20 lies within no value that has memory of its own");
  EXPECT_EQ(said([](Sequence& s) { s.values[6].within->begin = -1; }),
            "m20 lies within no value that has memory of its own");
  EXPECT_EQ(said([](Sequence& s) { s.outputs[1] = 5; }), "the outputs are no values, each once");
  EXPECT_EQ(said([](Sequence& s) { s.values[0].shape = {39}; }),
            "pieces of x are of another type, beyond its end, or it is not stored row-major");
}

// A part that reads tensors of this shape and type.
te::Workload reader(const flat::Border& of, Rng& rng) {
  std::vector<std::string> iters, shifted, turned;
  for (std::size_t d = 0; d < of.shape.size(); ++d)
    iters.push_back(std::string(1, static_cast<char>('i' + d)));
  const std::string type(name_of(of.dtype)), all = fmt::format("{}", fmt::join(iters, ",")),
                                             shape = fmt::format("{}", fmt::join(of.shape, ","));
  const std::string head = fmt::format("X: {}[{}]; ", type, shape);
  if (of.dtype == Dtype::kBool) return parsed(fmt::format("{}Y[{}] = !X[{}]", head, all, all));
  switch (rng.below(4)) {
    case 0: return parsed(fmt::format("{}Y[{}] = X[{}] + X[{}]", head, all, all, all));
    case 1:
      return parsed(fmt::format("{}{}Z: {}[{}]; Y[{}] = max(X[{}], Z[{}])", head,
                                rng.below(2) == 0 ? "const " : "", type, shape, all, all, all));
    case 2: return parsed(fmt::format("{}Y[one:1] = max({}) X[{}]", head, all, all));
    default:
      return parsed(fmt::format("{}S[one:1] = min({}) X[{}]; Y[{}] = X[{}] - S[0]", head, all, all,
                                all, all));
  }
}

interp::Bytes random_storage(const flat::Border& border, Rng& rng) {
  std::vector<double> values(static_cast<std::size_t>(border.elements()));
  for (double& value : values)  // eighths are numbers of every type
    value = is_float(border.dtype) ? std::round(rng.uniform() * 16 - 8) / 8
                                   : static_cast<double>(rng.below(2));
  return interp::to_storage(border, values);
}

class RandomSequence {
 public:
  explicit RandomSequence(std::uint64_t seed) : rng_(seed) {
    const std::size_t parts = 1 + rng_.below(6);
    for (std::size_t p = 0; p < parts; ++p) add();
    for (std::size_t v = 0; v < made_.size(); ++v)
      if (made_[v].by_part && (!made_[v].read || rng_.below(5) == 0))
        sequence.outputs.push_back(static_cast<int>(v));
  }

  Sequence sequence;

 private:
  struct Made {
    flat::Border border;
    bool by_part = false, read = false, constant = false;
  };

  flat::Program lowered(te::Workload workload) {
    workload.contract.free_layout = false;  // stored as the next part reads it
    auto program = driver::lowered(workload, random_trace(workload, rng_), kTarget);
    if (!program)
      program = driver::lowered(workload, {}, kTarget);  // a step that needs another CPU
    EXPECT_TRUE(program) << program.error().text();
    return *program;
  }

  void add() {
    const bool follows = !made_.empty() && rng_.below(4) != 0;
    Part part{fmt::format("p{}", sequence.parts.size()),
              lowered(follows ? reader(made_[rng_.below(made_.size())].border, rng_)
                              : random_workload(rng_, {.dtypes = true, .max_iterations = 1500})),
              {},
              {}};
    bool constant = true;
    for (const flat::Border& border : part.program.inputs) {
      part.inputs.push_back(value_for(border));
      Made& given = made_[static_cast<std::size_t>(part.inputs.back())];
      given.read = true;
      constant = constant && given.constant;
    }
    for (const flat::Border& border : part.program.outputs) {
      part.outputs.push_back(static_cast<int>(made_.size()));
      // An output of the whole may make it differ from call to call; then no constant input may
      // follow.
      made_.push_back({border, true, false, false});
      sequence.values.push_back({fmt::format("v{}", made_.size())});
    }
    sequence.parts.push_back(std::move(part));
  }

  int value_for(const flat::Border& border) {
    std::vector<int> fitting;
    for (std::size_t v = 0; v < made_.size(); ++v)
      if (made_[v].border.dtype == border.dtype && made_[v].border.size == border.size &&
          (made_[v].constant || !border.constant))
        fitting.push_back(static_cast<int>(v));
    if (!fitting.empty() && rng_.below(8) != 0) return fitting[rng_.below(fitting.size())];
    const bool constant = border.constant || rng_.below(3) == 0;
    const auto value = static_cast<int>(made_.size());
    made_.push_back({border, false, false, constant});
    sequence.values.push_back({fmt::format("v{}", made_.size()), constant});
    if (!constant || rng_.below(2) == 0) sequence.inputs.push_back(value);
    else sequence.values.back().data = tensor::Data::own(random_storage(border, rng_));
    return value;
  }

  Rng rng_;
  std::vector<Made> made_;
};

using Stored = std::vector<interp::Bytes>;

// Every part by itself; by value. Empty where a part has no answer, as for numbers out of range.
std::map<int, interp::Bytes> one_by_one(const Sequence& sequence, const Stored& inputs) {
  std::map<int, interp::Bytes> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[sequence.inputs[i]] = inputs[i];
  for (std::size_t v = 0; v < sequence.values.size(); ++v)
    if (const auto bytes = sequence.values[v].data.bytes; !bytes.empty())
      values[static_cast<int>(v)] = interp::Bytes(bytes.begin(), bytes.end());
  for (const Part& part : sequence.parts) {
    Stored given;
    for (const int v : part.inputs) given.push_back(values.at(v));
    const auto got = interp::eval_flat(part.program, given);
    EXPECT_TRUE(got) << part.name << ": " << got.error().text();
    if (!got) return {};
    for (std::size_t o = 0; o < got->size(); ++o) values[part.outputs[o]] = (*got)[o];
  }
  return values;
}

Stored random_inputs(const flat::Program& program, Rng& rng) {
  Stored out;
  for (const flat::Border& border : program.inputs) out.push_back(random_storage(border, rng));
  return out;
}

std::vector<std::size_t> phases_of(const flat::Program& program) {
  std::vector<std::size_t> phases;
  const auto look = [&](const auto& self, const flat::Stmt& s) -> void {
    if (const auto* list = std::get_if<flat::Seq>(&s->value))
      for (const flat::Stmt& inner : list->stmts) self(self, inner);
    if (const auto* region = std::get_if<flat::Region>(&s->value))
      phases.push_back(region->phases.size());
  };
  for (const int k : program.run) look(look, program.kernels[static_cast<std::size_t>(k)].body);
  return phases;
}

// Serial code in front of the last region, and between regions, is a phase.
TEST(OneRegion, HoldsTheKernelsOfAllParts) {
  const flat::Program serial = naive(kRow);
  const schedule::Trace trace = {
      schedule::Annotate{.loop = "C.i", .kind = ir::LoopKind::kParallel}};
  const auto parallel = driver::lowered(parsed("A: f32[20]; C[i] = A[i] * 2"), trace, kTarget);
  ASSERT_TRUE(parallel) << parallel.error().text();
  Sequence chain{.values = {{"x"}}, .parts = {}, .inputs = {0}, .outputs = {7}};
  const std::string order = "spsspps";
  for (int p = 0; p < 7; ++p) {
    chain.values.push_back({fmt::format("v{}", p)});
    chain.parts.push_back({fmt::format("part{}", p),
                           order[static_cast<std::size_t>(p)] == 's' ? serial : *parallel,
                           {p},
                           {p + 1}});
  }
  const auto joined = join(chain);
  ASSERT_TRUE(joined) << joined.error().text();
  EXPECT_EQ(phases_of(joined->program), (std::vector<std::size_t>{1, 1, 1}));
  const flat::Program one = in_one_region(joined->program);
  const Status verified = flat::verify(one);
  ASSERT_TRUE(verified) << verified.error().text();
  EXPECT_EQ(one.run.size(), 1U);
  EXPECT_EQ(phases_of(one), (std::vector<std::size_t>{5}));
  std::vector<double> x(20);
  for (int e = 0; e < 20; ++e) x[static_cast<std::size_t>(e)] = e;
  const std::vector<interp::Bytes> inputs = {interp::to_storage(one.inputs[0], x)};
  const auto got = interp::eval_flat(one, inputs);
  ASSERT_TRUE(got) << got.error().text();
  // ((((x+1)*2+1+1)*2)*2)+1
  const auto y = interp::from_storage(one.outputs[0], (*got)[0]);
  for (int e = 0; e < 20; ++e) EXPECT_EQ(y[static_cast<std::size_t>(e)], 8 * e + 17) << e;
}

TEST(Sequence, RandomOnesComputeWhatTheirPartsDo) {
  const std::uint64_t rounds = std::getenv("LATHE_TEST_LONG") != nullptr ? 3000 : 150;
  int shared = 0, prepared = 0, gathered = 0;
  for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
    const RandomSequence random(seed);
    const auto joined = join(random.sequence);
    ASSERT_TRUE(joined) << "seed " << seed << ": " << joined.error().text();
    const flat::Program& whole = joined->program;
    const auto verified = flat::verify(whole);
    ASSERT_TRUE(verified) << "seed " << seed << ": " << verified.error().text();
    shared += joined->arena_bytes < joined->unshared_bytes ? 1 : 0;
    prepared += whole.prepare.empty() ? 0 : 1;
    Rng rng(seed);
    const Stored inputs = random_inputs(whole, rng);
    const auto want = one_by_one(random.sequence, inputs);
    const auto got = interp::eval_flat(whole, inputs, {.seed = seed});
    ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().text() << "\n" << print(whole);
    for (std::size_t o = 0; o < got->size(); ++o)
      ASSERT_EQ((*got)[o], want.at(random.sequence.outputs[o])) << "seed " << seed;
    const flat::Program one = in_one_region(whole);
    const auto still = flat::verify(one);
    ASSERT_TRUE(still) << "seed " << seed << ": " << still.error().text() << "\n" << print(one);
    const auto same = interp::eval_flat(one, inputs, {.seed = seed});
    ASSERT_TRUE(same) << "seed " << seed << ": " << same.error().text() << "\n" << print(one);
    ASSERT_EQ(*same, *got) << "seed " << seed;
    gathered += phases_of(one).size() < phases_of(whole).size() ? 1 : 0;
    if (seed % 5 != 0) continue;
    const auto module = testing::compile(whole, kTarget);
    ASSERT_TRUE(module) << "seed " << seed << ": " << module.error().text();
    const auto run = testing::run_module(**module, whole, inputs);
    ASSERT_TRUE(run) << "seed " << seed << ": " << run.error().text();
    EXPECT_EQ(testing::difference(whole, *got, *run, 64), "") << "seed " << seed;
    const auto threads = testing::compile(one, kThreads);
    ASSERT_TRUE(threads) << "seed " << seed << ": " << threads.error().text();
    const auto shared_run = testing::run_module(**threads, one, inputs);
    ASSERT_TRUE(shared_run) << "seed " << seed << ": " << shared_run.error().text();
    EXPECT_EQ(testing::difference(one, *got, *shared_run, 64), "") << "seed " << seed;
  }
  EXPECT_GE(shared, static_cast<int>(rounds / 20));
  EXPECT_GE(prepared, static_cast<int>(rounds / 20));
  EXPECT_GE(gathered, static_cast<int>(rounds / 50));
}

}  // namespace
}  // namespace lathe::sequence
