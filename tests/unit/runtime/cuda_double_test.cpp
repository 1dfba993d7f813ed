// The interpreter in the double of the driver: what tests of Lathe believe.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "support/fake_cuda/ptx.h"

namespace lathe::fake_cuda {
namespace {

constexpr const char* kHead = ".version 7.0\n.target sm_80\n.address_size 64\n";

// Runs a kernel of 64 threads in two blocks that stores a register of 32 bits each.
std::vector<std::uint32_t> run_body(const std::string& body, const std::string& shared = "") {
  const std::string text = std::string(kHead) + ".visible .entry k(.param .u64 k_param_0)\n{\n" +
                           shared +
                           ".reg .pred %p<4>;\n.reg .b16 %rs<8>;\n.reg .b32 %r<16>;\n"
                           ".reg .f32 %f<8>;\n.reg .f64 %fd<4>;\n.reg .b64 %rd<8>;\n"
                           "ld.param.u64 %rd1, [k_param_0];\ncvta.to.global.u64 %rd1, %rd1;\n"
                           "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
                           "shl.b32 %r3, %r2, 5;\nadd.s32 %r3, %r3, %r1;\n"
                           "mul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd2, %rd1, %rd2;\n" +
                           body + "\nst.global.u32 [%rd2], %r9;\nret;\n}\n";
  const auto parsed = parse_ptx(text);
  std::vector<std::uint32_t> out(64);
  const Memory memory = [&](std::uint64_t at, std::int64_t bytes) -> std::byte* {
    const auto begin = reinterpret_cast<std::uintptr_t>(out.data());
    const bool inside = at >= begin && at + static_cast<std::uint64_t>(bytes) <= begin + 256;
    return inside ? reinterpret_cast<std::byte*>(at) : nullptr;
  };
  run_kernel(*parsed, parsed->kernels.at("k"), {{2, 1, 1}, {32, 1, 1}, 0},
             {reinterpret_cast<std::uintptr_t>(out.data())}, memory);
  return out;
}

TEST(FakeCuda, ComputesWhatInstructionsMean) {
  const auto at = [](const std::string& body, std::size_t thread) {
    return run_body(body)[thread];
  };
  EXPECT_EQ(at("mov.u32 %r9, %r3;", 37), 37U);
  EXPECT_EQ(at("mul.hi.u32 %r9, -1, -1;", 0), 0xfffffffeU);
  EXPECT_EQ(at("mul.hi.s32 %r9, -1, -1;", 0), 0U);
  EXPECT_EQ(at("div.s32 %r9, -7, 2;", 0), static_cast<std::uint32_t>(-3));
  EXPECT_EQ(at("rem.s32 %r9, -7, 2;", 0), static_cast<std::uint32_t>(-1));
  EXPECT_EQ(at("shr.s32 %r9, -8, 1;", 0), static_cast<std::uint32_t>(-4));
  EXPECT_EQ(at("shr.u32 %r9, -8, 40;", 0), 0U);
  EXPECT_EQ(at("bfe.u32 %r9, 0x12345678, 8, 8;", 0), 0x56U);
  EXPECT_EQ(at("bfe.s32 %r9, 0x1234f678, 8, 8;", 0), 0xfffffff6U);
  EXPECT_EQ(at("bfi.b32 %r9, 0xab, 0x12345678, 8, 8;", 0), 0x1234ab78U);
  EXPECT_EQ(at("prmt.b32 %r9, 0x12345678, 0x9abcdef0, 0x7531;", 0), 0x9ade1256U);
  EXPECT_EQ(at("setp.lt.u32 %p1, %r1, 3;\nselp.b32 %r9, 5, 6, %p1;", 2), 5U);
  EXPECT_EQ(at("setp.lt.s32 %p1|%p2, %r1, 3;\nselp.b32 %r9, 5, 6, %p2;", 2), 6U);
  EXPECT_EQ(at("mov.b32 %r9, 7;\n@!%p1 mov.b32 %r9, 8;\n", 0) > 6, true);
  EXPECT_EQ(at("fma.rn.f32 %f1, 0f40000000, 0f40400000, 0f3F800000;\nmov.b32 %r9, %f1;", 0),
            0x40e00000U);
  EXPECT_EQ(at("cvt.rzi.s32.f32 %r9, 0fC0200000;", 0), static_cast<std::uint32_t>(-2));
  EXPECT_EQ(at("cvt.rni.s32.f32 %r9, 0f7FC00000;", 0), 0U);
  EXPECT_EQ(at("cvt.rzi.s32.f32 %r9, 0f7F800000;", 0), 0x7fffffffU);
  EXPECT_EQ(at("cvt.rn.f16.f32 %rs1, 0f3F800000;\ncvt.u32.u16 %r9, %rs1;", 0), 0x3c00U);
  EXPECT_EQ(at("mov.u16 %rs1, 0xff80;\ncvt.s32.s16 %r9, %rs1;", 0), 0xffffff80U);
  EXPECT_EQ(at("max.f32 %f1, 0f7FC00000, 0f3F800000;\nmov.b32 %r9, %f1;", 0), 0x3f800000U);
  EXPECT_EQ(at("min.f32 %f1, 0f80000000, 0f00000000;\nmov.b32 %r9, %f1;", 0), 0x80000000U);
  EXPECT_EQ(at("mov.b64 %rd3, {%r1, %r2};\nmov.b64 {%r4, %r9}, %rd3;", 40), 1U);
  EXPECT_EQ(at("popc.b32 %r9, 0xf0f;", 0), 8U);
  EXPECT_EQ(at("clz.b32 %r9, 0xf0f;", 0), 20U);
  EXPECT_EQ(at("cvt.rn.f64.f32 %fd1, 0f3FC00000;\ncvt.rpi.s32.f64 %r9, %fd1;", 0), 2U);
}

TEST(FakeCuda, LanesExchange) {
  EXPECT_EQ(run_body("shfl.sync.bfly.b32 %r9|%p1, %r1, 1, 31, -1;")[6], 7U);
  EXPECT_EQ(run_body("shfl.sync.down.b32 %r9, %r1, 4, 31, -1;")[30], 30U);
  EXPECT_EQ(run_body("shfl.sync.up.b32 %r9, %r1, 4, 0, -1;")[9], 5U);
  EXPECT_EQ(run_body("shfl.sync.idx.b32 %r9, %r1, 3, 31, -1;")[21], 3U);
}

TEST(FakeCuda, BarriersDivideTheWork) {
  const std::string shared = ".shared .align 4 .b8 s[128];\n";
  const auto out = run_body(
      "shl.b32 %r4, %r1, 2;\nmov.u32 %r5, s;\nadd.s32 %r6, %r5, %r4;\nst.shared.u32 [%r6], %r3;\n"
      "bar.sync 0;\nsub.s32 %r7, 124, %r4;\nadd.s32 %r7, %r7, %r5;\nld.shared.u32 %r9, [%r7];",
      shared);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i / 32 * 32 + 31 - i % 32);
}

int code_of(const std::string& body, const std::string& shared = "") {
  try {
    run_body(body, shared);
  } catch (const Fault& fault) {
    return fault.code;
  }
  return 0;
}

TEST(FakeCuda, FaultsAreFound) {
  EXPECT_EQ(code_of("st.global.u32 [%rd1+256], %r1;"), kIllegalAddress);
  EXPECT_EQ(code_of("st.global.u32 [%rd1+2], %r1;"), kMisaligned);
  EXPECT_EQ(
      code_of("mov.u32 %r4, 128;\nst.shared.u32 [%r4], %r1;", ".shared .align 4 .b8 s[128];\n"),
      kIllegalAddress);
  EXPECT_EQ(code_of("frobnicate.b32 %r9, %r1;"), kInvalidPtx);
  EXPECT_EQ(code_of("mov.u32 %r9, %r99;"), kInvalidPtx);
  EXPECT_EQ(code_of("bra $nowhere;"), kInvalidPtx);
  EXPECT_EQ(code_of("setp.eq.u32 %p1, %r1, 3;\n@%p1 bar.sync 0;\n"
                    "shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;"),
            kLaunchFailed);
}

}  // namespace
}  // namespace lathe::fake_cuda
