// Programs for AArch64 under an emulator, in a small program of their own (driver.c).
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "unit/codegen/harness.h"

namespace lathe::testing {

#ifndef LATHE_EMULATED_DRIVER
#define LATHE_EMULATED_DRIVER ""
#endif

class EmulatedMachine {
 public:
  static constexpr const char* kNone =
      "aarch64-linux-gnu-gcc or qemu-aarch64 was not found when this was configured";
  static bool is_there() { return !std::string(LATHE_EMULATED_DRIVER).empty(); }

  std::vector<interp::Bytes> run(const flat::Program& p, const std::vector<std::byte>& library,
                                 const std::vector<interp::Bytes>& inputs) const {
    write("code.so", [&](std::ofstream& out) { put(out, library); });
    write("in", [&](std::ofstream& out) {
      put_number(out, static_cast<std::int64_t>(p.inputs.size()));
      put_number(out, static_cast<std::int64_t>(p.outputs.size()));
      for (const auto* borders : {&p.inputs, &p.outputs})
        for (const flat::Border& b : *borders) {
          put_number(out, b.size * size_of(b.dtype));
          put_number(out, b.constant);
        }
      for (const auto& input : inputs) put(out, input);
    });
    const std::string at = folder_.path().string();
    const std::string command =
        fmt::format("{} {}/code.so {}/in {}/out", LATHE_EMULATED_DRIVER, at, at, at);
    const int status = std::system(command.c_str());
    EXPECT_EQ(status, 0) << command;
    std::ifstream in(folder_.at("out"), std::ios::binary);
    std::vector<interp::Bytes> outputs;
    for (const flat::Border& b : p.outputs) {
      outputs.emplace_back(static_cast<std::size_t>(b.size * size_of(b.dtype)));
      in.read(reinterpret_cast<char*>(outputs.back().data()),
              static_cast<std::streamsize>(outputs.back().size()));
    }
    EXPECT_TRUE(in.good());
    return outputs;
  }

 private:
  template <class Fill>
  void write(const char* name, const Fill& fill) const {
    std::ofstream out(folder_.at(name), std::ios::binary);
    fill(out);
    EXPECT_TRUE(out.good());
  }
  static void put(std::ofstream& out, const std::vector<std::byte>& bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  }
  static void put_number(std::ofstream& out, std::int64_t number) {
    out.write(reinterpret_cast<const char*>(&number), sizeof number);
  }

  const test::TemporaryFolder folder_;
};

}  // namespace lathe::testing
