// Stores past the caches: the same results as with usual stores, wherever tensors and rows begin,
// and the instructions that they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "unit/codegen/harness.h"

namespace lathe {
namespace {

using ir::LoopKind;
using ir::Tail;
using schedule::Annotate;
using schedule::Split;
using schedule::Trace;
using testing::resolved, testing::test_name;

flat::Program lowered(const std::string& text, const Trace& trace, const Target& target) {
  ir::Nest nest = te::naive_nest(*te::parse_workload(text));
  const auto applied = schedule::apply(nest, trace);
  EXPECT_TRUE(applied) << text << ": " << applied.error().text();
  auto program = lower::lower(ir::SizedNest(nest, {}), target);
  if (!program) throw std::runtime_error(program.error().text());
  return std::move(*program);
}

Trace with_stream(Trace trace, const std::string& output) {
  trace.push_back(schedule::Stream{output});
  return trace;
}

Annotate kind(const std::string& loop, LoopKind k) { return {.loop = loop, .kind = k}; }

// Rows of vectors, `unroll` of them at a time; threads share the rows.
Trace rows(const std::string& y, std::int64_t lanes, std::int64_t unroll, Tail tail) {
  return {Split{y + ".j", lanes * unroll, "jo", "ji", tail}, Split{"ji", lanes, "jv", "jl", tail},
          kind("jl", LoopKind::kVectorized), kind("jv", LoopKind::kUnrolled),
          kind(y + ".i", LoopKind::kParallel)};
}

// As rules schedule a copy into another order: lanes lie apart in what is read.
Trace transposed(std::int64_t lanes) {
  return {Split{"Y.j", lanes, "jo", "jl", Tail::kPeel},
          Split{"Y.i", lanes, "io", "iu", Tail::kPeel},
          schedule::Reorder{{"io", "jo", "iu", "jl"}},
          kind("jl", LoopKind::kVectorized),
          kind("iu", LoopKind::kUnrolled),
          kind("io", LoopKind::kParallel)};
}

// Bytes of memory at `offset` bytes after a multiple of 64, with others around them.
class Place {
 public:
  Place(std::size_t bytes, std::size_t offset, std::byte fill)
      : memory_(bytes + offset + 3 * kAround, std::byte{0x5a}), bytes_(bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()) + kAround;
    at_ = memory_.data() + kAround + (kAround - begin % kAround) % kAround + offset;
    std::fill_n(at_, bytes, fill);
  }
  std::byte* data() { return at_; }
  bool intact() const {
    return std::all_of(memory_.data(), static_cast<const std::byte*>(at_), is_around) &&
           std::all_of(static_cast<const std::byte*>(at_) + bytes_, memory_.data() + memory_.size(),
                       is_around);
  }

 private:
  static constexpr std::size_t kAround = 64;
  static bool is_around(std::byte b) { return b == std::byte{0x5a}; }
  std::vector<std::byte> memory_;
  std::size_t bytes_;
  std::byte* at_;
};

// Three slices of each phase.
void in_slices(void*, const lathe_phase* phases, std::int64_t count, void* context) {
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t s = 0; s < 3; ++s)
      phases[p].body(context, phases[p].count * s / 3, phases[p].count * (s + 1) / 3, s);
}

// The output of a program of one output, which begins `offset` elements after a multiple of 64.
std::vector<std::byte> output_of(const module::Module& module, const flat::Program& program,
                                 std::size_t offset) {
  std::vector<Place> places;
  const auto add = [&](const flat::Border& border, std::size_t shift, std::byte fill) {
    const auto size = static_cast<std::size_t>(size_of(border.dtype));
    places.emplace_back(static_cast<std::size_t>(border.size) * size, shift * size, fill);
  };
  for (const flat::Border& input : program.inputs) {
    add(input, 0, std::byte{0});
    for (std::int64_t i = 0; i < input.size; ++i)
      store_element(input.dtype, places.back().data() + i * size_of(input.dtype),
                    static_cast<double>(i % 2 == 0 ? i % 61 : i % 7));
  }
  add(program.outputs[0], offset, std::byte{0xff});
  std::vector<void*> tensors;
  for (Place& place : places) tensors.push_back(place.data());
  const lathe_runtime runtime{in_slices, nullptr};
  std::vector<std::byte> scratch(1 << 16), workers(1 << 16);
  module.table().run(&runtime, tensors.data(), nullptr, scratch.data(), workers.data());
  EXPECT_TRUE(places.back().intact());
  const auto bytes =
      static_cast<std::size_t>(program.outputs[0].size * size_of(program.outputs[0].dtype));
  return {places.back().data(), places.back().data() + bytes};
}

class Streams : public ::testing::TestWithParam<Target> {
 protected:
  static void expect_same(const std::string& text, const Trace& trace) {
    const flat::Program usual = lowered(text, trace, GetParam());
    const flat::Program streaming = lowered(text, with_stream(trace, "Y"), GetParam());
    const auto a = testing::compile(usual, GetParam()), b = testing::compile(streaming, GetParam());
    ASSERT_TRUE(a) << a.error().text();
    ASSERT_TRUE(b) << b.error().text();
    for (const std::size_t offset : {0U, 1U, 2U, 4U, 5U, 8U, 13U})
      EXPECT_EQ(output_of(**a, usual, offset), output_of(**b, streaming, offset))
          << text << " at " << offset << "\n"
          << print(streaming);
  }
  static int lanes(Dtype dtype) { return std::max(2, GetParam().as_cpu().lanes(size_of(dtype))); }
};

TEST_P(Streams, MapsOfAwkwardShapes) {
  for (const auto& [m, n] : {std::pair(1, 16), {7, 37}, {3, 64}, {5, 1}, {4, 129}, {2, 100}})
    for (const Tail tail : {Tail::kPeel, Tail::kMask, Tail::kShift})
      for (const int unroll : {1, 3})
        expect_same(fmt::format("A: f32[{0},{1}]; B: f32[{0},{1}]; Y[i,j] = A[i,j] + B[i,j]", m, n),
                    rows("Y", lanes(Dtype::kF32), unroll, tail));
}

TEST_P(Streams, EveryElementType) {
  for (const Dtype dtype :
       {Dtype::kF64, Dtype::kF16, Dtype::kBF16, Dtype::kI8, Dtype::kU8, Dtype::kI32, Dtype::kI64,
        Dtype::kBool, Dtype::kI16, Dtype::kU16, Dtype::kU32})
    expect_same(fmt::format("A: f32[5,150]; Y[i,j] = {}(A[i,j])", name_of(dtype)),
                rows("Y", lanes(dtype), 2, Tail::kPeel));
}

// Vectors of more and of fewer lanes than a register has.
TEST_P(Streams, EveryNumberOfLanes) {
  for (const int lanes : {2, 3, 4, 5, 8, 12, 32, 48})
    expect_same("A: f32[3,200]; Y[i,j] = A[i,j] * 2.0", rows("Y", lanes, 2, Tail::kPeel));
}

TEST_P(Streams, TransposedTiles) {
  for (const auto& [m, n] : {std::pair(32, 48), {33, 35}, {16, 100}, {7, 5}})
    expect_same(fmt::format("A: f32[{},{}]; Y[i:{},j] = A[j,i]", m, n, n),
                transposed(lanes(Dtype::kF32)));
}

// Results that registers held; those of a sum that goes on are stored as usual.
TEST_P(Streams, WriteBackOfASum) {
  for (const std::int64_t block : {std::int64_t{8}, std::int64_t{40}})
    expect_same("A: f32[9,40]; B: f32[40,70]; Y[i,j] = sum(k) A[i,k] * B[k,j]",
                {Split{"Y.j", std::int64_t{lanes(Dtype::kF32)}, "jo", "jl", Tail::kPeel},
                 Split{"Y.k", block, "ko", "ki", Tail::kPeel},
                 schedule::Reorder{{"ko", "Y.i", "jo", "ki", "jl"}},
                 schedule::Cache{"Y", "acc", "jo", ir::Scope::kRegister, {}},
                 kind("jl", LoopKind::kVectorized), kind("acc.d1", LoopKind::kVectorized)});
}

INSTANTIATE_TEST_SUITE_P(Targets, Streams, ::testing::ValuesIn(testing::runnable_targets()),
                         [](const auto& info) { return test_name(info.param); });

int count_of(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(StreamInstructions, AreThoseOfTheTarget) {
  const std::string text = "A: f32[8,64]; Y[i,j] = A[i,j] + A[i,j]";
  struct Expected {
    const char *target, *store;
    int lanes;
  };
  for (const Expected& e :
       {Expected{"cpu:x86-64", "movntps", 4}, Expected{"cpu:x86-64-v3", "vmovntps\t%ymm", 8},
        Expected{"cpu:x86-64-v4;threads=2", "vmovntps\t%zmm", 16},
        Expected{"cpu:cortex-a72;isa=aarch64", "stnp", 8}}) {
    const Target target = resolved(e.target);
    const Trace trace = rows("Y", e.lanes, 2, Tail::kPeel);
    const auto usual = codegen::assembly(lowered(text, trace, target), target);
    const auto streaming =
        codegen::assembly(lowered(text, with_stream(trace, "Y"), target), target);
    ASSERT_TRUE(usual && streaming);
    EXPECT_EQ(count_of(*usual, e.store), 0) << *usual;
    EXPECT_GT(count_of(*streaming, e.store), 0) << *streaming;
    // One fence, at the end of what a thread does.
    const bool x86 = target.as_cpu().isa == Isa::kX86;
    EXPECT_EQ(count_of(*usual, "sfence"), 0) << *usual;
    EXPECT_EQ(count_of(*streaming, "sfence"), x86 ? 1 : 0) << *streaming;
  }
}

// Nothing of a sum that goes on is stored past the caches.
TEST(StreamInstructions, PartialSumsStayInTheCaches) {
  const Target target = resolved("cpu:x86-64-v4");
  const auto trace = [](std::int64_t block) {
    return Trace{Split{"Y.k", block, "ko", "ki", Tail::kPeel},
                 schedule::Reorder{{"ko", "Y.i", "ki", "Y.j"}},
                 schedule::Cache{"Y", "acc", "Y.i", ir::Scope::kRegister, {}},
                 kind("Y.j", LoopKind::kVectorized),
                 kind("acc.d1", LoopKind::kVectorized),
                 schedule::Stream{"Y"}};
  };
  const std::string text = "A: f32[9,40]; B: f32[40,16]; Y[i,j] = sum(k) A[i,k] * B[k,j]";
  for (const auto& [block, streams] : {std::pair(std::int64_t{8}, false), {std::int64_t{40}, true}})
    EXPECT_EQ(print(lowered(text, trace(block), target)).find("stream ") != std::string::npos,
              streams);
}

}  // namespace
}  // namespace lathe
