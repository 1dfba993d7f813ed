#include "runtime/device/cuda/device.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/file.h"
#include "base/helper_path.h"
#include "base/subprocess.h"
#include "runtime/device/cuda/devices.h"
#include "unit/runtime/cuda.h"

namespace lathe::cuda {
namespace {

TEST(CudaApi, SaysWhatToInstallWhereThereIsNoLibrary) {
  const auto api = open_api("libcuda-that-nobody-has.so");
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(api.error().message.contains("install NVIDIA's driver")) << api.error().message;
  EXPECT_FALSE(list_devices("libcuda-that-nobody-has.so"));
  EXPECT_FALSE(Device::open("", "libcuda-that-nobody-has.so"));
}

TEST(CudaApi, NamesAFunctionThatIsMissing) {
  const auto api = open_api("libm.so.6");
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(api.error().message.contains("libm.so.6 has no cuInit")) << api.error().message;
}

TEST(CudaApi, LoadsNothingThatOthersCanChange) {
  const test::TemporaryFolder folder;
  const std::string path = folder.at("libcuda.so.1");
  ASSERT_TRUE(write_whole(path, "no library"));
  std::filesystem::permissions(path, std::filesystem::perms(0666));
  ::setenv("LATHE_CUDA_LIBRARY", path.c_str(), 1);
  const auto api = open_api();
  ::unsetenv("LATHE_CUDA_LIBRARY");
  ASSERT_FALSE(api);
  EXPECT_TRUE(api.error().message.contains("chmod go-w")) << api.error().message;
}

TEST(CudaDevices, AreChosenByNumberUuidAndName) {
  std::vector<Facts> cards(3);
  cards[0].name = "NVIDIA A100";
  cards[0].uuid = "GPU-aa";
  cards[1].name = "NVIDIA H100";
  cards[1].uuid = "GPU-bb";
  cards[2].name = "NVIDIA H100 MIG 1g.10gb";
  cards[2].uuid = "MIG-bb";
  EXPECT_EQ(*choose_device(cards), 0U);
  EXPECT_EQ(*choose_device(cards, "2"), 2U);
  EXPECT_EQ(*choose_device(cards, "GPU-b"), 1U);
  EXPECT_EQ(*choose_device(cards, "MIG-bb"), 2U);
  EXPECT_EQ(*choose_device(cards, "NVIDIA H100"), 1U);
  for (const char* none : {"3", "-1", "1x", "GPU-c", "H100"})
    EXPECT_FALSE(choose_device(cards, none)) << none;
  EXPECT_EQ(choose_device(cards, "3").error().message,
            "no card is called 3; there are 0 (NVIDIA A100, GPU-aa); 1 (NVIDIA H100, GPU-bb); 2 "
            "(NVIDIA H100 MIG 1g.10gb, MIG-bb); write the number, the UUID or the name of one");
}

TEST(CudaDevices, SurviveJson) {
  Devices devices{{Facts{.name = "x", .uuid = "GPU-1", .driver = "580", .architecture = 90}}, 0};
  const auto again = devices_from_json(to_json(devices));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->facts, devices.facts);
  devices.chosen = 1;
  EXPECT_FALSE(devices_from_json(to_json(devices)));
  Json json = to_json(devices.facts[0]);
  json.erase("l2_bytes");
  EXPECT_TRUE(facts_from_json(json).error().message.contains("l2_bytes"));
}

// What the runner writes to its standard error where it is asked for the cards.
std::string told(const std::string& words) {
  const Told double_told(words);
  const test::TemporaryFolder folder;
  const auto finished =
      run_to_end({*find_helper("lathe-cuda-runner"), "--devices"}, folder.at("errors"));
  EXPECT_TRUE(finished) << finished.error().text();
  if (finished->status == 0) return "success";
  EXPECT_EQ(WEXITSTATUS(finished->status), 1);
  EXPECT_EQ(std::ranges::count(finished->errors, '\n'), 1) << "one sentence";
  return finished->errors;
}

TEST_F(CudaTest, TheHelperTellsTheCards) {
  const Told double_told("cards=2");
  const auto devices = ask_for_devices();
  ASSERT_TRUE(devices) << devices.error().text();
  EXPECT_EQ(devices->facts.size(), 2U);
  EXPECT_EQ(devices->chosen, 0U);
  const Facts& facts = devices->facts[0];
  EXPECT_EQ(facts.name, "Fake H200");
  EXPECT_EQ(facts.uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_EQ(facts.architecture, 90);
  EXPECT_EQ(facts.block_bytes, 232'448);
  ::setenv("LATHE_CUDA_DEVICE", "GPU-10", 1);
  EXPECT_EQ(ask_for_devices()->chosen, 1U);
  ::setenv("LATHE_CUDA_DEVICE", "nothing that is", 1);
  const auto none = ask_for_devices();
  ::unsetenv("LATHE_CUDA_DEVICE");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(none.error().message.starts_with("no card is called nothing that is"));
}

TEST_F(CudaTest, ASliceIsACardOfItsOwn) {
  const Told double_told("mig");
  const auto devices = ask_for_devices();
  ASSERT_TRUE(devices) << devices.error().text();
  EXPECT_TRUE(devices->facts[0].uuid.starts_with("MIG-"));
  EXPECT_EQ(devices->facts[0].multiprocessors, 16);
}

TEST_F(CudaTest, WhatIsMissingIsOneSentence) {
  EXPECT_EQ(told("cards=1"), "success");
  EXPECT_TRUE(told("cards=0").starts_with("NVIDIA's driver finds no card (CUDA_ERROR_NO_DEVICE)"));
  EXPECT_TRUE(
      told("version=11020")
          .starts_with("NVIDIA's driver is too old: it knows CUDA 11.2, and 11.4 is the oldest"));
  EXPECT_TRUE(told("fail=cuInit:1:999").contains("does not begin (CUDA_ERROR_UNKNOWN)"));
  EXPECT_TRUE(told("fail=cuDeviceGetCount:1:3").contains("CUDA_ERROR_NOT_INITIALIZED"));
  EXPECT_TRUE(told("fail=cuDeviceGet:1:101").contains("CUDA_ERROR_INVALID_DEVICE"));
  EXPECT_TRUE(told("fail=cuDriverGetVersion:1:1").contains("CUDA_ERROR_INVALID_VALUE"));
}

TEST_F(CudaTest, MemoryIsNanBetweenZones) {
  const auto device = Device::open();
  ASSERT_TRUE(device) << device.error().text();
  GuardedMemory memory;
  for (const std::int64_t bytes : {400, 0, 7, 100'000, 12}) {
    ASSERT_TRUE(memory.resize(**device, "x", bytes));
    ASSERT_TRUE(memory.fill());
    std::vector<unsigned char> content(static_cast<std::size_t>(bytes));
    ASSERT_TRUE(memory.read(content.data()));
    EXPECT_EQ(std::ranges::count(content, 0xff), bytes);
    for (unsigned char& byte : content) byte = 3;
    ASSERT_TRUE(memory.write(content.data()));
    EXPECT_TRUE(memory.check_zones());
  }
  EXPECT_FALSE(memory.resize(**device, "x", -1));
  GuardedMemory other;
  const auto large = other.resize(**device, "x", (std::int64_t{1} << 30) - (1 << 17));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::kOutOfMemory);
  EXPECT_TRUE(large.error().message.contains("bytes are free")) << large.error().message;
}

}  // namespace
}  // namespace lathe::cuda
