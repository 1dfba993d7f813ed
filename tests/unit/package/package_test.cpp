// Artifacts: made, compiled against in C, used and misused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "compiler/codegen/package/package.h"
#include "compiler/te/parse.h"
#include "oracle/te_eval.h"
#include "support/temporary_folder.h"
#include "unit/package/exported.h"

namespace lathe::package {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDense =
    "X: f32[5,7]; const W: f32[7,19]; const B: f32[19]; Y[i,j] = max(sum(k) X[i,k] * W[k,j] + "
    "B[j], 0)";

class Package : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.at(name); }

  const test::TemporaryFolder folder_;
};

std::vector<double> expected_dense() {
  const auto workload = te::parse_workload(kDense);
  std::vector<interp::Tensor> inputs(3);
  const auto fill = [&](int i, std::vector<std::int64_t> shape, auto element) {
    inputs[i].shape = shape;
    const auto size =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    for (int e = 0; e < size; ++e) inputs[i].values.push_back(element(e));
  };
  fill(0, {5, 7}, [](int e) { return (e % 7 - 3) * 0.25; });
  fill(1, {7, 19}, [](int e) { return e % 5 - 2; });
  fill(2, {19}, [](int e) { return e % 3 * 0.5; });
  return interp::evaluate(*workload, inputs)->front().values;
}

TEST_F(Package, TheExampleInCComputesTheExpression) {
  for (const char* text : {"cpu:host", "cpu:host;threads=3"}) {
    const Target t = target(text);
    const auto artifact =
        write_artifact("dense", lowered(kDense, t), t, codegen::llvm_backend(), at("dense.so"));
    ASSERT_TRUE(artifact) << artifact.error().text();
    EXPECT_EQ(artifact->header, at("dense.h"));
    const std::string command = fmt::format(
        "cd {} && {} -std=c99 -pedantic -Wall -Werror {} -I. ./dense.so -o dense && ./dense > out",
        folder_.path().string(), LATHE_CC, LATHE_EXAMPLE);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream out(at("out"));
    for (const double want : expected_dense()) {
      double got = 0;
      ASSERT_TRUE(out >> got);
      EXPECT_FLOAT_EQ(got, want);
    }
    // Nothing else was left in the folder.
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"dense", "dense.h", "dense.so", "out"}));
  }
}

// The tensors of kDense.
struct Tensors {
  std::vector<float> x = std::vector<float>(35, 0.5F), w = std::vector<float>(133, 2),
                     b = std::vector<float>(19, 1), y = std::vector<float>(95, -1);
  std::int64_t x_shape[2] = {5, 7}, w_shape[2] = {7, 19}, b_shape[1] = {19}, y_shape[2] = {5, 19};
  DLTensor tx = view(x, x_shape, 2), tw = view(w, w_shape, 2), tb = view(b, b_shape, 1),
           ty = view(y, y_shape, 2);
  const DLTensor* inputs[3] = {&tx, &tw, &tb};
  DLTensor* outputs[1] = {&ty};
};

TEST_F(Package, MisuseIsAnsweredWithAStatusAndAMessage) {
  const Target t = target("cpu:host");
  ASSERT_TRUE(
      write_artifact("dense", lowered(kDense, t), t, codegen::llvm_backend(), at("dense.so")));
  const Library library(at("dense.so"), "dense");
  Tensors tensors;
  lathe_handle* handle = nullptr;
  ASSERT_EQ(library.create(nullptr, &handle), LATHE_OK);
  EXPECT_EQ(library.run(handle, tensors.inputs, tensors.outputs), LATHE_NOT_PREPARED);

  const auto refused = [&](const char* part) {
    EXPECT_EQ(library.run(handle, tensors.inputs, tensors.outputs), LATHE_INVALID_ARGUMENT) << part;
    EXPECT_NE(std::string(library.message(handle)).find(part), std::string::npos)
        << library.message(handle);
    tensors.tx = view(tensors.x, tensors.x_shape, 2);
    tensors.ty = view(tensors.y, tensors.y_shape, 2);
    tensors.inputs[0] = &tensors.tx;
  };
  tensors.tw.data = nullptr;
  EXPECT_EQ(library.prepare(handle, tensors.inputs), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(library.message(handle), "tensor \"W\" has no data");
  tensors.tw.data = tensors.w.data();
  ASSERT_EQ(library.prepare(handle, tensors.inputs), LATHE_OK);

  tensors.inputs[0] = nullptr, refused("is missing");
  tensors.tx.ndim = 3, refused("3 dimensions, not 2");
  std::int64_t other[2] = {5, 8};
  tensors.tx.shape = other, refused("extent 8 in dimension 1, not 7");
  tensors.tx.dtype.bits = 64, refused("has elements of f64, not of f32");
  tensors.tx.device.device_type = kDLCUDA, refused("memory");
  std::int64_t transposed[2] = {1, 5};
  tensors.tx.strides = transposed, refused("row-major");
  tensors.tx.byte_offset = 2, refused("multiple of its element size");
  tensors.ty.data = tensors.x.data() + 3, refused("overlap");
  EXPECT_EQ(library.run(nullptr, tensors.inputs, tensors.outputs), LATHE_INVALID_ARGUMENT);

  // Constants are not needed any more, row-major strides may be stated, data may begin anywhere.
  tensors.inputs[1] = tensors.inputs[2] = nullptr;
  std::int64_t strides[2] = {7, 1};
  tensors.tx.strides = strides;
  std::vector<float> shifted(96);
  tensors.ty.data = shifted.data();
  tensors.ty.byte_offset = 4;
  EXPECT_EQ(library.run(handle, tensors.inputs, tensors.outputs), LATHE_OK)
      << library.message(handle);
  EXPECT_EQ(shifted[0], 0);
  for (std::size_t i = 1; i < shifted.size(); ++i) ASSERT_EQ(shifted[i], 8) << i;
  library.destroy(handle);
  library.destroy(nullptr);

  const lathe_parallel empty{nullptr, nullptr, 2};
  EXPECT_EQ(library.create(&empty, &handle), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(handle, nullptr);
  EXPECT_NE(std::string(library.message(nullptr)).find("from 1 to 65536 threads"),
            std::string::npos);
}

TEST_F(Package, AfterAFailedPrepareNothingRuns) {
  const Target t = target("cpu:host");
  ASSERT_TRUE(
      write_artifact("dense", lowered(kDense, t), t, codegen::llvm_backend(), at("dense.so")));
  const Library library(at("dense.so"), "dense");
  Tensors tensors;
  lathe_handle* handle = nullptr;
  ASSERT_EQ(library.create(nullptr, &handle), LATHE_OK);
  const auto fails = [&](const DLTensor* const* inputs) {
    ASSERT_EQ(library.prepare(handle, tensors.inputs), LATHE_OK);
    ASSERT_EQ(library.run(handle, tensors.inputs, tensors.outputs), LATHE_OK);
    ASSERT_EQ(library.prepare(handle, inputs), LATHE_INVALID_ARGUMENT);
    EXPECT_EQ(library.run(handle, tensors.inputs, tensors.outputs), LATHE_NOT_PREPARED);
  };
  fails(nullptr);
  const DLTensor* missing[] = {&tensors.tx, &tensors.tw, nullptr};
  fails(missing);
  ASSERT_EQ(library.prepare(handle, tensors.inputs), LATHE_OK);
  EXPECT_EQ(library.run(handle, tensors.inputs, tensors.outputs), LATHE_OK);
  library.destroy(handle);
}

TEST_F(Package, ACallersParallelForRunsTheLoops) {
  const Target t = target("cpu:host;threads=2");
  const flat::Program p = doubled_in_parallel(t, 35);
  ASSERT_TRUE(write_artifact("dense", p, t, codegen::llvm_backend(), at("dense.so")));
  const Library library(at("dense.so"), "dense");
  std::int64_t calls = 0;
  const lathe_parallel parallel{[](void* self, std::int64_t count, lathe_body body, void* context) {
                                  ++*static_cast<std::int64_t*>(self);
                                  body(context, 0, count / 2, 0);
                                  body(context, count / 2, count, 1);
                                },
                                &calls, 2};
  std::vector<float> in(35), out(35);
  std::iota(in.begin(), in.end(), 0.F);
  std::int64_t shape[1] = {35};
  const DLTensor x_view = view(in, shape, 1);
  DLTensor y_view = view(out, shape, 1);
  const DLTensor* inputs[] = {&x_view};
  DLTensor* outputs[] = {&y_view};
  lathe_handle* handle = nullptr;
  ASSERT_EQ(library.create(&parallel, &handle), LATHE_OK);
  ASSERT_EQ(library.run(handle, inputs, outputs), LATHE_OK) << library.message(handle);
  EXPECT_EQ(calls, 1);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 2 * in[i]);
  library.destroy(handle);
}

TEST_F(Package, NeedsLibcOnly) {
  const Target t = target("cpu:host;threads=2");
  ASSERT_TRUE(
      write_artifact("dense", lowered(kDense, t), t, codegen::llvm_backend(), at("dense.so")));
  const std::string command =
      fmt::format("readelf -d {} | grep NEEDED > {}", at("dense.so"), at("needed"));
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream in(at("needed"));
  for (std::string line; std::getline(in, line);)
    EXPECT_TRUE(line.find("libc.so") != std::string::npos ||
                line.find("ld-linux") != std::string::npos)
        << line;
}

TEST_F(Package, OtherMachinesGetLibrariesToo) {
  if (std::string(LATHE_ARTIFACT_AARCH64).empty())
    GTEST_SKIP() << "aarch64-linux-gnu-g++ was not found";
  const Target t = target("cpu:cortex-a72;isa=aarch64");
  const auto artifact =
      write_artifact("dense", lowered(kDense, t), t, codegen::llvm_backend(), at("dense.so"));
  ASSERT_TRUE(artifact) << artifact.error().text();
  EXPECT_GT(fs::file_size(artifact->library), 1000U);
}

TEST_F(Package, RefusesWhatCannotBeWrittenOrNamed) {
  const Target t = target("cpu:host");
  const flat::Program p = lowered(kDense, t);
  EXPECT_EQ(write_artifact("a-b", p, t, codegen::llvm_backend(), at("x.so")).error().kind,
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(write_artifact("", p, t, codegen::llvm_backend(), at("x.so")).error().kind,
            ErrorKind::kInvalidArgument);
  // Names that every header or library has.
  for (const char* name : {"parallel", "artifact"})
    EXPECT_EQ(write_artifact(name, p, t, codegen::llvm_backend(), at("x.so")).error().message,
              fmt::format("\"{0}\" cannot name an artifact: lathe_{0} has a meaning of its own; "
                          "give another name",
                          name));
  EXPECT_EQ(write_artifact("dense", p, t, codegen::llvm_backend(), at("x.h")).error().kind,
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(write_artifact("dense", p, t, codegen::llvm_backend(), at("no/such/folder/x.so"))
                .error()
                .kind,
            ErrorKind::kIo);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST(Header, StatesHowTensorsAreStored) {
  flat::Program p;
  p.inputs.push_back({.name = "X",
                      .shape = {3, 32},
                      .layout = {{1, 16, 2, 48}, {0, 1, 3, 16}, {1, 1, 16, 1}},
                      .size = 96});
  p.outputs.push_back({.name = "Y",
                       .dtype = Dtype::kF16,
                       .shape = {3, 1},
                       .layout = {{0, 1, 3, 1}, {1, 1, 1, 1}},
                       .size = 3});
  const std::string remark =
      "The program is a test, and this sentence is long enough to need a second "
      "line of the comment that it stands in.";
  const std::string text = header_text("net", p, target("cpu:host"), {"First.", remark});
  EXPECT_NE(text.find("inputs[0]  X: f32 [3, 32],"), std::string::npos) << text;
  EXPECT_NE(text.find("48 * (i1 / 16) + 16 * i0 + (i1 % 16);"), std::string::npos) << text;
  EXPECT_NE(text.find("outputs[0]  Y: f16 [3, 1], row-major"), std::string::npos) << text;
  EXPECT_NE(
      text.find(" *\n * First.\n *\n * The program is a test, and this sentence is long enough to "
                "need a second line of the comment that\n * it stands in.\n */\n#ifndef "
                "LATHE_ARTIFACT_net_H_\n"),
      std::string::npos)
      << text;
}

}  // namespace
}  // namespace lathe::package
