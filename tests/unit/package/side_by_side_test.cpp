// Several exported libraries in one program, in one process, and in a forked child.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "compiler/codegen/package/package.h"
#include "runtime/artifact/artifact.h"
#include "support/temporary_folder.h"
#include "unit/package/exported.h"

namespace lathe::package {
namespace {

struct Machine {
  const char* target;
  const char* cc;
  const char* run;  // what runs its programs; empty: this machine does
};
constexpr Machine kHere = {"cpu:host", LATHE_CC, ""};
constexpr Machine kAArch64 = {"cpu:cortex-a72;isa=aarch64", LATHE_CC_AARCH64, LATHE_RUN_AARCH64};

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Prints the first and the last number of Y where X is 0, 1, 2 ...
constexpr const char* kUser = R"(
#include "twice.h"
#include "hundred.h"
#include <stdio.h>
#include <string.h>
#define USE(NAME, SIZE)                                                        \
  {                                                                            \
    static float x[SIZE], y[SIZE];                                             \
    int64_t shape[] = {SIZE};                                                  \
    int i;                                                                     \
    DLTensor tx, ty;                                                           \
    const DLTensor* inputs[] = {&tx};                                          \
    DLTensor* outputs[] = {&ty};                                               \
    lathe_##NAME* handle;                                                      \
    memset(&tx, 0, sizeof tx);                                                 \
    for (i = 0; i < SIZE; ++i) x[i] = (float)i;                                \
    tx.device.device_type = kDLCPU;                                            \
    tx.ndim = 1;                                                               \
    tx.dtype.code = kDLFloat;                                                  \
    tx.dtype.bits = 32;                                                        \
    tx.dtype.lanes = 1;                                                        \
    tx.shape = shape;                                                          \
    ty = tx;                                                                   \
    tx.data = x;                                                               \
    ty.data = y;                                                               \
    if (lathe_##NAME##_create(NULL, &handle) != LATHE_OK) return 1;            \
    if (lathe_##NAME##_run(handle, inputs, outputs) != LATHE_OK) {             \
      fprintf(stderr, "%s\n", lathe_##NAME##_message(handle));                 \
      return 2;                                                                \
    }                                                                          \
    lathe_##NAME##_destroy(handle);                                            \
    printf("%s %g %g\n", #NAME, (double)y[0], (double)y[SIZE - 1]);            \
  }
int main(void) {
  USE(twice, 7)
  USE(hundred, 100003)
  return 0;
}
)";

// A forked child and then its parent use one handle whose loops run on threads. Prints how the
// child ended.
constexpr const char* kForking = R"(
#include "double.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static float x[1000], y[1000];
static int run(lathe_double* handle) {
  int64_t shape[] = {1000};
  DLTensor tx, ty;
  const DLTensor* inputs[] = {&tx};
  DLTensor* outputs[] = {&ty};
  int i;
  memset(&tx, 0, sizeof tx);
  tx.device.device_type = kDLCPU;
  tx.ndim = 1;
  tx.dtype.code = kDLFloat;
  tx.dtype.bits = 32;
  tx.dtype.lanes = 1;
  tx.shape = shape;
  ty = tx;
  tx.data = x;
  ty.data = y;
  for (i = 0; i < 1000; ++i) x[i] = 21.0f, y[i] = 0.0f;
  if (lathe_double_run(handle, inputs, outputs) != LATHE_OK) return 2;
  for (i = 0; i < 1000; ++i) if (y[i] != 42.0f) return 3;
  return 0;
}
int main(void) {
  lathe_double* handle;
  int status = -1, i;
  if (lathe_double_create(NULL, &handle) != LATHE_OK || run(handle) != 0) return 1;
  for (i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20); /* where it hangs */
      status = run(handle);
      lathe_double_destroy(handle);
      _exit(status);
    }
    waitpid(child, &status, 0);
    printf("%d %d\n", status, run(handle));
  }
  lathe_double_destroy(handle);
  return 0;
}
)";

class SideBySide : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.at(name); }
  void write(const std::string& name, const std::string& text, const Target& t,
             const std::string& file) const {
    const auto written =
        write_artifact(name, lowered(text, t), t, codegen::llvm_backend(), at(file));
    ASSERT_TRUE(written) << written.error().text();
  }
  void write(const std::string& name, const std::string& text, const Target& t) const {
    write(name, text, t, name + ".so");
  }
  void write_two(const Target& t) const {
    write("twice", "X: f32[7]; Y[i] = X[i] * 2", t);
    write("hundred", "X: f32[100003]; Y[i] = X[i] + 100", t);
  }
  void expect_both_linked(const Machine& machine) const {
    write_two(target(machine.target));
    std::ofstream(at("user.c")) << kUser;
    for (const char* order : {"./twice.so ./hundred.so", "./hundred.so ./twice.so"}) {
      const std::string command = fmt::format(
          "cd {} && {} -std=c99 -pedantic -Wall -Wextra -Werror user.c -I. {} -o user && {} ./user "
          "> out",
          folder_.path().string(), machine.cc, order, machine.run);
      ASSERT_EQ(std::system(command.c_str()), 0) << command;
      EXPECT_EQ(content(at("out")), "twice 0 12\nhundred 100 100102\n") << order;
    }
  }
  // What the library defines for others, and what its header declares.
  void expect_only_the_headers_functions(const Target& t) const {
    write("twice", "X: f32[7]; const W: f32[7]; Y[i] = X[i] * W[i]", t);
    ASSERT_EQ(std::system(
                  fmt::format("nm -D --defined-only {} > {}", at("twice.so"), at("names")).c_str()),
              0);
    std::set<std::string> visible, declared = {LATHE_LIBRARY_SYMBOL, "__tvm_ffi_twice"};
    std::istringstream names(content(at("names")));
    for (std::string address, kind, name; names >> address >> kind >> name;) visible.insert(name);
    for (const char* action : {"create", "prepare", "run", "destroy", "message"}) {
      declared.insert(fmt::format("lathe_twice_{}", action));
      EXPECT_NE(content(at("twice.h")).find(fmt::format("lathe_twice_{}(", action)),
                std::string::npos);
    }
    EXPECT_EQ(visible, declared);
  }

  const test::TemporaryFolder folder_;
};

TEST_F(SideBySide, TwoAreLinkedIntoOneProgramInEitherOrder) { expect_both_linked(kHere); }

TEST_F(SideBySide, TwoForAnotherMachineAreLinkedIntoOneProgram) {
  if (std::string(kAArch64.cc).empty() || std::string(kAArch64.run).empty())
    GTEST_SKIP() << "aarch64-linux-gnu-gcc, its C++ compiler or qemu-aarch64 was not found";
  expect_both_linked(kAArch64);
}

TEST_F(SideBySide, OnlyTheFunctionsOfTheHeaderAreVisible) {
  expect_only_the_headers_functions(target("cpu:host;threads=2"));
  if (!std::string(kAArch64.cc).empty()) expect_only_the_headers_functions(target(kAArch64.target));
}

// Y[i] = X[i] + added, for a size of its own.
struct Adding {
  std::unique_ptr<Library> library;
  std::int64_t size;
  float added;
};

void expect_sums(const Adding& adding, int runs) {
  lathe_handle* handle = nullptr;
  ASSERT_EQ(adding.library->create(nullptr, &handle), LATHE_OK);
  std::int64_t shape[1] = {adding.size};
  std::vector<float> x(static_cast<std::size_t>(adding.size), 3), y(x.size());
  const DLTensor x_view = view(x, shape, 1);
  DLTensor y_view = view(y, shape, 1);
  const DLTensor* inputs[] = {&x_view};
  DLTensor* outputs[] = {&y_view};
  for (int r = 0; r < runs; ++r) {
    std::ranges::fill(y, -1.F);
    ASSERT_EQ(adding.library->run(handle, inputs, outputs), LATHE_OK)
        << adding.library->message(handle);
    for (const float got : y) ASSERT_EQ(got, 3 + adding.added);
  }
  // Its own messages, too.
  shape[0] = adding.size + 1;
  ASSERT_EQ(adding.library->run(handle, inputs, outputs), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(adding.library->message(handle),
            fmt::format("tensor \"X\" has extent {} in dimension 0, not {}", adding.size + 1,
                        adding.size));
  adding.library->destroy(handle);
}

TEST_F(SideBySide, TwentyLoadedGloballyRunFromSeveralThreadsAtOnce) {
  const Target t = target("cpu:host");
  std::vector<Adding> all;
  for (int n = 0; n < 20; ++n) {
    // Some have one name: a handle of the loader tells them apart.
    const std::string name = n % 2 == 0 ? "add" : fmt::format("add{}", n),
                      file = fmt::format("{}.so", n);
    const std::int64_t size = 1 + 37 * n * n;
    write(name, fmt::format("X: f32[{}]; Y[i] = X[i] + {}", size, n), t, file);
    all.push_back(
        {std::make_unique<Library>(at(file), name, RTLD_GLOBAL), size, static_cast<float>(n)});
  }
  for (const Adding& adding : all) expect_sums(adding, 1);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      // Each library on two threads at least.
      for (int n = 0; n < 20; ++n)
        expect_sums(all[static_cast<std::size_t>((n + 5 * thread) % 20)], 20);
    });
  for (auto& thread : threads) thread.join();
}

// A handle of a library whose loops run on three threads.
class Doubling {
 public:
  explicit Doubling(const Library& library) : library_(library) {
    EXPECT_EQ(library_.create(nullptr, &handle_), LATHE_OK);
  }
  ~Doubling() { library_.destroy(handle_); }
  bool works() {
    std::vector<float> x(1000, 21), y(x.size());
    std::int64_t shape[1] = {1000};
    const DLTensor x_view = view(x, shape, 1);
    DLTensor y_view = view(y, shape, 1);
    const DLTensor* inputs[] = {&x_view};
    DLTensor* outputs[] = {&y_view};
    return library_.run(handle_, inputs, outputs) == LATHE_OK && y == std::vector<float>(1000, 42);
  }

 private:
  const Library& library_;
  lathe_handle* handle_ = nullptr;
};

TEST_F(SideBySide, HandlesWithThreadsOfTheirOwnRunAtOnce) {
  const Target t = target("cpu:host;threads=3");
  ASSERT_TRUE(write_artifact("dense", doubled_in_parallel(t, 1000), t, codegen::llvm_backend(),
                             at("dense.so")));
  const Library library(at("dense.so"), "dense");
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      Doubling doubling(library);
      for (int r = 0; r < 100; ++r) ASSERT_TRUE(doubling.works());
    });
  for (auto& thread : threads) thread.join();
}

// On this machine only: the emulator does not let a forked child start threads.
TEST_F(SideBySide, AForkedChildUsesTheHandleOfItsParent) {
  const Target t = target("cpu:host;threads=3");
  ASSERT_TRUE(write_artifact("double", doubled_in_parallel(t, 1000), t, codegen::llvm_backend(),
                             at("double.so")));
  std::ofstream(at("forking.c")) << kForking;
  const std::string command =
      fmt::format("cd {} && {} forking.c -I. ./double.so -o forking && ./forking > out",
                  folder_.path().string(), LATHE_CC);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  EXPECT_EQ(content(at("out")), "0 0\n0 0\n");
}

}  // namespace
}  // namespace lathe::package
