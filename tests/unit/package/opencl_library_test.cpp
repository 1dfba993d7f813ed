// Libraries for devices of OpenCL: made, called with the host's memory and with the device's, and
// misused.
#include "unit/package/opencl_library.h"

namespace lathe {
namespace {

TEST_F(OpenclLibrary, ComputesWithTheHostsMemory) {
  std::vector<Case> cases;
  cases.push_back(product());
  cases.push_back(convolution());
  cases.push_back(make({.text = "softmax", .flags = {{"input", "9,100"}}}, "soft"));
  cases.push_back(
      make({.text = "softmax", .flags = {{"input", "9,100"}}}, "any", "opencl:generic"));
  for (const Case& c : cases) {
    lathe_handle* handle = nullptr;
    ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
    ASSERT_EQ(c.library->prepare(handle, c.in->pointers.data()), LATHE_OK)
        << c.library->message(handle);
    for (int again = 0; again < 3; ++again) {
      c.clear();
      ASSERT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data()), LATHE_OK)
          << c.library->message(handle);
      c.expect_right();
    }
    c.library->destroy(handle);
    c.library->destroy(nullptr);
  }
}

// Drivers do not survive a fork: calls would wait for threads that are not there.
TEST_F(OpenclLibrary, RefusesAForkedChild) {
  const Case c = product("forked");
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);
    lathe_handle* own = nullptr;
    const bool refused =
        c.library->run(handle, c.in->pointers.data(), c.out->pointers.data()) ==
            LATHE_DEVICE_FAILED &&
        c.library->create(nullptr, &own) == LATHE_DEVICE_FAILED && own == nullptr &&
        std::string_view(c.library->message(nullptr)).find("forked") != std::string_view::npos;
    c.library->destroy(handle);
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data()), LATHE_OK);
  c.expect_right();
  c.library->destroy(handle);
}

// For programs that open it without its header.
TEST_F(OpenclLibrary, ListsWhatIsInIt) {
  const Case c = convolution();
  const auto* list =
      static_cast<const lathe_library*>(dlsym(c.library->handle, LATHE_LIBRARY_SYMBOL));
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->abi, LATHE_ARTIFACT_ABI);
  ASSERT_EQ(list->count, 1);
  const lathe_artifact& artifact = *list->artifacts[0];
  EXPECT_STREQ(artifact.name, "conv");
  ASSERT_EQ(artifact.module->inputs, 2);
  ASSERT_EQ(artifact.module->outputs, 1);
  EXPECT_STREQ(artifact.tensors[1].name, "W");
  EXPECT_EQ(artifact.tensors[1].constant, 1);
  EXPECT_EQ(artifact.tensors[2].bytes, 4 * 16 * 14 * 14);
}

TEST_F(OpenclLibrary, KeepsItsConstantsOnTheDevice) {
  const Case c = convolution();
  lathe_handle *handle = nullptr, *other = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK);
  ASSERT_EQ(c.library->create(nullptr, &other), LATHE_OK);
  const auto& in = c.in->pointers;
  EXPECT_EQ(c.library->run(handle, in.data(), c.out->pointers.data()), LATHE_NOT_PREPARED);
  EXPECT_STREQ(c.library->message(handle), "prepare was not called, or failed");
  ASSERT_EQ(c.library->prepare(handle, in.data()), LATHE_OK);
  // Another handle has other weights, and the memory of these is not read again.
  for (float& w : c.in->data[1]) w *= 2;
  ASSERT_EQ(c.library->prepare(other, in.data()), LATHE_OK);
  std::ranges::fill(c.in->data[1], 1e30F);
  const DLTensor* without[] = {in[0], nullptr};
  ASSERT_EQ(c.library->run(handle, without, c.out->pointers.data()), LATHE_OK);
  c.expect_right();
  c.clear();
  ASSERT_EQ(c.library->run(other, without, c.out->pointers.data()), LATHE_OK);
  for (float& y : c.out->data[0]) y /= 2;
  c.expect_right();
  // After a prepare that failed nothing runs.
  EXPECT_EQ(c.library->prepare(other, without), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(c.library->message(other), "tensor \"W\" is missing");
  EXPECT_EQ(c.library->run(other, without, c.out->pointers.data()), LATHE_NOT_PREPARED);
  c.library->destroy(other);
  c.clear();
  ASSERT_EQ(c.library->run(handle, without, c.out->pointers.data()), LATHE_OK);
  c.expect_right();
  c.library->destroy(handle);
}

TEST_F(OpenclLibrary, RunsOnBuffersInTheCallersQueue) {
  const Case c = convolution();
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create_on(device_->context(), device_->queue(), &handle), LATHE_OK)
      << c.library->message(nullptr);
  ASSERT_EQ(c.library->prepare(handle, c.in->pointers.data()), LATHE_OK);
  const auto x = buffer(c.in->data[0]), y = buffer(c.out->data[0]);
  void* inputs[] = {x.get(), nullptr};
  void* outputs[] = {y.get()};
  for (void* queue : {static_cast<void*>(nullptr), static_cast<void*>(device_->queue())}) {
    ASSERT_EQ(c.library->run_on(handle, inputs, outputs, queue), LATHE_OK)
        << c.library->message(handle);
    read(y, c.out->data[0]);
    c.expect_right();
    c.clear();
  }
  // The host's memory is copied by the same queue.
  ASSERT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data()), LATHE_OK);
  c.expect_right();
  // The handle keeps what it needs.
  const Case p = product();
  lathe_handle* own = nullptr;
  ASSERT_EQ(p.library->create_on(nullptr, device_->queue(), &own), LATHE_OK);
  device_.reset();
  ASSERT_EQ(p.library->run(own, p.in->pointers.data(), p.out->pointers.data()), LATHE_OK);
  p.expect_right();
  p.library->destroy(own);
  c.library->destroy(handle);
}

TEST_F(OpenclLibrary, RefusesTensorsThatDoNotFit) {
  const Case c = product();
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK);
  const std::vector<DLTensor> views = c.in->views;
  auto& in = c.in->pointers;
  const auto refused = [&](const std::string& why) {
    EXPECT_EQ(c.library->run(handle, in.data(), c.out->pointers.data()), LATHE_INVALID_ARGUMENT)
        << why;
    EXPECT_EQ(c.library->message(handle), why);
    c.in->views[0] = views[0];
    in[0] = c.in->views.data();
  };
  DLTensor& a = c.in->views[0];
  in[0] = nullptr, refused("tensor \"A\" is missing");
  a.ndim = 1, refused("tensor \"A\" has 1 dimensions, not 2");
  a.dtype.bits = 64, refused("tensor \"A\" has elements of f64, not of f32");
  a.device.device_type = kDLOpenCL, refused("tensor \"A\" is not in the processor's memory");
  a.data = nullptr, refused("tensor \"A\" has no data");
  a.data = c.out->data[0].data() + 1, refused("tensors \"A\" and \"C\" overlap in memory");
  std::int64_t shape[] = {24, 41};
  a.shape = shape, refused("tensor \"A\" has extent 41 in dimension 1, not 40");
  EXPECT_EQ(c.library->run(handle, nullptr, c.out->pointers.data()), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->run(nullptr, in.data(), c.out->pointers.data()), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->create(nullptr, nullptr), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->run(handle, in.data(), c.out->pointers.data()), LATHE_OK);
  c.expect_right();
  c.library->destroy(handle);
}

TEST_F(OpenclLibrary, RefusesBuffersAndQueuesThatDoNotFit) {
  const Case c = product();
  lathe_handle* handle = nullptr;
  EXPECT_EQ(c.library->create_on(device_->context(), nullptr, &handle), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(c.library->message(nullptr), "there is no queue");
  const auto other = *opencl::Device::open();
  EXPECT_EQ(c.library->create_on(other->context(), device_->queue(), &handle),
            LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(c.library->message(nullptr), "the queue is of another context");
  EXPECT_EQ(handle, nullptr);
  ASSERT_EQ(c.library->create_on(device_->context(), device_->queue(), &handle), LATHE_OK);
  const auto a = buffer(c.in->data[0]), b = buffer(c.in->data[1]), y = buffer(c.out->data[0]);
  const auto foreign = buffer_in(other->context(), other->queue(), c.in->data[0]);
  const auto refused = [&](void* first, void* out, void* queue, const std::string& why) {
    void* inputs[] = {first, b.get()};
    void* outputs[] = {out};
    EXPECT_EQ(c.library->run_on(handle, inputs, outputs, queue), LATHE_INVALID_ARGUMENT) << why;
    EXPECT_EQ(c.library->message(handle), why);
  };
  refused(nullptr, y.get(), nullptr, "tensor \"A\" is missing");
  refused(buffer({1, 2, 3}).get(), y.get(), nullptr,
          "tensor \"A\" is a buffer of 12 bytes, and needs 3840");
  refused(foreign.get(), y.get(), nullptr, "tensor \"A\" is in another context than the handle");
  refused(a.get(), y.get(), other->queue(), "the queue is of another context than the handle");
  refused(a.get(), b.get(), nullptr, "tensor \"C\" is a buffer of 3168 bytes, and needs 5280");
  const auto large = buffer(std::vector<float>(4096));
  refused(large.get(), large.get(), nullptr, "tensors \"A\" and \"C\" overlap in memory");
  opencl::Code code = 0;
  opencl::Queue disordered =
      api().CreateCommandQueue(device_->context(), device_->id(), opencl::kQueueOutOfOrder, &code);
  if (code == 0) {
    refused(a.get(), y.get(), disordered,
            "the queue works out of order; give one that works in order");
    api().ReleaseCommandQueue(disordered);
  }
  c.library->destroy(handle);
}

TEST_F(OpenclLibrary, SubBuffersMayLieSideBySide) {
  const Case c = product();
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create_on(device_->context(), device_->queue(), &handle), LATHE_OK);
  const auto whole = buffer(std::vector<float>(8192));
  const auto part = [&](std::size_t origin) {
    const opencl::SubRegion region{origin, 8192};
    opencl::Code code = 0;
    return opencl::Owned<opencl::Buffer>(
        api().CreateSubBuffer(whole.get(), opencl::kReadWrite, opencl::kSubRegion, &region, &code),
        [release = api().ReleaseMemObject](opencl::Buffer b) { release(b); });
  };
  const auto a = part(0), y = part(8192), b = buffer(c.in->data[1]), over = part(4096);
  EXPECT_EQ(api().EnqueueWriteBuffer(device_->queue(), a.get(), 1, 0, 4 * c.in->data[0].size(),
                                     c.in->data[0].data(), 0, nullptr, nullptr),
            0);
  void *inputs[] = {a.get(), b.get()}, *outputs[] = {over.get()};
  // A ends before the 4096th byte, C does not reach behind the second half.
  ASSERT_EQ(c.library->run_on(handle, inputs, outputs, nullptr), LATHE_OK)
      << c.library->message(handle);
  read(over, c.out->data[0]);
  c.expect_right();
  inputs[0] = over.get(), outputs[0] = y.get();
  ASSERT_EQ(c.library->run_on(handle, inputs, outputs, nullptr), LATHE_OK);
  inputs[0] = a.get(), outputs[0] = a.get();
  EXPECT_EQ(c.library->run_on(handle, inputs, outputs, nullptr), LATHE_INVALID_ARGUMENT);
  c.library->destroy(handle);
}

// How create() fails with these variables.
std::string refusal(const DeviceLibrary& library, const char* variable, const char* value) {
  ::setenv(variable, value, 1);
  lathe_handle* handle = nullptr;
  EXPECT_EQ(library.create(nullptr, &handle), LATHE_NO_DEVICE);
  EXPECT_EQ(handle, nullptr);
  ::unsetenv(variable);
  return library.message(nullptr);
}

TEST_F(OpenclLibrary, SaysWhatIsMissing) {
  const Case c = product();
  EXPECT_EQ(refusal(*c.library, "LATHE_OPENCL_LIBRARY", "/none"),
            "OpenCL's library /none cannot be opened; install ocl-icd-libopencl1 and the device's "
            "driver, or pocl-opencl-icd to run OpenCL programs on the processor");
  EXPECT_EQ(refusal(*c.library, "LATHE_OPENCL_LIBRARY", "libc.so.6"),
            "OpenCL's library libc.so.6 has no clGetPlatformIDs; install one of version 1.2 or "
            "later, as ocl-icd-libopencl1");
  EXPECT_EQ(refusal(*c.library, "LATHE_OPENCL_DEVICE", "nothing that is"),
            "no device of OpenCL is called nothing that is, as LATHE_OPENCL_DEVICE asks; unset it, "
            "or give a part of another's name");
  lathe_handle* handle = nullptr;
  EXPECT_EQ(c.library->create(nullptr, &handle), LATHE_OK);
  c.library->destroy(handle);
}

TEST_F(OpenclLibrary, TheExampleCallsIt) {
  const Case c = convolution();
  const std::string line = fmt::format(
      "cd {} && {} -std=c99 -Wall -Wextra -pedantic -Werror conv_example.c -I. ./conv.so -o "
      "example "
      "&& ./example > out && ! OCL_ICD_VENDORS=/nowhere ./example 2> errors",
      folder_.path().string(), LATHE_CC);
  ASSERT_EQ(std::system(line.c_str()), 0) << line;
  const auto content = [&](const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(folder_.at(name)).rdbuf();
    return text.str();
  };
  EXPECT_TRUE(content("out").starts_with("Y[0] = ")) << content("out");
  EXPECT_TRUE(content("errors").starts_with("create: OpenCL has no platform on this machine;"))
      << content("errors");
  const std::string header = content("conv.h");
  EXPECT_TRUE(header.contains("int32_t lathe_conv_run_on(lathe_conv* handle, void* const* inputs"))
      << header;
  std::istringstream lines(header);
  for (std::string one; std::getline(lines, one);) EXPECT_LE(one.size(), 100U) << one;
  const std::string needed = fmt::format(
      "readelf -d {} | grep NEEDED | grep -v -e 'libc.so' -e ld-linux", c.files.library);
  EXPECT_NE(std::system(needed.c_str()), 0) << "it needs more than libc";
}

}  // namespace
}  // namespace lathe
