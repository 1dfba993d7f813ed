// Libraries for cards of NVIDIA where the driver, the card or an assembler is not as it should be.
#include "support/ptxas.h"
#include "unit/package/cuda_library.h"

namespace lathe {
namespace {

class CudaFailures : public CudaLibrary {
 protected:
  // How create() fails in a process of its own, whose driver is told these words; empty if it
  // works.
  std::string refusal(const CardCase& c, const std::string& words, int status,
                      const std::string& library = "") {
    const std::string driver = folder_.at("double.so");
    tell(words);
    return in_a_child([&] {
      ::setenv("LATHE_CUDA_LIBRARY", library.empty() ? driver.c_str() : library.c_str(), 1);
      const CardLibrary opened(c.files.library, c.files.name);
      lathe_handle* handle = nullptr;
      const int got = opened.create(nullptr, &handle);
      if (got != status) return fmt::format("status {}: {}", got, opened.message(nullptr));
      if (got == LATHE_OK) return std::string();
      return std::string(handle == nullptr ? opened.message(nullptr) : "there is a handle");
    });
  }
  // The text that work makes in a forked child.
  template <class Work>
  std::string in_a_child(const Work& work) {
    const std::string answer = folder_.at("answer");
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        std::ofstream(answer) << work();
      } catch (const std::exception& own) {
        std::ofstream(answer) << "own: " << own.what();
      }
      ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    if (status != 0) return fmt::format("it ended with {:#x}", status);
    return *read_file(answer);
  }
};

TEST_F(CudaFailures, SaysWhatIsMissing) {
  const CardCase c = write(product(), "product");
  EXPECT_EQ(refusal(c, "", LATHE_OK), "");
  EXPECT_EQ(refusal(c, "", LATHE_NO_DEVICE, "/none"),
            "the library of NVIDIA's driver, /none, cannot be opened; install NVIDIA's driver for "
            "this machine's card");
  EXPECT_EQ(refusal(c, "", LATHE_NO_DEVICE, "libc.so.6"),
            "libc.so.6 has no cuInit; install a driver of NVIDIA that knows CUDA 11.4 or newer");
  EXPECT_EQ(refusal(c, "version=11030", LATHE_NO_DEVICE),
            "NVIDIA's driver is too old: it knows CUDA 11.3, and 11.4 is the oldest that will do; "
            "install a newer driver");
  EXPECT_EQ(refusal(c, "cards=0", LATHE_NO_DEVICE),
            "NVIDIA's driver finds no card (CUDA_ERROR_NO_DEVICE); look at CUDA_VISIBLE_DEVICES "
            "and at what nvidia-smi lists");
  EXPECT_EQ(refusal(c, "architecture=75", LATHE_NO_DEVICE),
            "the library is for cards of sm_80 and later, and Fake H200 is of sm_75; run lathe "
            "compile for it");
  EXPECT_EQ(refusal(c, "architecture=86", LATHE_OK), "");
}

TEST_F(CudaFailures, SaysHowMuchMemoryThereIs) {
  const CardCase c = write(convolution(), "conv");
  EXPECT_EQ(refusal(c, "free=100", LATHE_OUT_OF_MEMORY),
            "the card gives no memory of 4608 bytes: 100 of its 1073741824 are free "
            "(CUDA_ERROR_OUT_OF_MEMORY)");
}

// An assembler's double: what it makes is what the driver's double takes for machine code.
std::string fake_assembler(const test::TemporaryFolder& folder, const std::string& refused) {
  const std::string path = folder.at("ptxas");
  std::ofstream(path) << "#!/bin/sh\n[ \"$1\" != -arch=" << refused
                      << " ] || exit 1\n(echo 'fake machine code'; cat \"$2\"; printf '\\0') "
                         "> \"$4\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

std::string words_of(const std::string& path) {
  std::string text = *read_file(path), out;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (word != "*") out += word + " ";
  return out;
}

TEST_F(CudaFailures, TakesMachineCodeForJustThisCard) {
  ::setenv("LATHE_PTXAS", fake_assembler(folder_, "sm_86").c_str(), 1);
  const CardCase c = write(product(), "product");
  const std::string header = words_of(c.files.header);
  EXPECT_TRUE(
      header.contains("The library has PTX for cards of sm_80 and later, and machine code "
                      "for sm_80, sm_87, sm_89, sm_90. "))
      << header;
  const auto loads_of = [&](const std::string& words) {
    std::filesystem::remove(folder_.at("state"));
    EXPECT_EQ(refusal(c, words, LATHE_OK), "");
    return calls()["cuModuleLoadDataEx"];
  };
  EXPECT_EQ(loads_of("architecture=89"), 1);
  EXPECT_EQ(loads_of("architecture=86"), 1) << "the PTX";
  EXPECT_EQ(loads_of("architecture=89 fail=cuModuleLoadDataEx:1:209"), 2) << "then the PTX";
}

TEST_F(CudaFailures, NamesTheAssemblerThatIsMissing) {
  const std::string none = words_of(write(product(), "none").files.header);
  EXPECT_TRUE(
      none.contains("The library has PTX for cards of sm_80 and later, and no machine code, "
                    "as NVIDIA's assembler was not found: ptxas was neither on the PATH "
                    "nor named by LATHE_PTXAS. "))
      << none;
  ::setenv("LATHE_PTXAS", "/bin/false", 1);
  const std::string refused = words_of(write(product(), "refused").files.header);
  EXPECT_TRUE(refused.contains("no machine code, as the assembler /bin/false makes none of it"))
      << refused;
  for (const char* none : {"/no/ptxas", "no-ptxas"}) {
    ::setenv("LATHE_PTXAS", none, 1);
    try {
      write(product(), "thrown");
      ADD_FAILURE() << none << " was run";
    } catch (const std::runtime_error& why) {
      EXPECT_TRUE(std::string(why.what()).starts_with("LATHE_PTXAS: ")) << why.what();
    }
  }
}

TEST_F(CudaFailures, RunsNoAssemblerThatOthersCanChange) {
  const std::string path = fake_assembler(folder_, "none");
  std::filesystem::permissions(path, std::filesystem::perms::all);
  ::setenv("LATHE_PTXAS", path.c_str(), 1);
  try {
    write(product(), "thrown");
    ADD_FAILURE() << "it was run";
  } catch (const std::runtime_error& refused) {
    EXPECT_TRUE(std::string(refused.what()).contains("chmod")) << refused.what();
  }
}

// The double's card does not take NVIDIA's machine code, as drivers do not that are older than the
// assembler: then the PTX counts.
TEST_F(CudaFailures, CarriesWhatNvidiasAssemblerMakes) {
  const std::string assembler = testing::assembler_path();
  if (assembler.empty()) GTEST_SKIP() << "there is no ptxas";
  ::setenv("LATHE_PTXAS", assembler.c_str(), 1);
  const CardCase c = write(convolution(), "conv", "cuda:sm_86");
  const std::string header = words_of(c.files.header);
  EXPECT_TRUE(header.contains("machine code for sm_86, sm_87, sm_89, sm_90. ")) << header;
  const std::string library = *read_file(c.files.library);
  std::size_t inside = 0;  // the library is an ELF file itself
  for (std::size_t at = library.find("\x7f"
                                     "ELF",
                                     1);
       at != std::string::npos; at = library.find("\x7f"
                                                  "ELF",
                                                  at + 1))
    ++inside;
  EXPECT_EQ(inside, 4U);
  EXPECT_EQ(refusal(c, "architecture=89", LATHE_OK), "");
  EXPECT_EQ(calls()["cuModuleLoadDataEx"], 2);
}

// Each of the first calls of each function fails, once with a code that leaves the context whole
// and once with one that does not. Each function of the library says what it was.
TEST_F(CudaFailures, EveryCallThatFailsIsSaid) {
  CardCase c = write(convolution(), "conv");
  const auto work = [&]() -> std::string {
    use_card();
    open(c);
    const auto judge = [&](lathe_handle* handle, int status) -> std::string {
      if (status == LATHE_OK) return "";
      const std::string message = c.library->message(handle);
      return message.empty() ? "nothing is said" : "said: " + message;
    };
    lathe_handle* handle = nullptr;
    std::string told = judge(nullptr, c.library->create(nullptr, &handle));
    if (!told.empty()) return told;
    told = judge(handle, c.library->prepare(handle, c.in->pointers.data(), nullptr));
    if (told.empty())
      told = judge(handle,
                   c.library->run(handle, c.in->pointers.data(), c.out->pointers.data(), nullptr));
    c.library->destroy(handle);
    if (told.empty()) told = c.fault();
    return told;
  };
  ASSERT_EQ(in_a_child(work), "");
  const auto counted = calls();
  // What the driver does not tell of a card is left out, and what cannot be released is kept.
  const auto may_be_missing = [](const std::string& name) {
    return name == "cuDeviceGetAttribute" || name == "cuFuncGetAttribute" ||
           name == "cuCtxSynchronize" || name == "cuCtxPopCurrent_v2" || name == "cuMemFree_v2" ||
           name == "cuModuleUnload" || name == "cuCtxPushCurrent_v2";
  };
  int said = 0;
  for (const auto& [name, count] : counted)
    for (const int code : {1, 719})
      for (std::int64_t call = 1; call <= std::min<std::int64_t>(count, 12); ++call) {
        std::filesystem::remove(folder_.at("state"));
        tell(fmt::format("fail={}:{}:{}", name, call, code));
        const std::string answer = in_a_child(work);
        if (answer.starts_with("own: ")) continue;
        const bool is_said = answer.starts_with("said: ");
        said += is_said ? 1 : 0;
        EXPECT_TRUE(is_said || (answer.empty() && code == 1 && may_be_missing(name)))
            << name << " " << call << ": " << answer;
        if (is_said && code == 719) {
          EXPECT_TRUE(answer.contains("(CUDA_ERROR_LAUNCH_FAILED)")) << name << ": " << answer;
        }
      }
  EXPECT_GT(said, 40);
}

}  // namespace
}  // namespace lathe
