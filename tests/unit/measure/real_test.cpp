// With the real builder and runner: from traces to verified times, and the compiled reference
// against the interpreter.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "base/helper_path.h"
#include "compiler/backends/backends.h"
#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "runtime/module/module.h"
#include "runtime/pool/pool.h"
#include "support/random_trace.h"
#include "support/random_workload.h"
#include "support/temporary_folder.h"
#include "support/tensor.h"
#include "tuner/measure/builder/build_server.h"
#include "tuner/measure/cpu/plain_schedule.h"
#include "tuner/measure/cpu/stream_kernel.h"
#include "tuner/measure/inputs.h"
#include "tuner/measure/measure.h"
#include "tuner/measure/reference.h"

namespace lathe::measure {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const char* const kMatmul = "A: f32[11, 13]; B: f32[11, 37]; C[i,j] = sum(k) A[k,i] * B[k,j]";
const char* const kPrograms[] = {
    kMatmul,
    "A: f32[1, 1]; B: f32[1, 1]; C[i,j] = sum(k) A[k,i] * B[k,j]",
    "X: f32[1, 3, 7, 29]; const W: f32[5, 3, 3, 3]; b: f32[5]\n"
    "Y[n,o,y:7,x:29] = sum(c,r,s) X[n,c,y+r-1,x+s-1 else 0] * W[o,c,r,s]\nZ[n,o,y,x] = "
    "relu(Y[n,o,y,x] + b[o])",
    "X: f32[1, 3, 9, 23]; W: f32[5, 3, 3, 3]\nY[n,o,y:5,x:12] = sum(c,r,s) X[n,c,2*y+r-1,2*x+s-1 "
    "else 0] * W[o,c,r,s]",
    "X: f32[4, 19]; S[i] = max(k) X[i,k]; E[i,j] = exp(X[i,j] - S[i]); T[i] = sum(k) E[i,k]; "
    "Y[i,j] = E[i,j] / T[i]",
    "X: f32[101]; Y[i] = select(X[i] > 0.3, sqrt(abs(X[i])), tanh(X[i]) - 2)",
    "X: f16[23, 5]; Y[i] = sum(k) f32(X[i,k]) * f32(X[i,k])",
    "X: i8[23, 5]; Y[i] = sum(k) i32(X[i,k]) * i32(X[i,k])",
    // Rounded where the program rounds.
    "X: f32[997]; Y[i] = i8(X[i] * 100)",
    "A: f16[64,64]; B: f16[64,64]; X: u8[64,64]; W: i8[64,64]\n"
    "C[i,j] = sum(k) A[i,k] * B[k,j]; D[i,j] = sum(k) f64(A[i,k] * B[k,j]); E[i,j] = sum(k) X[i,k] "
    "* W[j,k]\n"
    "F[i,j] = i8(min(max(f32(E[i,j]) * 0.02, -128), 127))",
    "A: f32[13, 31]; B: f32[31, 17]; C[i,j] = sum(k) f64(A[i,k] * B[k,j])",
    "X: f32[7, 1009]; P[i] = prod(k) X[i,k]",
    "X: f32[31, 17]; M[i] = (sum(k) X[i,k]) / 17; V[i] = sum(k) (X[i,k] - M[i]) * (X[i,k] - M[i])\n"
    "Y[i,j] = (X[i,j] - M[i]) * rsqrt(V[i] / 17 + 1e-5)",
    "X: f32[8, 17]; Y[i,j] = select(j <= i, floor(X[i,j] * 10) * 0.1, -inf); Z[i] = max(j) Y[i,j]",
    "X: f32[101]; Y[i] = f32(bool(X[i] * 3 - 1.5)) + ceil(X[i] * 3)",
    "X: bf16[101]; Y[i] = X[i] * X[i] + exp(X[i]) - 3",
};

Target host() { return *driver::resolve_target(*parse_target("cpu:host"), backends()); }

// Runs a program's plain border tensors in this process.
std::vector<std::vector<double>> run(const Built& built,
                                     const std::vector<std::vector<double>>& inputs) {
  auto module = module::load_module(built.library);
  EXPECT_TRUE(module.has_value()) << module.error().text();
  std::vector<tensor::Tensor> tensors;
  for (const auto* borders : {&built.inputs, &built.outputs})
    for (const tensor::Border& border : *borders) {
      EXPECT_TRUE(tensor::is_plain(border));
      tensors.push_back(*tensor::Tensor::make(border.dtype, border.shape));
    }
  std::vector<void*> pointers;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    for (std::int64_t i = 0; t < inputs.size() && i < tensors[t].elements(); ++i)
      tensors[t].set(i, inputs[t][i]);
    pointers.push_back(tensors[t].data());
  }
  const lathe_module& table = (*module)->table();
  const auto area = [](std::int64_t bytes) {
    return *tensor::Tensor::make(Dtype::kU8, {bytes + 64});
  };
  auto constants = area(table.constant_bytes), workspace = area(table.workspace_bytes),
       workers = area(table.worker_bytes);
  pool::Pool pool({.threads = 1});
  if (table.prepare != nullptr)
    table.prepare(pool.runtime(), pointers.data(), constants.data(), workspace.data(),
                  workers.data());
  table.run(pool.runtime(), pointers.data(), constants.data(), workspace.data(), workers.data());
  std::vector<std::vector<double>> outputs;
  for (std::size_t o = 0; o < built.outputs.size(); ++o) {
    const auto& tensor = tensors[built.inputs.size() + o];
    outputs.emplace_back();
    for (std::int64_t i = 0; i < tensor.elements(); ++i) outputs.back().push_back(tensor.at(i));
  }
  return outputs;
}

TEST(CompiledReference, AgreesWithTheInterpreter) {
  for (const char* text : kPrograms) {
    SCOPED_TRACE(text);
    const auto workload = te::parse_workload(text);
    ASSERT_TRUE(workload.has_value()) << workload.error().text();
    const te::Workload reference = reference_workload(*workload).workload;
    const auto built =
        builder::build(reference, cpu::plain_schedule(reference, host()), host(), backends());
    ASSERT_TRUE(built.has_value()) << built.error().text();
    const auto values = random_inputs(*workload, 5);
    std::vector<interp::Tensor> inputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const te::Tensor& tensor = reference.tensors[reference.inputs()[i]];
      inputs.push_back({tensor.dtype, tensor.shape, values[i], {}});
    }
    const auto want = interp::evaluate(reference, inputs);
    ASSERT_TRUE(want.has_value()) << want.error().text();
    const auto got = run(*built, values);
    ASSERT_EQ(got.size(), want->size());
    for (std::size_t o = 0; o < got.size(); ++o)
      for (std::size_t i = 0; i < got[o].size(); ++i)
        ASSERT_NEAR(got[o][i], (*want)[o].values[i], 1e-12 * (1 + std::abs((*want)[o].values[i])))
            << o << " " << i;
  }
}

Options options() {
  Options options;
  options.min_seconds = 0.0005;
  options.timeout_seconds = 60;
  options.cache_folder = "-";
  return options;
}

std::map<int, Outcome> measure(Measurer& measurer, const std::vector<schedule::Trace>& traces) {
  std::vector<Candidate> batch;
  for (std::size_t i = 0; i < traces.size(); ++i) batch.push_back({static_cast<int>(i), traces[i]});
  std::map<int, Outcome> outcomes;
  const auto status =
      measurer.measure(batch, kInfinity, [&](Outcome o) { outcomes.emplace(o.tag, o); }, {});
  EXPECT_TRUE(status.has_value()) << status.error().text();
  return outcomes;
}

TEST(RealMeasurer, DefaultCodeOfEveryProgramIsRight) {
  for (const char* text : kPrograms) {
    SCOPED_TRACE(text);
    const auto workload = te::parse_workload(text);
    const auto measurer = make_measurer(*workload, host(), options());
    ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
    const auto outcomes = measure(**measurer, {{}, cpu::plain_schedule(*workload, host())});
    ASSERT_EQ(outcomes.size(), 2U);
    for (const auto& [tag, outcome] : outcomes) {
      EXPECT_FALSE(outcome.error.has_value()) << tag << ": " << outcome.error->text();
      EXPECT_GT(outcome.seconds, 0);
    }
  }
}

// With constants, which leave the caches before each call, and without.
TEST(RealMeasurer, ProgramsAreTimedInEveryStateOfTheCaches) {
  for (const CacheMode cache : kCacheModes)
    for (const char* text :
         {kMatmul, kPrograms[2], "X: f32[1]; const W: f32[1]; Y[i] = X[i] * W[i]",
          "X: f32[31]; const W: f32[37,31]; Y[i] = sum(k) X[k] * W[i,k]"}) {
      SCOPED_TRACE(fmt::format("{}, {}", name_of(cache), text));
      Options with = options();
      with.cache = cache;
      const auto workload = te::parse_workload(text);
      const auto measurer = make_measurer(*workload, host(), with);
      ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
      for (const auto& [tag, outcome] :
           measure(**measurer, {{}, cpu::plain_schedule(*workload, host())})) {
        EXPECT_FALSE(outcome.error.has_value()) << tag << ": " << outcome.error->text();
        EXPECT_GT(outcome.seconds, 0);
      }
    }
}

TEST(RealMeasurer, DevicesHaveNoFarConstants) {
  Options far = options();
  far.cache = CacheMode::kFar;
  const auto session = open_session(*parse_target("opencl:generic"), far);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().text(), "--cache: the caches of a device are warm or cold, not far");
}

TEST(RealMeasurer, WithoutVisitsProgramsAreCheckedAndNotTimed) {
  const auto workload = te::parse_workload(kMatmul);
  Options untimed = options();
  untimed.visits = 0;
  // More threads than anything could be timed on.
  Target target = host();
  target.set_threads(64);
  const auto measurer = make_measurer(*workload, target, untimed);
  ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
  const schedule::Trace nowhere{schedule::Split{"no.loop", std::int64_t{4}, "o", "i"}};
  const auto outcomes = measure(**measurer, {{}, nowhere});
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_FALSE(outcomes.at(0).error) << outcomes.at(0).error->text();
  EXPECT_TRUE(outcomes.at(0).visits.empty());
  EXPECT_EQ(outcomes.at(0).seconds, 0);
  EXPECT_GT(outcomes.at(0).numerical_error, 0) << "compared";
  EXPECT_EQ(outcomes.at(1).error->kind, ErrorKind::kIllegalSchedule);
}

// Of every form and type: what the compiler makes of a program is right, and so is what it is
// compared with.
TEST(RealMeasurer, RandomWorkloadsAreNotCalledWrong) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Rng rng(seed);
    const te::Workload workload = random_workload(rng, {.dtypes = seed % 2 == 0});
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, te::print_workload(workload)));
    const auto measurer = make_measurer(workload, host(), options());
    ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
    for (const auto& [tag, outcome] : measure(**measurer, {{}, random_trace(workload, rng)}))
      EXPECT_TRUE(!outcome.error || outcome.error->kind == ErrorKind::kIllegalSchedule)
          << outcome.error->text();
  }
}

TEST(RealMeasurer, RefusedTracesAndEqualProgramsCostOneTrialEach) {
  const auto workload = te::parse_workload(kMatmul);
  const auto measurer = make_measurer(*workload, host(), options());
  ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
  const schedule::Trace nowhere{schedule::Split{"no.loop", std::int64_t{4}, "o", "i"}};
  const schedule::Trace split{schedule::Split{"C.i", std::int64_t{4}, "io", "ii"}};
  const schedule::Trace renamed{schedule::Split{"C.i", std::int64_t{4}, "outer", "inner"}};
  const auto outcomes = measure(**measurer, {split, nowhere, renamed, {}});
  ASSERT_EQ(outcomes.size(), 4U);
  ASSERT_TRUE(outcomes.at(1).error.has_value());
  EXPECT_EQ(outcomes.at(1).error->kind, ErrorKind::kIllegalSchedule);
  EXPECT_EQ(outcomes.at(1).error->place, "step 0");
  for (const int good : {0, 2, 3})
    EXPECT_FALSE(outcomes.at(good).error) << outcomes.at(good).error->text();
  EXPECT_EQ(outcomes.at(0).program_hash, outcomes.at(2).program_hash);
  EXPECT_NE(outcomes.at(0).duplicate_of_hash.empty(), outcomes.at(2).duplicate_of_hash.empty());
}

// A program that notes each start in a file, and goes on as the helper.
std::string counted(const test::TemporaryFolder& folder, const std::string& helper) {
  const std::string path = folder.at(helper);
  std::ofstream(path) << "#!/bin/sh\necho start >> " << path << ".starts\nexec "
                      << *find_helper("lathe-" + helper) << "\n";
  ::chmod(path.c_str(), 0700);
  return path;
}
int starts_of(const std::string& counted) {
  std::ifstream file(counted + ".starts");
  return static_cast<int>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

TEST(RealMeasurer, OneStartOfEachHelperServesManyTasks) {
  const test::TemporaryFolder folder;
  Options counting = options();
  counting.jobs = 2;
  counting.builder = counted(folder, "builder");
  counting.runner = counted(folder, "runner");
  const auto session = open_session(host(), counting);
  ASSERT_TRUE(session.has_value()) << session.error().text();
  std::vector<std::unique_ptr<Measurer>> tasks;
  for (int i = 0; i < 20; ++i) {
    const std::string text = fmt::format("X: f32[{}]; Y[i] = X[i] * {}", 5 + i, i + 2);
    auto measurer = make_measurer(*session, *te::parse_workload(text));
    ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
    tasks.push_back(std::move(*measurer));
  }
  const schedule::Trace split{schedule::Split{"Y.i", std::int64_t{4}, "o", "i"}};
  for (const bool again : {false, true})
    for (const auto& task : tasks)
      for (const auto& [tag, outcome] : measure(*task, {{}, split})) {
        EXPECT_FALSE(outcome.error) << outcome.error->text();
        EXPECT_GT(outcome.seconds, 0);
        EXPECT_EQ(!outcome.duplicate_of_hash.empty(), again);
      }
  tasks.erase(tasks.begin(), tasks.begin() + 10);  // those that are left go on
  EXPECT_TRUE(tasks.front()->peak_flops().has_value());
  EXPECT_FALSE(measure(*tasks.back(), {{}}).at(0).error);
  EXPECT_EQ(starts_of(counting.runner), 1);
  EXPECT_EQ(starts_of(counting.builder), 2) << "both of them";
}

TEST(RealMeasurer, PeakIsPlausible) {
  const auto workload = te::parse_workload(kMatmul);
  const auto measurer = make_measurer(*workload, host(), options());
  ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
  const auto peak = (*measurer)->peak_flops();
  ASSERT_TRUE(peak.has_value()) << peak.error().text();
  EXPECT_GT(*peak, 1e8);
  EXPECT_LT(*peak, 1e12);
}

TEST(RealMeasurer, ABandwidthIsThatOfTheWorkloadsTraffic) {
  Options options;
  options.cache_folder = "-";
  for (const CacheMode cache : kCacheModes) {
    options.cache = cache;
    const auto measurer =
        make_measurer(*te::parse_workload("X: f32[3001]; Y[i] = X[i] * 2"), host(), options);
    ASSERT_TRUE(measurer.has_value()) << measurer.error().text();
    const auto bandwidth = (*measurer)->bandwidth();
    ASSERT_TRUE(bandwidth.has_value()) << bandwidth.error().text();
    EXPECT_GT(*bandwidth, 1e6);
    EXPECT_LT(*bandwidth, 1e14);
  }
}

TEST(Loads, OfAMultiplicationAreCountedOnce) {
  const auto loads = [](const char* text) {
    const auto built = builder::build(*te::parse_workload(text), {}, host(), backends());
    EXPECT_TRUE(built.has_value()) << built.error().text();
    return built ? built->loads_per_multiply : -1;
  };
  EXPECT_EQ(loads("X: f32[64]; Y[i] = X[i]"), 0) << "nothing is multiplied";
  EXPECT_DOUBLE_EQ(loads("X: f32[64]; Y[i] = X[i] * 2"), 1);
  EXPECT_DOUBLE_EQ(loads("X: f32[64]; Y[i] = X[i] * X[i]"), 1) << "one load, used twice";
  EXPECT_DOUBLE_EQ(loads("X: f32[64]; Z: f32[64]; Y[i] = X[i] * Z[i]"), 2);
}

// Every vector once, whatever the sizes and threads.
TEST(StreamKernel, ReadsAndWritesEverythingOnce) {
  for (const int threads : {1, 2, 3})
    for (const auto& [read, written] : {std::pair<std::int64_t, std::int64_t>{4, 4},
                                        {4000, 4},
                                        {4, 4000},
                                        {4001, 3999},
                                        {50'000, 9'000},
                                        {9'000, 50'000},
                                        {1 << 20, 1 << 20},
                                        {0, 100}}) {
      SCOPED_TRACE(fmt::format("{} read, {} written, {} threads", read, written, threads));
      Target target = host();
      target.set_threads(threads);
      const flat::Program program = cpu::stream_kernel(target.as_cpu(), read, written);
      const auto sound = flat::verify(program);
      ASSERT_TRUE(sound.has_value()) << sound.error().text();
      const auto& thread = std::get<flat::Region>(program.kernels.at(0).body->value).phases.at(0);
      std::int64_t reads = 0, writes = -1;  // the last write keeps the sums
      for (const flat::Stmt& s : std::get<flat::Seq>(thread.body->value).stmts) {
        writes += std::holds_alternative<flat::Store>(s->value);
        const auto* loop = std::get_if<flat::For>(&s->value);
        if (loop == nullptr) continue;
        const auto* body = std::get_if<flat::Seq>(&loop->body->value);
        const std::vector<flat::Stmt> stmts =
            body != nullptr ? body->stmts : std::vector{loop->body};
        for (const flat::Stmt& inner : stmts) {
          reads +=
              std::holds_alternative<flat::RegWrite>(inner->value) ? *flat::as_int(loop->end) : 0;
          writes +=
              std::holds_alternative<flat::Store>(inner->value) ? *flat::as_int(loop->end) : 0;
        }
      }
      const std::int64_t vector = std::int64_t{threads} * std::max(1, target.as_cpu().lanes(4));
      EXPECT_EQ(reads * vector, program.buffers[0].size);
      EXPECT_EQ(writes * vector, program.buffers[1].size);
      EXPECT_GE(program.buffers[0].size * 4, read);
      EXPECT_GE(program.buffers[1].size * 4, written);
    }
}

}  // namespace
}  // namespace lathe::measure
