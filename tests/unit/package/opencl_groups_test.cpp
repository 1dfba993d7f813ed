// Libraries for devices of OpenCL with programs whose work items share local memory.
#include "unit/interp/random_groups.h"
#include "unit/package/opencl_library.h"

namespace lathe {
namespace {

bool is_all_f32(const flat::Program& program) {
  for (const auto* borders : {&program.inputs, &program.outputs})
    for (const flat::Border& border : *borders)
      if (border.dtype != Dtype::kF32) return false;
  return true;
}

interp::Tensor tensor(const flat::Border& border, const std::vector<double>& values) {
  return {.dtype = border.dtype, .shape = border.shape, .values = values};
}

class GroupsLibrary : public OpenclLibrary {
 protected:
  void expect_right(const testing::GroupProgram& g, const std::string& name) {
    const package::Host host{*api::make_target("cpu:host", 1), codegen::llvm_backend()};
    const std::string path = folder_.at(name + ".so");
    const auto written =
        package::write_artifact(name, g.program, *api::make_target("opencl:generic", 0),
                                codegen::opencl_backend(), path, {}, &host);
    ASSERT_TRUE(written) << written.error().text();
    std::vector<interp::Tensor> inputs, want;
    for (std::size_t i = 0; i < g.inputs.size(); ++i)
      inputs.push_back(
          tensor(g.program.inputs[i], interp::from_storage(g.program.inputs[i], g.inputs[i])));
    for (std::size_t o = 0; o < g.want.size(); ++o)
      want.push_back(tensor(g.program.outputs[o], g.want[o]));
    const HostTensors in(inputs), out(want);
    HostTensors got(want);
    for (auto& values : got.data) std::ranges::fill(values, -77.0F);
    const DeviceLibrary library(path, name);
    lathe_handle* handle = nullptr;
    ASSERT_EQ(library.create(nullptr, &handle), LATHE_OK) << library.message(nullptr);
    ASSERT_EQ(library.prepare(handle, in.pointers.data()), LATHE_OK) << library.message(handle);
    ASSERT_EQ(library.run(handle, in.pointers.data(), got.pointers.data()), LATHE_OK)
        << library.message(handle);
    EXPECT_EQ(got.data, out.data) << flat::print(g.program);
    library.destroy(handle);
  }
};

TEST_F(GroupsLibrary, Compute) {
  int made = 0;
  for (std::uint64_t seed = 1; made < 4 && !HasFailure(); ++seed) {
    const auto g = testing::random_groups(seed, {.copies = false, .exchanges = false});
    if (is_all_f32(g.program)) expect_right(g, "f" + std::to_string(++made));
  }
}

}  // namespace
}  // namespace lathe
