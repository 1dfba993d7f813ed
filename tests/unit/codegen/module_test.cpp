// Linking, and loading what was linked.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "unit/codegen/harness.h"

namespace lathe {
namespace {

using namespace flat;
using testing::compile, testing::run_module;

// One element, of this value.
Program writes(int value) {
  const Buffer o{.name = "O", .dtype = Dtype::kF32, .size = 1, .scope = Scope::kOutput, .slot = 0};
  Program p;
  p.buffers = {o};
  p.outputs = {
      {.name = "O", .dtype = Dtype::kF32, .shape = {1}, .layout = {{0, 1, 1, 1}}, .size = 1}};
  set_run(p, store(0, int_imm(0), float_imm(value, Dtype::kF32)));
  return p;
}

TEST(Link, AnUndefinedSymbolIsNamed) {
  const Program p = writes(1);
  const Target target = testing::resolved("cpu:host");
  const auto object = codegen::generate(p, target);
  ASSERT_TRUE(object);
  const std::string stem = ::testing::TempDir() + "lathe-undefined";
  std::ofstream(stem + ".c") << "float cosf(float); float lathe_f(float x) { return cosf(x); }";
  ASSERT_EQ(std::system(("cc -fPIC -fno-builtin -c " + stem + ".c -o " + stem + ".o").c_str()), 0);
  const auto library = codegen::link_shared(*object, target, {stem + ".o"});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::kBuild);
  EXPECT_NE(library.error().message.find("\"cosf\""), std::string::npos) << library.error().message;
}

TEST(Module, AGridIsRefused) {
  Program p = writes(1);
  p.vars = {"t"};
  p.kernels[0].grid.items[0] = {4, 0};
  const auto ir = codegen::llvm_ir(p, testing::resolved("cpu:host"));
  ASSERT_FALSE(ir);
  EXPECT_EQ(ir.error().kind, ErrorKind::kUnsupported);
  EXPECT_NE(ir.error().text().find("runs on a grid, which processors have not"), std::string::npos)
      << ir.error().text();
}

TEST(Module, SeveralAreLoadedAtOnce) {
  std::vector<std::unique_ptr<module::Module>> modules;
  for (int i = 0; i < 4; ++i) {
    auto module = compile(writes(i), testing::resolved("cpu:host"));
    ASSERT_TRUE(module) << module.error().text();
    modules.push_back(std::move(*module));
    if (i == 2) modules.erase(modules.begin());  // its file number is free again
  }
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto got = run_module(*modules[i], writes(0), {});
    ASSERT_TRUE(got);
    EXPECT_EQ(load_element(Dtype::kF32, got->front().data()), static_cast<double>(i + 1));
  }
}

TEST(Module, GarbageAndStrangersAreRefused) {
  const std::vector<std::byte> garbage(100, std::byte{7});
  const auto loaded = module::load_module(garbage);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kDataLoss);
}

}  // namespace
}  // namespace lathe
