// A `lathe-builder` with a planted bug: where the workload adds 1, its candidates add 2. References
// are built right.
#include <thread>
#include <utility>

#include "compiler/backends/backends.h"
#include "runtime/runner/channel.h"
#include "runtime/runner/protocol.h"
#include "tuner/measure/build_protocol.h"
#include "tuner/measure/builder/build_server.h"

namespace {

using namespace lathe;

runner::Packet planted(const runner::Packet& packet) {
  if (!runner::is<measure::Setup>(packet)) return packet;
  auto setup = runner::decode<measure::Setup>(packet);
  if (!setup) return packet;
  const auto at = setup->workload.find("+ 1");
  if (at != std::string::npos) setup->workload.replace(at, 3, "+ 2");
  return runner::encode(*setup);
}

}  // namespace

int main() {
  auto ends = runner::make_pair_of_ends();
  if (!ends) return 1;
  std::jthread serving([end = std::move(ends->second)]() mutable {
    runner::Channel channel(std::move(end));
    builder::BuildServer(channel, backends()).serve();
  });
  // Closed before it is waited for.
  runner::Channel tuner{runner::Fd(runner::kChannelFd)}, builder{std::move(ends->first)};
  for (;;) {  // the builder greets, then answers
    const auto reply = builder.receive();
    if (!reply || !tuner.send(*reply)) return 0;
    const auto request = tuner.receive();
    if (!request) return 0;
    if (!builder.send(planted(*request))) return 0;
  }
}
