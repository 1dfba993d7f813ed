// Libraries for cards of NVIDIA: made, called with memory of the card, and misused.
#include <thread>

#include "unit/package/cuda_library.h"

namespace lathe {
namespace {

void expect_computes(const CardCase& c, void* stream) {
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
  ASSERT_EQ(c.library->prepare(handle, c.in->pointers.data(), stream), LATHE_OK)
      << c.library->message(handle);
  for (int again = 0; again < 2; ++again) {
    c.clear();
    ASSERT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), stream),
              LATHE_OK)
        << c.library->message(handle);
    EXPECT_EQ(c.fault(), "");
  }
  c.library->destroy(handle);
  c.library->destroy(nullptr);
}

// A softmax of columns, whose stages are kernels of their own, with what they hand on in scratch.
constexpr const char* kColumns =
    "X: f32[9,100]; E[i,j] = exp(X[i,j] - (max(k) X[k,j])); Y[i,j] = E[i,j] / (sum(k) E[k,j])";

TEST_F(CudaLibrary, ComputesOnTheCard) {
  use_card();
  std::vector<CardCase> cases;
  cases.push_back(make(product(), "product"));
  cases.push_back(make(convolution(), "conv", "cuda:H200"));
  cases.push_back(make({.text = "softmax", .flags = {{"input", "9,100"}}}, "soft"));
  cases.push_back(make({.text = kColumns}, "columns"));
  cases.push_back(make({.text = "Y[one:1] = sum(i,j) X[i,j]", .shapes = {"X=1001,7"}}, "sum"));
  cases.push_back(
      make({.text = "S[i] = sum(j) A[i,j]; M[i] = max(j) A[i,j]", .shapes = {"A=5,83"}}, "two"));
  cases.push_back(make({.text = "output T: f32[13]; T[i] = X[i] * X[i]; Y[i,j] = T[i] + Z[j]",
                        .shapes = {"X=13", "Z=5"}},
                       "declared"));
  cases.push_back(make({.text = "Y[i,j] = sum(k) A[i,k] * B[k,j]",
                        .shapes = {"A=17,31", "B=31,3"},
                        .dtypes = {"f64"}},
                       "doubles"));
  cases.push_back(make({.text = "Y[i,j] = sum(k) A[i,k] * B[k,j]",
                        .shapes = {"A=5,19", "B=19,7"},
                        .dtypes = {"f16"}},
                       "halves"));
  cases.push_back(make({.text = "Y[i] = X[i] + X[i]", .shapes = {"X=1"}, .dtypes = {"i8"}}, "one"));
  for (const CardCase& c : cases) {
    SCOPED_TRACE(c.files.name);
    expect_computes(c, nullptr);
    expect_computes(c, stream());
  }
}

// No context is current before, and then it is the primary one; another thread has none.
TEST_F(CudaLibrary, BringsItsContextAlong) {
  cuda::Context context = nullptr;
  CardCase c = write(product(), "product");
  c.library = std::make_unique<CardLibrary>(c.files.library, c.files.name);
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
  EXPECT_EQ(driver().CtxGetCurrent(&context), 0);
  EXPECT_EQ(context, nullptr) << "create leaves nothing current";
  use_card();
  open(c);
  std::thread([&] {
    EXPECT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), nullptr),
              LATHE_OK)
        << c.library->message(handle);
    cuda::Context left = nullptr;
    driver().CtxGetCurrent(&left);
    EXPECT_EQ(left, nullptr);
  }).join();
  EXPECT_EQ(c.fault(), "");
  c.library->destroy(handle);
  // A context of the caller's own is taken as it is.
  new_context(0);
  expect_computes(c, nullptr);
  expect_computes(c, stream());
}

// What run() calls: it allocates nothing, and waits for nothing.
TEST_F(CudaLibrary, RunOnlyGivesKernelsToTheStream) {
  use_card();
  const CardCase c = make({.text = kColumns}, "columns");
  const auto* list =
      static_cast<const lathe_library*>(dlsym(c.library->handle, LATHE_LIBRARY_SYMBOL));
  ASSERT_GT(list->artifacts[0]->module->workspace_bytes, 0) << "one with scratch shows more";
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
  cuda::Stream const own = stream();
  auto before = calls();
  ASSERT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), own), LATHE_OK);
  int launched = 0;
  for (const auto& [name, count] : calls()) {
    if (count == before[name]) continue;
    EXPECT_TRUE(name == "cuCtxPushCurrent_v2" || name == "cuCtxPopCurrent_v2" ||
                name == "cuStreamGetCtx" || name == "cuPointerGetAttribute" ||
                name == "cuLaunchKernel")
        << name;
    if (name == "cuLaunchKernel") launched = static_cast<int>(count - before[name]);
  }
  EXPECT_GT(launched, 1) << "a program of several kernels shows more";
  EXPECT_EQ(c.fault(), "");
  c.library->destroy(handle);
}

TEST_F(CudaLibrary, CanBeCapturedInAGraph) {
  use_card();
  const CardCase c = make(convolution(), "conv");
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
  cuda::Stream const own = stream();
  const auto& in = c.in->pointers;
  ASSERT_EQ(driver().StreamBeginCapture(own, 0), 0);
  EXPECT_EQ(c.library->prepare(handle, in.data(), own), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(c.library->message(handle),
               "prepare waits, so it cannot be captured in a graph; call it before");
  cuda::Graph graph = nullptr;
  ASSERT_EQ(driver().StreamEndCapture(own, &graph), 0);
  driver().GraphDestroy(graph);
  ASSERT_EQ(c.library->prepare(handle, in.data(), own), LATHE_OK) << c.library->message(handle);
  ASSERT_EQ(driver().StreamBeginCapture(own, 0), 0);
  ASSERT_EQ(c.library->run(handle, in.data(), c.out->pointers.data(), own), LATHE_OK)
      << c.library->message(handle);
  ASSERT_EQ(driver().StreamEndCapture(own, &graph), 0);
  EXPECT_NE(c.fault(), "") << "nothing ran yet";
  cuda::GraphExec exec = nullptr;
  ASSERT_EQ(driver().GraphInstantiateWithFlags(&exec, graph, 0), 0);
  for (int again = 0; again < 2; ++again) {
    c.clear();
    ASSERT_EQ(driver().GraphLaunch(exec, own), 0);
    EXPECT_EQ(c.fault(), "");
  }
  driver().GraphExecDestroy(exec);
  driver().GraphDestroy(graph);
  c.library->destroy(handle);
}

// Nothing is left on the card when a handle is destroyed, or when none was made.
TEST_F(CudaLibrary, ReleasesWhatItTook) {
  constexpr std::pair<const char*, const char*> kPairs[] = {
      {"cuMemAlloc_v2", "cuMemFree_v2"},
      {"cuModuleLoadDataEx", "cuModuleUnload"},
      {"cuStreamCreate", "cuStreamDestroy_v2"},
      {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2"},
      {"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"}};
  CardCase c = write(convolution(), "conv");
  c.library = std::make_unique<CardLibrary>(c.files.library, c.files.name);
  const CardCase table =
      write({.text = "G: f32[3] = {0.25,-0.5,1}; Y[i:8] = sum(s) X[i + s - 1 else -1] * G[s]",
             .shapes = {"X=8"}},
            "table");
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
  std::vector<std::byte> weights(4 * 16 * 8 * 9);
  std::int64_t shape[] = {16, 8, 3, 3};
  const DLTensor w{weights.data(), {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const DLTensor* inputs[] = {nullptr, &w};
  ASSERT_EQ(c.library->prepare(handle, inputs, nullptr), LATHE_OK) << c.library->message(handle);
  c.library->destroy(handle);
  const CardLibrary other(table.files.library, "table");
  ASSERT_EQ(other.create(nullptr, &handle), LATHE_OK) << other.message(nullptr);
  other.destroy(handle);
  auto counted = calls();
  EXPECT_GT(counted["cuMemAlloc_v2"], 1);
  for (const auto& [takes, gives] : kPairs) EXPECT_EQ(counted[takes], counted[gives]) << takes;
}

TEST_F(CudaLibrary, KeepsItsConstantsOnTheCard) {
  use_card();
  const CardCase c = make(convolution(), "conv");
  lathe_handle *handle = nullptr, *other = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK);
  ASSERT_EQ(c.library->create(nullptr, &other), LATHE_OK);
  auto in = c.in->pointers;
  const auto run = [&](lathe_handle* one) {
    const DLTensor* without[] = {in[0], nullptr};
    return c.library->run(one, without, c.out->pointers.data(), nullptr);
  };
  EXPECT_EQ(run(handle), LATHE_NOT_PREPARED);
  EXPECT_STREQ(c.library->message(handle), "prepare was not called, or failed");
  ASSERT_EQ(c.library->prepare(handle, in.data(), nullptr), LATHE_OK);
  // Other weights, in the processor's memory, which are not read again.
  std::vector<double> doubled = c.inputs[1].values;
  for (double& w : doubled) w *= 2;
  std::vector<std::byte> stored = c.in->store(1, doubled);
  DLTensor host = c.in->views[1];
  host.data = stored.data();
  host.device = {kDLCPU, 0};
  const DLTensor* from_host[] = {nullptr, &host};
  ASSERT_EQ(c.library->prepare(other, from_host, nullptr), LATHE_OK) << c.library->message(other);
  std::ranges::fill(stored, std::byte{0x7f});
  c.in->send(1, std::vector<double>(doubled.size(), 1e30));
  ASSERT_EQ(run(handle), LATHE_OK);
  EXPECT_EQ(c.fault(), "");
  ASSERT_EQ(run(other), LATHE_OK);
  std::vector<double> halves = c.out->fetch(0);
  for (double& y : halves) y /= 2;
  EXPECT_EQ(interp::compare(c.want[0], halves), "");
  // After a prepare that failed nothing runs.
  in[1] = nullptr;
  EXPECT_EQ(c.library->prepare(other, in.data(), nullptr), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(c.library->message(other), "tensor \"W\" is missing");
  EXPECT_EQ(run(other), LATHE_NOT_PREPARED);
  c.library->destroy(other);
  c.clear();
  ASSERT_EQ(run(handle), LATHE_OK);
  EXPECT_EQ(c.fault(), "");
  c.library->destroy(handle);
}

// A constant that kernels of run() read as it came is kept, too.
TEST_F(CudaLibrary, KeepsConstantsThatAreNotPacked) {
  use_card();
  const CardCase c = make(
      {.text = "Y[i,j] = X[i,j] + B[j]", .shapes = {"X=7,13", "B=13"}, .constants = {"B"}}, "bias");
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK);
  ASSERT_EQ(c.library->prepare(handle, c.in->pointers.data(), nullptr), LATHE_OK);
  c.in->send(1, std::vector<double>(c.in->sizes[1], 1e30));
  const DLTensor* without[] = {c.in->pointers[0], nullptr};
  ASSERT_EQ(c.library->run(handle, without, c.out->pointers.data(), nullptr), LATHE_OK);
  EXPECT_EQ(c.fault(), "");
  c.library->destroy(handle);
}

TEST_F(CudaLibrary, RefusesTensorsThatDoNotFit) {
  tell("cards=2");
  use_card();
  const CardCase c = make(product(), "product");
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK);
  const std::vector<DLTensor> views = c.in->views;
  auto& in = c.in->pointers;
  DLTensor& a = c.in->views[0];
  const auto refused = [&](const std::string& why) {
    EXPECT_EQ(c.library->run(handle, in.data(), c.out->pointers.data(), nullptr),
              LATHE_INVALID_ARGUMENT)
        << why;
    EXPECT_EQ(c.library->message(handle), why);
    a = views[0];
    in[0] = &a;
  };
  in[0] = nullptr, refused("tensor \"A\" is missing");
  a.ndim = 1, refused("tensor \"A\" has 1 dimensions, not 2");
  a.dtype.bits = 64, refused("tensor \"A\" has elements of f64, not of f32");
  for (const DLDeviceType kind : {kDLCPU, kDLCUDAHost})
    a.device.device_type = kind,
    refused(
        "tensor \"A\" is in the processor's memory; copy it to the card first, which tensors "
        "have to be on");
  a.device.device_type = kDLOpenCL;
  refused("tensor \"A\" is on a device that is no card of NVIDIA (kDLCUDA)");
  a.device.device_id = 1, refused("tensor \"A\" is on card 1, and the handle on card 0");
  a.data = nullptr, refused("tensor \"A\" has no data");
  a.byte_offset = 4, refused("tensor \"A\" does not begin at a multiple of 16 bytes");
  a.data = c.out->views[0].data, refused("tensors \"A\" and \"C\" overlap in memory");
  std::int64_t shape[] = {24, 41}, strides[] = {1, 24};
  a.shape = shape, refused("tensor \"A\" has extent 41 in dimension 1, not 40");
  a.strides = strides, refused("tensor \"A\" is not row-major without gaps");
  alignas(16) static float host[24 * 40];
  a.data = host, refused("tensor \"A\" is said to be on a card, and its memory is not");
  use_card(1);
  const CardTensors foreign(driver(), c.inputs);
  a.data = foreign.views[0].data;
  refused("tensor \"A\" has its memory on card 1, and the handle is of card 0");
  EXPECT_EQ(c.library->run(handle, nullptr, c.out->pointers.data(), nullptr),
            LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->run(nullptr, in.data(), c.out->pointers.data(), nullptr),
            LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->create(nullptr, nullptr), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->run(handle, in.data(), c.out->pointers.data(), nullptr), LATHE_OK);
  cuda::Context ignored = nullptr;
  driver().CtxPopCurrent(&ignored);
  EXPECT_EQ(c.fault(), "");
  c.library->destroy(handle);
}

TEST_F(CudaLibrary, IsOfTheContextAndCardThatAreCurrent) {
  tell("cards=2");
  use_card(1);
  CardCase c = make(convolution(), "conv");
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK);
  for (CardTensors* tensors : {c.in.get(), c.out.get()})
    for (DLTensor& view : tensors->views) view.device.device_id = 1;
  ASSERT_EQ(c.library->prepare(handle, c.in->pointers.data(), stream()), LATHE_OK)
      << c.library->message(handle);
  new_context(1);
  cuda::Stream const foreign = stream();
  const std::string why =
      "the stream is of another context than the handle, which was made in the one that was "
      "current for create";
  EXPECT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), foreign),
            LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->message(handle), why);
  ASSERT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), nullptr),
            LATHE_OK);
  EXPECT_EQ(c.fault(), "");
  EXPECT_EQ(c.library->prepare(handle, c.in->pointers.data(), foreign), LATHE_INVALID_ARGUMENT);
  EXPECT_EQ(c.library->message(handle), why);
  c.library->destroy(handle);
}

TEST_F(CudaLibrary, RefusesAForkedChild) {
  use_card();
  const CardCase c = make(product(), "forked");
  lathe_handle* handle = nullptr;
  ASSERT_EQ(c.library->create(nullptr, &handle), LATHE_OK) << c.library->message(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    lathe_handle* own = nullptr;
    const bool refused =
        c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), nullptr) ==
            LATHE_DEVICE_FAILED &&
        c.library->create(nullptr, &own) == LATHE_DEVICE_FAILED && own == nullptr &&
        std::string_view(c.library->message(nullptr)).find("forked from one that used CUDA") !=
            std::string_view::npos;
    c.library->destroy(handle);
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), nullptr),
            LATHE_OK);
  c.library->destroy(handle);
}

// For programs that open it without its header; older ones do not take it for one of theirs.
TEST_F(CudaLibrary, ListsWhatIsInIt) {
  CardCase c = write(convolution(), "conv");
  c.library = std::make_unique<CardLibrary>(c.files.library, c.files.name);
  const auto* list =
      static_cast<const lathe_library*>(dlsym(c.library->handle, LATHE_LIBRARY_SYMBOL));
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->abi, LATHE_CARD_ABI);
  EXPECT_NE(list->abi, LATHE_ARTIFACT_ABI);
  ASSERT_EQ(list->count, 1);
  const lathe_artifact& artifact = *list->artifacts[0];
  EXPECT_STREQ(artifact.name, "conv");
  ASSERT_EQ(artifact.module->inputs, 2);
  EXPECT_STREQ(artifact.tensors[1].name, "W");
  EXPECT_EQ(artifact.tensors[1].constant, 1);
  EXPECT_EQ(artifact.tensors[2].bytes, 4 * 16 * 9 * 9);
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(CudaLibrary, TheExampleCallsIt) {
  const CardCase c = write(convolution(), "conv");
  std::filesystem::create_symlink(folder_.at("double.so"), folder_.at("libcuda.so.1"));
  const std::string line = fmt::format(
      "cd {0} && {1} -std=c99 -Wall -Wextra -pedantic -Werror conv_example.c -I. ./conv.so -L. "
      "-l:libcuda.so.1 -Wl,-rpath,{0} -o example && export ASAN_OPTIONS=detect_leaks=0 && "
      "./example > out && ! LATHE_CUDA_LIBRARY=/none ./example 2> errors",
      folder_.path().string(), LATHE_CC);
  ASSERT_EQ(std::system(line.c_str()), 0) << line;
  EXPECT_TRUE(content(folder_.at("out")).starts_with("Y[0] = ")) << content(folder_.at("out"));
  EXPECT_EQ(content(folder_.at("errors")),
            "create: the library of NVIDIA's driver, /none, cannot be opened; install NVIDIA's "
            "driver for this machine's card\n");
  const std::string header = content(folder_.at("conv.h"));
  EXPECT_TRUE(header.contains("DLTensor* const* outputs, void* stream);")) << header;
  EXPECT_TRUE(header.contains("in this order, on the card (kDLCUDA):")) << header;
  std::istringstream lines(header);
  for (std::string one; std::getline(lines, one);) EXPECT_LE(one.size(), 100U) << one;
  const std::string needed = fmt::format(
      "readelf -d {} | grep NEEDED | grep -v -e 'libc.so' -e ld-linux", c.files.library);
  EXPECT_NE(std::system(needed.c_str()), 0) << "it needs more than libc";
}

// The example fills inputs with the numbers of a formula, and prints what they make.
TEST_F(CudaLibrary, TheExamplePrintsWhatIsRight) {
  write({.text = "Y[i] = X[i] + X[i]", .shapes = {"X=3"}, .dtypes = {"f16"}}, "twice");
  std::filesystem::create_symlink(folder_.at("double.so"), folder_.at("libcuda.so.1"));
  const std::string line = fmt::format(
      "cd {0} && {1} -std=c99 -Werror twice_example.c -I. ./twice.so -L. -l:libcuda.so.1 "
      "-Wl,-rpath,{0} -o example && ASAN_OPTIONS=detect_leaks=0 ./example > out",
      folder_.path().string(), LATHE_CC);
  ASSERT_EQ(std::system(line.c_str()), 0) << line;
  EXPECT_EQ(content(folder_.at("out")), "Y[0] = -1\nY[1] = -0.875\nY[2] = -0.75\n");
}

}  // namespace
}  // namespace lathe
