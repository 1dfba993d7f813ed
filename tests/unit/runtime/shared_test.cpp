// Constants that handles share, by the runtime's own code, so that sanitizers see it: threads make,
// use and free them at once.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/artifact/artifact.h"

namespace lathe {
namespace {

constexpr std::int64_t kNumbers = 4099;
std::atomic<int> packings, first_ones;

// By hand, in place of generated code: 7 + i % 3, in two kernels; run adds 1.
void pack_first(const lathe_runtime*, void* const*, void* constants, void*, void*) {
  ++first_ones;
  for (std::int64_t i = 0; i < kNumbers; ++i) static_cast<float*>(constants)[i] = 7;
}
void pack_second(const lathe_runtime*, void* const*, void* constants, void*, void*) {
  ++packings;
  for (std::int64_t i = 0; i < kNumbers; ++i)
    static_cast<float*>(constants)[i] += static_cast<float>(i % 3);
}
void run_by_hand(const lathe_runtime*, void* const* tensors, void* constants, void*, void*) {
  for (std::int64_t i = 0; i < kNumbers; ++i)
    static_cast<float*>(tensors[0])[i] = static_cast<float*>(constants)[i] + 1;
}

struct ByHand {
  std::int64_t shape[1] = {kNumbers};
  lathe_module module = {LATHE_MODULE_ABI, 0, 1, 4 * kNumbers, 64, 64, nullptr, run_by_hand};
  lathe_artifact_tensor tensors[1] = {{"Y", shape, 1, kDLFloat, 32, 4 * kNumbers, 0, 1}};
  lathe_packing packing[2] = {{pack_first, nullptr, 0}, {pack_second, nullptr, 0}};
  lathe_shared shared{};
  lathe_artifact artifact = {"hand", &module, tensors, 1, 0, &shared, packing, 2, nullptr};

  bool works(lathe_handle* handle) {
    std::vector<float> y(kNumbers, -1);
    DLTensor tensor{y.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
    DLTensor* outputs[] = {&tensor};
    if (lathe_artifact_run(handle, nullptr, outputs) != LATHE_OK) return false;
    for (std::int64_t i = 0; i < kNumbers; ++i)
      if (y[static_cast<std::size_t>(i)] != static_cast<float>(8 + i % 3)) return false;
    return true;
  }
};

TEST(SharedByHand, ThreadsCreateUseAndDestroyAtOnce) {
  ByHand hand;
  packings = first_ones = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&] {
      for (int r = 0; r < 50; ++r) {
        lathe_handle* handle = nullptr;
        ASSERT_EQ(lathe_artifact_create(&hand.artifact, nullptr, &handle), LATHE_OK);
        EXPECT_TRUE(hand.works(handle));
        lathe_artifact_destroy(handle);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(hand.shared.handles, 0);
  EXPECT_EQ(hand.shared.constants, nullptr);
  EXPECT_EQ(hand.shared.lock, 0U);
  EXPECT_EQ(packings, first_ones);
}

TEST(SharedByHand, OneWaitsWhileAnotherPacks) {
  ByHand hand;
  packings = 0;
  std::vector<lathe_handle*> handles(6, nullptr);
  std::vector<std::thread> threads;
  for (lathe_handle*& handle : handles)
    threads.emplace_back([&] {
      ASSERT_EQ(lathe_artifact_create(&hand.artifact, nullptr, &handle), LATHE_OK);
      EXPECT_TRUE(hand.works(handle));
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(packings, 1);
  EXPECT_EQ(hand.shared.handles, std::ssize(handles));
  for (lathe_handle* handle : handles) lathe_artifact_destroy(handle);
  EXPECT_EQ(hand.shared.constants, nullptr);
}

TEST(SharedByHand, WhatCannotBeMadeLeavesNothingBehind) {
  ByHand hand;
  const lathe_weights weights = {"no.weights", 7};
  hand.artifact.weights = &weights;
  lathe_handle* handle = nullptr;
  for (const char* path :
       {"/no/such.weights", "/", "/dev/null", static_cast<const char*>(nullptr)}) {
    EXPECT_EQ(lathe_artifact_create_from(&hand.artifact, path, nullptr, &handle), LATHE_NO_WEIGHTS);
    EXPECT_EQ(handle, nullptr);
    EXPECT_STRNE(lathe_artifact_message(nullptr), "");
  }
  EXPECT_EQ(hand.shared.handles, 0);
  hand.artifact.weights = nullptr;
  ASSERT_EQ(lathe_artifact_create(&hand.artifact, nullptr, &handle), LATHE_OK);
  EXPECT_TRUE(hand.works(handle));
  lathe_artifact_destroy(handle);
}

}  // namespace
}  // namespace lathe
