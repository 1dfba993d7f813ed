// Random configurations of spaces for cards as machines execute them: the module that becomes PTX
// on this processor, and the same schedules as OpenCL C on this machine's device, if there is one
// with as large groups and whose items need not exchange registers.
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/codegen/llvm/nvptx/nvptx_backend.h"
#include "compiler/codegen/opencl/codegen.h"
#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "host_card/host_card.h"
#include "support/bound_trace.h"
#include "support/opencl_runner.h"
#include "support/random_card.h"
#include "tuner/space/space.h"
#include "unit/codegen/harness.h"

namespace lathe {
namespace {

using testing::OpenClRunner;

constexpr int kConfigurations = 3;

// A card with blocks as small as the groups of devices are.
Target small_card(int architecture) {
  CudaTarget card{.name = "sm_" + std::to_string(architecture)};
  card.architecture = architecture;
  card.multiprocessors = 4;
  card.registers = 64 << 10;
  card.shared_bytes = card.block_bytes = 32 << 10;
  card.threads = 1024, card.blocks = 16;
  card.block_threads = 256;
  card.thread_registers = 255;
  return Target{card};
}

struct Program {
  te::Workload workload;
  std::vector<interp::Tensor> inputs, want;

  explicit Program(te::Workload what) : workload(std::move(what)) {
    Rng rng(1);
    inputs = interp::random_inputs(workload, rng);
    want = *interp::evaluate(workload, inputs);
  }
  std::vector<interp::Bytes> stored(const flat::Program& flat) const {
    std::vector<interp::Bytes> out;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      out.push_back(interp::to_storage(flat.inputs[i], inputs[i].values));
    return out;
  }
};

Result<flat::Program> lowered(const Program& program, const schedule::Trace& trace,
                              const Target& target) {
  ir::Nest nest = te::naive_nest(program.workload);
  if (const auto applied = schedule::apply(nest, trace); !applied)
    return fail(ErrorKind::kIllegalSchedule, "{}", applied.error().text());
  return lower::lower(ir::SizedNest(nest, {}), target);
}

Result<std::string> on_host(const Program& program, const schedule::Trace& trace,
                            const Target& card) {
  const flat::Program flat = LATHE_TRY(lowered(program, trace, card));
  const cuda::Image image = LATHE_TRY(codegen::cuda_image(flat, card.as_cuda()));
  const std::string ir = LATHE_TRY(codegen::cuda_ir(flat, card));
  const auto got = LATHE_TRY(testing::run_on_host(ir, image, program.stored(flat)));
  return testing::difference(flat, program.want, got);
}

Result<std::string> on_opencl(const Program& program, const schedule::Trace& trace,
                              const OpenClRunner* runner) {
  const flat::Program flat = LATHE_TRY(lowered(program, trace, generic_opencl()));
  const auto image = LATHE_TRY(codegen::opencl_image(flat, generic_opencl().as_opencl()));
  if (runner == nullptr) return "";
  const auto got = LATHE_TRY(runner->run(image, program.stored(flat)));
  return testing::difference(flat, program.want, got);
}

std::string text_of(const Result<std::string>& wrong) {
  return wrong ? *wrong : wrong.error().text();
}

class CardSpace : public ::testing::TestWithParam<const char*> {};

TEST_P(CardSpace, ComputesItsProgram) {
  const Program program(*te::parse_workload(GetParam()));
  const auto runner = OpenClRunner::open();
  for (const int architecture : {75, 90}) {
    const Target card = small_card(architecture);
    const auto space = space::derive_space(program.workload, card, space::Flavour::kDefault);
    ASSERT_TRUE(space) << space.error().text();
    Rng rng(3);
    for (int i = 0; i < kConfigurations; ++i) {
      const space::Config config = i == 0 ? (*space)->default_config() : (*space)->random(rng);
      const schedule::Trace trace = (*space)->trace(config);
      EXPECT_EQ(text_of(on_host(program, trace, card)), "") << (*space)->describe(config);
      if (architecture > 75) continue;  // the same schedules
      const std::string wrong = text_of(on_opencl(program, trace, runner ? &*runner : nullptr));
      if (wrong.find("that the items of a warp exchange, which this target has not") ==
          std::string::npos)
        EXPECT_EQ(wrong, "") << (*space)->describe(config);
    }
  }
  if (!runner && !HasFailure())
    GTEST_SKIP() << runner.error().message << ": OpenCL C was translated, but none was run";
}

INSTANTIATE_TEST_SUITE_P(
    Structures, CardSpace,
    ::testing::Values(
        "A: f32[33,40]; B: f32[40,52]; C[i,j] = sum(k) A[i,k] * B[k,j]",
        "A: f32[37,29]; B: f32[41,29]; C[i,j] = sum(k) A[i,k] * B[j,k]",
        "X: f32[1,8,11,11]; const W: f32[24,8,3,3]; b: f32[24]; Y[n:1,o:24,y:11,x:11] = "
        "relu(sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s] + b[o])",
        "X: f32[1,16,14,14]; const W: f32[20,16,1,1]; Y[n:1,o:20,y:7,x:7] = "
        "sum(c,r,s) X[n,c,2*y+r,2*x+s] * W[o,c,r,s]",
        "X: f32[19,333]; S[i] = sum(k) X[i,k]", "X: f32[333,19]; S[i] = max(k) X[k,i]",
        "X: f32[5,41,12]; Y[c,b,a] = X[a,b,c]", "X: f32[70000]; S[o:1] = sum(k) X[k+0*o]",
        "X: f32[7,333]; E[i,j] = exp(X[i,j] - (max(k) X[i,k])); Y[i,j] = E[i,j] / (sum(k) E[i,k])",
        "X: f32[6,260]; g: f32[260]; b: f32[260]; M[i] = (sum(k) X[i,k]) / 260; "
        "V[i] = (sum(k) (X[i,k] - M[i]) * (X[i,k] - M[i])) / 260; "
        "Y[i,j] = (X[i,j] - M[i]) * rsqrt(V[i] + 1e-5) * g[j] + b[j]",
        "Q: f32[2,9,8]; K: f32[2,24,8]; V: f32[2,24,8]; "
        "S[h,i,j] = (sum(d) Q[h,i,d] * K[h,j,d]) * 0.35; "
        "E[h,i,j] = exp(S[h,i,j] - (max(k) S[h,i,k])); "
        "Y[h,i,d] = (sum(j) E[h,i,j] * V[h,j,d]) / (sum(k) E[h,i,k])",
        "X: f32[70,12]; m[i] = max(k) X[i,k]; Y[i] = min(k) select(X[i,k] == m[i], k, 12)",
        "X: f32[5,13,16]; W: f32[5,3,3]; b: f32[5]; Y[c,y:13,x:16] = "
        "relu(sum(r,s) X[c,y+r-1,x+s-1 else 0] * W[c,r,s] + b[c])",
        "X: f32[3,15,14]; Y[c,y:8,x:7] = max(r:3,s:3) X[c,2*y+r-1,2*x+s-1 else -inf]",
        "A: f32[7,68]; b: f32[7]; Y[i,j] = relu(A[i,j] * b[i])"));

// Of the programs whose configurations space_cuda_test gives to the evaluator: as many random ones,
// of fewer programs; 60, and 2,000 where tests may take long.
TEST(RandomCards, ComputeTheirPrograms) {
  constexpr std::uint64_t kPlain = 15, kLonger = 500, kEach = 4;
  const char* asked = std::getenv("LATHE_CUDA_ROUNDS");
  const std::uint64_t rounds = asked != nullptr ? std::strtoull(asked, nullptr, 10)
                               : std::getenv("LATHE_TEST_LONG") != nullptr ? kLonger
                                                                           : kPlain;
  for (std::uint64_t seed = 1; seed <= rounds && !HasFailure(); ++seed) {
    const test::RandomCard made = test::random_card(seed);
    const Program program(made.workload);
    const auto space = space::derive_space(
        made.workload, made.target, made.wide ? space::Flavour::kWide : space::Flavour::kDefault);
    ASSERT_TRUE(space) << space.error().text();
    Rng rng(seed);
    for (std::uint64_t i = 0; i < kEach; ++i) {
      const space::Config config = (*space)->random(rng);
      ASSERT_EQ(text_of(on_host(program, (*space)->trace(config), made.target)), "")
          << "seed " << seed << " " << te::print_workload(made.workload)
          << (*space)->describe(config);
    }
  }
}

}  // namespace
}  // namespace lathe
