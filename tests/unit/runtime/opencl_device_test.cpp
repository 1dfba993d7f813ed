#include "runtime/device/opencl/device.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/helper_path.h"
#include "base/subprocess.h"
#include "runtime/device/opencl/devices.h"
#include "unit/runtime/opencl.h"

namespace lathe::opencl {
namespace {

TEST(OpenclApi, SaysWhatToInstallWhereThereIsNoLibrary) {
  const auto api = open_api("libOpenCL-that-nobody-has.so");
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(api.error().message.contains("install ocl-icd-libopencl1")) << api.error().message;
  EXPECT_FALSE(list_devices("libOpenCL-that-nobody-has.so"));
  EXPECT_FALSE(Device::open("", "libOpenCL-that-nobody-has.so"));
}

TEST(OpenclApi, TakesTheLibraryThatTheEnvironmentNames) {
  ::setenv("LATHE_OPENCL_LIBRARY", "libOpenCL-of-the-environment.so", 1);
  const auto api = open_api();
  ::unsetenv("LATHE_OPENCL_LIBRARY");
  ASSERT_FALSE(api);
  EXPECT_TRUE(api.error().message.contains("libOpenCL-of-the-environment.so"));
}

TEST(OpenclApi, NamesAFunctionThatIsMissing) {
  const auto api = open_api("libm.so.6");
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().kind, ErrorKind::kUnsupported);
  EXPECT_TRUE(api.error().message.contains("libm.so.6 has no clGetPlatformIDs"));
}

TEST(OpenclApi, LoadsNothingThatOthersCanChange) {
  const test::TemporaryFolder folder;
  const std::string path = folder.at("libOpenCL.so.1");
  ASSERT_TRUE(write_whole(path, "no library"));
  std::filesystem::permissions(path, std::filesystem::perms(0666));
  const auto api = open_api(path);
  ASSERT_FALSE(api);
  EXPECT_TRUE(api.error().message.contains("chmod go-w")) << api.error().message;
}

TEST(OpenclDevices, AreChosenByKindAndName) {
  std::vector<Facts> devices(3);
  devices[0].name = "Processor";
  devices[0].platform = "One";
  devices[0].kind = "cpu";
  devices[1].name = "Big GPU";
  devices[1].kind = "gpu";
  devices[2].name = "Small GPU";
  devices[2].platform = "One";
  devices[2].kind = "gpu";
  EXPECT_EQ(*choose_device(devices), 1U);
  EXPECT_EQ(*choose_device(devices, "One"), 2U);
  EXPECT_EQ(*choose_device(devices, "Proc"), 0U);
  EXPECT_EQ(choose_device(devices, "Other").error().message,
            "no device of OpenCL is called Other; there are Processor (One), Big GPU (), "
            "Small GPU (One)");
}

// What the runner writes to its standard error where it is asked for the devices.
std::string told(const std::vector<std::string>& variables) {
  const test::TemporaryFolder folder;
  std::vector<std::string> command = {"env"};
  command.insert(command.end(), variables.begin(), variables.end());
  command.insert(command.end(), {*find_helper("lathe-opencl-runner"), "--devices"});
  const auto finished = run_to_end(command, folder.at("errors"));
  EXPECT_TRUE(finished) << finished.error().text();
  return finished->status == 0 ? "success" : finished->errors;
}

TEST(OpenclDevices, AreMissingWhereThereIsNoPlatform) {
  if (!open_api()) GTEST_SKIP() << "no OpenCL on this machine";
  const std::string errors = told({"OCL_ICD_VENDORS=/nowhere"});
  EXPECT_TRUE(errors.starts_with("OpenCL has no platform on this machine; install")) << errors;
  EXPECT_TRUE(told({"LATHE_OPENCL_LIBRARY=libnone.so"}).contains("install ocl-icd-libopencl1"));
}

TEST_F(OpenclTest, TheHelperTellsTheSameDevices) {
  const auto devices = ask_for_devices();
  ASSERT_TRUE(devices) << devices.error().text();
  EXPECT_EQ(devices->facts, *list_devices());
  EXPECT_EQ(devices->facts[devices->chosen], device_->facts());
  ::setenv("LATHE_OPENCL_DEVICE", "nothing that is", 1);
  const auto none = ask_for_devices();
  ::unsetenv("LATHE_OPENCL_DEVICE");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(none.error().message.starts_with("no device of OpenCL is called nothing that is"));
}

TEST(OpenclDevices, ThatAreNotThereAreNotChosen) {
  Devices devices{{Facts{}}, 0};
  EXPECT_TRUE(devices_from_json(to_json(devices)));
  devices.chosen = 1;
  EXPECT_FALSE(devices_from_json(to_json(devices)));
}

TEST(OpenclDevices, AreChosenByAPartOfANameInAnyLetters) {
  const std::vector<Facts> devices = {{.platform = "First", .name = "Plain"},
                                      {.platform = "Second", .name = "Tall GPU 7"}};
  EXPECT_EQ(*choose_device(devices, "tall gpu"), 1U);
  EXPECT_EQ(*choose_device(devices, "SECOND"), 1U);
  EXPECT_EQ(*choose_device(devices, "Plain"), 0U);
  EXPECT_EQ(choose_device(devices, "tall  gpu").error().kind, ErrorKind::kNotFound);
}

TEST_F(OpenclTest, FactsAreSound) {
  const Facts& facts = device_->facts();
  EXPECT_FALSE(facts.name.empty());
  EXPECT_FALSE(facts.driver.empty());
  EXPECT_GT(facts.compute_units, 0);
  EXPECT_GT(facts.group_size, 0);
  EXPECT_EQ(facts.item_sizes.size(), 3U);
  EXPECT_GT(facts.local_bytes, 0);
  EXPECT_GT(facts.allocation_bytes, 0);
  EXPECT_GE(facts.global_bytes, facts.allocation_bytes);
  EXPECT_EQ(facts.fp64, facts.has("cl_khr_fp64"));
  EXPECT_EQ(told({}), "success");
  EXPECT_TRUE(told({"LATHE_OPENCL_DEVICE=nothing that is"}).contains(facts.name));
}

TEST_F(OpenclTest, MemoryIsNanBetweenZones) {
  GuardedMemory memory;
  for (const std::int64_t bytes : {400, 0, 7, 100'000, 12}) {
    ASSERT_TRUE(memory.resize(*device_, "x", bytes));
    ASSERT_TRUE(memory.fill());
    std::vector<unsigned char> content(static_cast<std::size_t>(bytes));
    ASSERT_TRUE(memory.read(content.data()));
    EXPECT_EQ(std::ranges::count(content, 0xff), bytes);
    for (unsigned char& byte : content) byte = 3;
    ASSERT_TRUE(memory.write(content.data()));
    EXPECT_TRUE(memory.check_zones());
  }
  EXPECT_FALSE(memory.resize(*device_, "x", -1));
  EXPECT_EQ(memory.resize(*device_, "x", std::int64_t{1} << 60).error().kind,
            ErrorKind::kOutOfMemory);
}

}  // namespace
}  // namespace lathe::opencl
