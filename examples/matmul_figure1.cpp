// Figure 1 of "Learning to Optimize Tensor Programs", by hand: three programs for C[i,j] = sum(k)
// A[k,i] * B[k,j].
//
//   1. the default code: one loop an axis
//   2. loop tiling
//   3. tiling, with the innermost 8 x 8 x 8 mapped to the micro-kernel gemm8x8 (tensorize)
//
// They are one template: a function that asks for knobs as it goes and applies schedule steps with
// them. Running it is what defines the space; its sizes stay open, so one sketch serves all tile
// sizes. The program below tries every configuration of the space, checks each against the default
// code and prints the fastest of each version.
//
// Usage: matmul_figure1 [N]     (default 512)
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/rng.h"
#include "compiler/backends/backends.h"
#include "compiler/lower/lower.h"
#include "compiler/te/parse.h"
#include "runtime/module/module.h"
#include "tuner/space/template.h"

using namespace lathe;

namespace {

void figure1(space::Recipe& r) {
  const std::string version = r.choice("version", {"default", "tiled", "tensorized"});
  const auto tile_y = r.knob("tile.y", {1, 2, 4, 8, 16});  // in blocks of 8
  const auto tile_x = r.knob("tile.x", {1, 2, 4, 8, 16});
  if (version == "default") return;
  // y, x, k in tiles of 8, then tiles in blocks: yo xo ko | yt xt | yi xi ki as the figure has
  // them.
  r.apply(schedule::Split{"C.i", r.times(tile_y, std::int64_t{8}), "yo", "yr"});
  r.apply(schedule::Split{"C.j", r.times(tile_x, std::int64_t{8}), "xo", "xr"});
  r.apply(schedule::Split{"C.k", std::int64_t{8}, "ko", "ki"});
  r.apply(schedule::Split{"yr", std::int64_t{8}, "yt", "yi"});
  r.apply(schedule::Split{"xr", std::int64_t{8}, "xt", "xi"});
  r.apply(schedule::Reorder{{"yo", "xo", "ko", "yt", "xt", "yi", "xi", "ki"}});
  if (version == "tensorized") r.apply(schedule::Tensorize{"yi", *ir::intrinsic_named("gemm8x8")});
}

void run_serially(void*, const lathe_phase* phases, std::int64_t count, void* context) {
  for (std::int64_t p = 0; p < count; ++p) phases[p].body(context, 0, phases[p].count, 0);
}

struct Kernel {
  std::unique_ptr<module::Module> library;
  flat::Program flat;
};

Result<Kernel> compile(const ir::SizedNest& nest, const Target& target) {
  Kernel kernel;
  kernel.flat = LATHE_TRY(lower::lower(nest, target));
  const driver::Code code = LATHE_TRY(driver::compile(kernel.flat, target, backends()));
  kernel.library = LATHE_TRY(module::load_module(code.library));
  return kernel;
}

// Seconds of the fastest of a few runs.
double time_of(const Kernel& kernel, void* const* tensors) {
  const lathe_runtime serial{run_serially, nullptr};
  const lathe_module& code = kernel.library->table();
  std::vector<double> scratch(
      static_cast<std::size_t>(code.workspace_bytes + code.worker_bytes + code.constant_bytes) / 8 +
      1);
  double best = 1e30;
  for (int run = 0; run < 3; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    code.run(&serial, tensors, scratch.data(), scratch.data(), scratch.data());
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

int run(std::int64_t n) {
  te::Declarations shapes;
  shapes.shapes = {{"A", {n, n}}, {"B", {n, n}}};
  const auto program = te::parse_workload("C[i,j] = sum(k) A[k,i] * B[k,j]", shapes);
  if (!program) return std::fprintf(stderr, "%s\n", program.error().text().c_str()), 1;
  const auto target = driver::resolve_target(*parse_target("cpu:host"), backends());
  if (!target) return std::fprintf(stderr, "%s\n", target.error().text().c_str()), 1;
  const auto space = space::template_space(*program, figure1);
  if (!space) return std::fprintf(stderr, "%s\n", space.error().text().c_str()), 1;

  const auto size = static_cast<std::size_t>(n * n);
  std::vector<float> a(size), b(size), c(size), want;
  Rng rng(1);
  for (float& v : a) v = static_cast<float>(rng.uniform() - 0.5);
  for (float& v : b) v = static_cast<float>(rng.uniform() - 0.5);
  void* const tensors[] = {a.data(), b.data(), c.data()};

  struct Best {
    double seconds = 1e30;
    space::Config config;
  };
  std::map<std::string, Best> best;
  std::vector<std::int64_t> values;
  for (int version = 0; version < 3; ++version) {
    for (int y = 0; y < 5; ++y) {
      for (int x = 0; x < 5 && (version > 0 || x + y == 0); ++x) {
        space::Config config(3);
        for (int k = 0; k < 3; ++k) {
          const auto& name = (*space)->knob_list()[k].name;
          config[k] = static_cast<std::uint16_t>(name == "version"  ? version
                                                 : name == "tile.y" ? y
                                                                    : x);
        }
        if (version == 0 && y > 0) continue;
        (*space)->knob_values(config, values);
        const auto kernel = compile(ir::SizedNest((*space)->sketch(config).nest, values), *target);
        if (!kernel) return std::fprintf(stderr, "%s\n", kernel.error().text().c_str()), 1;
        const double seconds = time_of(*kernel, tensors);
        if (want.empty()) want = c;
        for (std::size_t i = 0; i < size; ++i)
          if (std::fabs(c[i] - want[i]) > 1e-4F * static_cast<float>(n))
            return std::fprintf(stderr, "wrong answer\n"), 1;
        Best& entry = best[(*space)->knob_list()[0].labels[version]];
        if (seconds < entry.seconds) entry = {seconds, config};
      }
    }
  }
  for (const char* version : {"default", "tiled", "tensorized"}) {
    const Best& entry = best[version];
    (*space)->knob_values(entry.config, values);
    std::printf("== %s: %.1f ms, %.2f GFLOP/s (%s)\n%s\n%s\n", version, entry.seconds * 1e3,
                te::flops(*program) / entry.seconds * 1e-9,
                (*space)->describe(entry.config).c_str(),
                schedule::print((*space)->trace(entry.config)).c_str(),
                ir::print(ir::SizedNest((*space)->sketch(entry.config).nest, values)).c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 512;
  if (n < 1 || n > 8192)
    return std::fprintf(stderr, "matmul_figure1: N must be from 1 to 8192\n"), 2;
  return run(n);
}
