#include "runtime/device/cuda/chain.h"

namespace lathe::cuda {
namespace {

constexpr const char* kNotFinished = "the card did not finish the candidate";

Status launch_one(Device& device, const BoundLaunch& launch) {
  std::vector<Address> values = launch.places;
  std::vector<void*> parameters;
  for (Address& value : values) parameters.push_back(&value);
  const Code code =
      device.api().LaunchKernel(launch.function, launch.grid[0], launch.grid[1], launch.grid[2],
                                launch.block[0], launch.block[1], launch.block[2],
                                launch.shared_bytes, device.stream(), parameters.data(), nullptr);
  return device.expect_after(code, "the kernel " + launch.name + " cannot be launched");
}

Status launch_calls(Device& device, std::span<const std::vector<BoundLaunch>> sets, int calls) {
  for (int call = 0; call < calls; ++call)
    LATHE_TRY_STATUS(launch_all(device, sets[static_cast<std::size_t>(call) % sets.size()]));
  return {};
}

Result<Owned<Graph>> capture(Device& device, std::span<const std::vector<BoundLaunch>> sets,
                             int calls) {
  const Api& api = device.api();
  LATHE_TRY_STATUS(device.expect_after(api.StreamBeginCapture(device.stream(), kCaptureOfThread),
                                       "the driver does not begin a graph"));
  const Status launched = launch_calls(device, sets, calls);
  Graph graph = nullptr;
  const Code code = api.StreamEndCapture(device.stream(), &graph);  // ends it in any case
  LATHE_TRY_STATUS(launched);
  LATHE_TRY_STATUS(device.expect_after(code, "the driver does not make a graph of the candidate"));
  return Owned<Graph>(graph, [destroy = api.GraphDestroy](Graph g) { destroy(g); });
}

}  // namespace

Status launch_all(Device& device, std::span<const BoundLaunch> launches) {
  for (const BoundLaunch& launch : launches) LATHE_TRY_STATUS(launch_one(device, launch));
  return {};
}

Result<std::unique_ptr<Chain>> Chain::make(Device& device,
                                           std::span<const std::vector<BoundLaunch>> sets,
                                           int calls) {
  const Api& api = device.api();
  const Owned<Graph> graph = LATHE_TRY(capture(device, sets, calls));
  GraphExec exec = nullptr;
  LATHE_TRY_STATUS(device.expect_after(api.GraphInstantiateWithFlags(&exec, graph.get(), 0),
                                       "the driver does not take the graph of the candidate"));
  std::unique_ptr<Chain> chain(new Chain(device, calls));
  chain->exec_ = {exec, [destroy = api.GraphExecDestroy](GraphExec e) { destroy(e); }};
  return chain;
}

Result<double> Chain::run() {
  const auto launch = [&] {
    return device_.expect_after(device_.api().GraphLaunch(exec_.get(), device_.stream()),
                                "the driver does not launch the graph of the candidate");
  };
  return LATHE_TRY(device_.time(kNotFinished, launch)) / calls_;
}

}  // namespace lathe::cuda
