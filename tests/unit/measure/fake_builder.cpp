// Stands in for lathe-builder: a trace of one split of loop "X" yields the hand-made candidate X,
// or misbehaves itself.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "compiler/schedule/step.h"
#include "tuner/measure/build_protocol.h"

namespace {

using namespace lathe;

// A test may have candidates of its own, as images for a device.
std::vector<std::byte> library(const std::string& name) {
  const char* const own = std::getenv("LATHE_TEST_CANDIDATES");
  const std::string folder = own != nullptr && name != "reference" ? own : LATHE_CANDIDATES;
  std::ifstream file(folder + "/" + name + ".so", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto raw = std::as_bytes(std::span(bytes));
  return {raw.begin(), raw.end()};
}

// Also what happens the second time: a file that remembers the first.
bool first_time(const std::string& what) {
  const auto mark = std::filesystem::path(std::getenv("LATHE_TEST_FOLDER")) / what;
  if (std::filesystem::exists(mark)) return false;
  std::ofstream(mark) << "x";
  return true;
}

void misbehave(const std::string& what) {
  if (what == "builder_crash") ::raise(SIGSEGV);
  if (what == "builder_crash_once" && first_time(what)) ::raise(SIGSEGV);
  if (what == "builder_exit") ::_exit(9);
  if (what == "builder_memory") ::_exit(runner::kOutOfMemoryStatus);
  if (what == "builder_hang")
    for (;;) ::sleep(1);
  if (what == "builder_garbage") {
    const char text[] = "terminate called after throwing an instance of 'std::bad_alloc'";
    if (::write(runner::kChannelFd, text, sizeof text) < 0) ::_exit(1);
    for (;;) ::sleep(1);
  }
}

measure::Built built_as(const std::string& name) {
  measure::Built built;
  built.library = library(name);
  built.program_hash = name;
  built.inputs = {tensor::plain_border("A", Dtype::kF32, {11, 13}),
                  tensor::plain_border("B", Dtype::kF32, {11, 17})};
  built.outputs = {tensor::plain_border("C", Dtype::kF32, {13, 17})};
  return built;
}

// The one that a test asked for, as a compiler with a fault would build it.
measure::Built reference() {
  const char* asked = std::getenv("LATHE_TEST_REFERENCE");
  measure::Built built = built_as(asked != nullptr ? asked : "reference");
  for (auto& border : built.inputs) border.dtype = Dtype::kF64;
  built.outputs = {tensor::plain_border("C", Dtype::kF64, {13, 17}),
                   tensor::plain_border("C_bound", Dtype::kF64, {13, 17})};
  return built;
}

// The kernel of the machine's peak, where a test asked for one.
Result<measure::BuiltPeak> peak() {
  const char* asked = std::getenv("LATHE_TEST_PEAK");
  if (asked == nullptr) return fail(ErrorKind::kBuild, "no such kernel here");
  const std::string name = asked;
  misbehave(name);
  return measure::BuiltPeak{built_as(name.starts_with("builder_") ? "good" : name), 1e6};
}

std::set<std::string> known;

Result<measure::Built> build(const runner::Message& message) {
  const auto request = *runner::decode<measure::BuildRequest>(message);
  known.insert(request.known.begin(), request.known.end());
  const auto trace = *schedule::trace_from_json(*parse_json(request.trace));
  std::string name = trace.empty() ? "good" : std::get<schedule::Split>(trace.at(0)).loop;
  misbehave(name);
  if (name == "refused")
    return fail_at("step 0", ErrorKind::kIllegalSchedule, "there is no loop of this name");
  if (name == "no_disk")
    return fail_at("/tmp/code.o", ErrorKind::kIo, "the file cannot be written (No space left)");
  if (name.starts_with("builder_")) name = "good";
  auto built = built_as(name.substr(0, name.find('@')));
  if (known.contains(built.program_hash) && !request.anew) {
    built.known = true;
    built.library.clear();
  }
  return built;
}

runner::Packet answer(const runner::Message& message) {
  if (runner::is<measure::Setup>(message)) {
    known.clear();
    return runner::encode(measure::SetUp{});
  }
  if (runner::is<measure::BuildReference>(message)) return runner::encode(reference());
  if (runner::is<measure::BuildPeak>(message)) {
    const auto built = peak();
    return built ? runner::encode(*built) : runner::encode(built.error());
  }
  if (runner::is<measure::BuildStream>(message))
    return runner::encode(Error{ErrorKind::kBuild, "no such kernel here", {}});
  const auto built = build(message);
  return built ? runner::encode(*built) : runner::encode(built.error());
}

}  // namespace

int main() {
  runner::Channel channel{runner::Fd(runner::kChannelFd)};
  if (!channel.send(runner::encode(measure::BuilderMessages::greeting()))) return 1;
  for (;;) {
    const auto message = channel.receive();
    if (!message) return 0;
    if (!channel.send(answer(*message))) return 1;
  }
}
