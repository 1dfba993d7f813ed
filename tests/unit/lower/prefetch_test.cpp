// Prefetches that a loop shares which reads the same part of a buffer in each iteration.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/step.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "support/check_flat.h"
#include "support/targets.h"

namespace lathe {
namespace {

using schedule::Annotate, schedule::Cache, schedule::Reorder, schedule::Split;

// Runs loops and nothing else, and notes which lines of a buffer are prefetched.
class Fetched {
 public:
  Fetched(const flat::Program& program, std::string buffer)
      : program_(program), buffer_(std::move(buffer)) {
    for (const int kernel : program.run)
      run(program.kernels[static_cast<std::size_t>(kernel)].body);
  }
  std::set<std::int64_t> lines;  // of 16 elements
  std::int64_t times = 0;

 private:
  std::int64_t value(const flat::Expr& e) const {
    if (const auto number = flat::as_int(e)) return *number;
    if (const auto* var = std::get_if<flat::Var>(&e->value)) return vars_.at(var->id);
    const auto& binary = std::get<flat::Binary>(e->value);
    const std::int64_t a = value(binary.a), b = value(binary.b);
    switch (binary.op) {
      case flat::BinaryOp::kAdd: return a + b;
      case flat::BinaryOp::kSub: return a - b;
      case flat::BinaryOp::kMul: return a * b;
      case flat::BinaryOp::kDiv: return a / b;
      case flat::BinaryOp::kMod: return a % b;
      case flat::BinaryOp::kMin: return std::min(a, b);
      case flat::BinaryOp::kMax: return std::max(a, b);
      default: throw std::runtime_error("an operation that addresses do not have");
    }
  }
  void loop(const flat::For& loop) {
    for (std::int64_t i = value(loop.begin); i < value(loop.end); ++i) {
      vars_[loop.var] = i;
      run(loop.body);
    }
  }
  void run(const flat::Stmt& stmt) {
    if (const auto* list = std::get_if<flat::Seq>(&stmt->value)) {
      for (const flat::Stmt& each : list->stmts) run(each);
    } else if (const auto* each = std::get_if<flat::For>(&stmt->value)) {
      loop(*each);
    } else if (const auto* region = std::get_if<flat::Region>(&stmt->value)) {
      for (const flat::For& phase : region->phases) loop(phase);
    } else if (const auto* let = std::get_if<flat::Let>(&stmt->value)) {
      if (let->value->type.lanes == 1 && !(let->value->contents & flat::contents::kData))
        vars_[let->var] = value(let->value);
    } else if (const auto* ahead = std::get_if<flat::PrefetchAt>(&stmt->value)) {
      if (program_.buffers[static_cast<std::size_t>(ahead->buffer)].name != buffer_) return;
      lines.insert(value(ahead->index) / 16);
      ++times;
    }
  }

  const flat::Program& program_;
  std::string buffer_;
  std::map<int, std::int64_t> vars_;
};

struct Sizes {
  std::int64_t rows, terms, panels, tile, unroll;
};

schedule::Trace tiles_of_panels(const Sizes& s) {
  const auto panel = std::int64_t{8};
  return {Cache{"B",
                "P",
                "",
                ir::Scope::kMemory,
                {{1, panel}, {0, std::int64_t{1}}, {1, std::int64_t{1}}}},
          Split{"C.j", panel, "jo", "ji", ir::Tail::kPeel},
          Split{"C.i", s.tile, "io", "ii", ir::Tail::kPeel},
          Split{"C.k", s.unroll, "ks", "ku", ir::Tail::kPeel},
          Reorder{{"jo", "io", "ks", "ku", "ii", "ji"}},
          Annotate{.loop = "ku", .kind = ir::LoopKind::kUnrolled},
          Annotate{.loop = "ii", .kind = ir::LoopKind::kUnrolled},
          Annotate{.loop = "ji", .kind = ir::LoopKind::kVectorized},
          Annotate{.loop = "io",
                   .what = Annotate::What::kPrefetch,
                   .buffer = "P",
                   .bytes = std::int64_t{panel * s.terms * 4}}};
}

// All of the next panel comes while the tiles of this one run: each line, and few of them twice.
TEST(SharedPrefetch, BringsEachLineOfTheNextPanel) {
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    const auto up_to = [&](std::uint64_t most) {
      return 1 + static_cast<std::int64_t>(rng.below(most));
    };
    const Sizes s{up_to(23), up_to(70), up_to(4), up_to(5), up_to(4)};
    const std::string text =
        fmt::format("A: f32[{0},{1}]; const B: f32[{1},{2}]; C[i,j] = sum(k) A[i,k] * B[k,j]",
                    s.rows, s.terms, 8 * s.panels);
    SCOPED_TRACE(fmt::format("{}, tiles of {} rows, {} terms written out", text, s.tile, s.unroll));
    const auto workload = te::parse_workload(text);
    ASSERT_TRUE(workload) << workload.error().text();
    ir::Nest nest = te::naive_nest(*workload);
    const auto applied = schedule::apply(nest, tiles_of_panels(s), false);
    ASSERT_TRUE(applied) << applied.error().text();
    const auto program = lower::lower(ir::SizedNest(nest, {}), test::avx512(1));
    ASSERT_TRUE(program) << program.error().text();
    EXPECT_EQ(check_flat(*workload, *program, 1), "");
    const Fetched fetched(*program, "P");
    const std::int64_t of_panel = 8 * s.terms, all = of_panel * s.panels;
    // A tail of the terms, or of the rows, has code of its own, which fetches a share as well.
    const bool whole = s.terms % s.unroll == 0 && s.rows % s.tile == 0;
    if (whole)
      for (std::int64_t line = (of_panel + 15) / 16; line < all / 16; ++line)
        EXPECT_TRUE(fetched.lines.contains(line)) << line << "\n" << flat::print(*program);
    const std::int64_t tiles = (s.rows + s.tile - 1) / s.tile,
                       steps = (s.terms + s.unroll - 1) / s.unroll;
    const std::int64_t lines = (of_panel + 15) / 16;
    if (whole) {
      EXPECT_LE(fetched.times, s.panels * (lines + 2 * tiles * steps)) << flat::print(*program);
    }
    EXPECT_GT(fetched.times, 0);
  }
}

}  // namespace
}  // namespace lathe
