// Libraries for devices of OpenCL with programs written by hand, which no compiler of ours makes.
#include "runtime/device/opencl/program.h"
#include "unit/package/opencl_library.h"

namespace lathe {
namespace {

// Images written by hand, for what no compiler of ours makes.
opencl::Image& handmade() {
  static opencl::Image image;
  return image;
}

class HandmadeLibrary : public OpenclLibrary {
 protected:
  void SetUp() override {
    OpenclLibrary::SetUp();
    handmade() = {};
    handmade().source =
        "__kernel void f(__global const float* x, __global float* y) {\n"
        "  y[get_global_id(0)] = x[get_global_id(0)] + 1;\n}\n";
    handmade().options = "-cl-std=CL1.2";
    handmade().inputs = handmade().outputs = {256};
    handmade().run = {
        {"f", {{opencl::Area::kInput, 0}, {opencl::Area::kOutput, 0}}, {8, 1, 1}, {8, 1, 1}}};
  }
  // How create() of a library with that image answers; empty if it works.
  std::string answer(int status) {
    codegen::Backend backend = codegen::opencl_backend();
    backend.generate = [](const flat::Program&, const Target&,
                          const codegen::Exported&) -> Result<codegen::Object> {
      return codegen::Object{.bytes = opencl::bytes_of(handmade())};
    };
    const Target target = *api::make_target("opencl:generic", 0);
    const package::Host host{*api::make_target("cpu:host", 1), codegen::llvm_backend()};
    flat::Program program;
    program.inputs = {{.name = "X", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
    program.outputs = {{.name = "Y", .shape = {64}, .layout = {{0, 1, 64, 1}}, .size = 64}};
    const std::string path = folder_.at("f" + std::to_string(++made_) + ".so");
    const auto written = package::write_artifact("f", program, target, backend, path, {}, &host);
    EXPECT_TRUE(written) << written.error().text();
    const DeviceLibrary library(path, "f");
    lathe_handle* handle = nullptr;
    EXPECT_EQ(library.create(nullptr, &handle), status);
    std::string message = handle == nullptr ? library.message(nullptr) : "";
    library.destroy(handle);
    return message;
  }

 private:
  int made_ = 0;
};

TEST_F(HandmadeLibrary, SaysWhyADeviceCannotRunIt) {
  EXPECT_EQ(answer(LATHE_OK), "");
  const opencl::Image right = handmade();
  handmade().extensions = {"cl_khr_none"};
  EXPECT_EQ(answer(LATHE_NO_DEVICE),
            "the device cannot run this program: it lacks the extension cl_khr_none");
  handmade() = right;
  handmade().run[0].items = {std::int64_t{1} << 20, 1, 1};
  EXPECT_EQ(answer(LATHE_NO_DEVICE),
            fmt::format("the device cannot run this program: a group of f has 1048576 work items, "
                        "and it allows {}",
                        device_->facts().group_size));
  handmade() = right;
  handmade().local_bytes = std::int64_t{1} << 40;
  EXPECT_TRUE(answer(LATHE_NO_DEVICE).contains("it needs 1099511627776 bytes of local memory"));
  handmade() = right;
  handmade().scratch_bytes = std::int64_t{1} << 60;
  EXPECT_TRUE(answer(LATHE_NO_DEVICE).contains("a buffer has 1152921504606846976 bytes"));
}

TEST_F(HandmadeLibrary, WithMoreLocalMemoryThanThereIsIsRefused) {
  handmade().source = fmt::format(
      "__kernel void f(__global const float* x, __global float* y) {{\n"
      "  __local float all[{}];\n  all[get_local_id(0)] = x[get_global_id(0)];\n"
      "  barrier(CLK_LOCAL_MEM_FENCE);\n  y[get_global_id(0)] = all[7 - get_local_id(0)];\n}}\n",
      device_->facts().local_bytes / 4 + 1024);
  // Some drivers, as PoCL 6, do not tell it before the kernel runs: the runner asks them, too.
  const bool told = !opencl::Program::build(*device_, handmade(), {});
  EXPECT_EQ(answer(told ? LATHE_NO_DEVICE : LATHE_OK).contains("f uses "), told);
}

TEST_F(HandmadeLibrary, TellsWhatTheCompilerSaid) {
  handmade().source = "__kernel void f(__global const float* x, __global float* y) { none; }\n";
  const std::string message = answer(LATHE_DEVICE_FAILED);
  EXPECT_TRUE(message.starts_with("OpenCL's compiler refuses the program: ")) << message;
  EXPECT_TRUE(message.contains("error")) << message;
  handmade().source = "__kernel void other(__global float* x) { x[0] = 0; }\n";
  EXPECT_EQ(answer(LATHE_DEVICE_FAILED),
            "the device does not take a kernel of the program (CL_INVALID_KERNEL_NAME)");
}

TEST(OpenclArtifact, NeedsAProcessorThatCallsIt) {
  const test::TemporaryFolder folder;
  codegen::Backend backend = codegen::opencl_backend();
  backend.generate = [](const flat::Program&, const Target&,
                        const codegen::Exported&) -> Result<codegen::Object> {
    return codegen::Object{};
  };
  const auto written = package::write_artifact("f", {}, *api::make_target("opencl:generic", 0),
                                               backend, folder.at("f.so"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace lathe
