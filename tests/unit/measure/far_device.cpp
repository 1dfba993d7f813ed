// Stands in for another machine: serves runners over TCP, which passes no descriptors.
//
//     far_device FOLDER RUNNER HOW
//
// FOLDER/port tells where; FOLDER/runners has the number of each runner's process. HOW is "direct":
// the runner itself speaks over the socket; "watched": what is asked goes through this program,
// which writes the type of each message to FOLDER/asked; "other": the same, and the device says
// that it is another one.
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/target_json.h"
#include "runtime/runner/channel.h"
#include "runtime/runner/protocol.h"

namespace {

using namespace lathe;

struct Place {
  std::string folder, runner, how;
  std::string at(const char* name) const { return folder + "/" + name; }
};

pid_t start_runner(const Place& place, int end) {
  const pid_t runner = ::fork();
  if (runner == 0) {
    ::dup2(end, runner::kChannelFd);
    ::execl(place.runner.c_str(), place.runner.c_str(), nullptr);
    ::_exit(127);
  }
  std::ofstream(place.at("runners"), std::ios::app) << runner << "\n";
  return runner;
}

// Ends with the connection, or with the runner.
void watch(int connection) {
  pollfd entry{connection, POLLRDHUP, 0};
  while (::poll(&entry, 1, 20) == 0)
    if (::waitpid(-1, nullptr, WNOHANG) != 0) return;
}

runner::Packet changed(const Place& place, const runner::Packet& reply) {
  if (place.how != "other" || !runner::is<runner::Described>(reply)) return reply;
  auto described = *runner::decode<runner::Described>(reply);
  auto machine = *fingerprint_from_json(*parse_json(described.fingerprint));
  machine.as_cpu().model += 1;
  described.fingerprint = to_json(machine).dump();
  return runner::encode(described);
}

void pass_on(const Place& place, runner::Channel& tuner, runner::Channel& runner) {
  std::ofstream asked(place.at("asked"), std::ios::app);
  for (;;) {
    const auto reply = runner.receive();  // a greeting first
    if (!reply || !tuner.send(changed(place, *reply))) return;
    const auto request = tuner.receive();
    if (!request) return;
    asked << request->type << std::endl;
    std::vector<int> files;
    for (const auto& file : request->fds) files.push_back(file.get());
    if (!runner.send(*request, files)) return;
  }
}

// In a process of its own, which dies with the machine.
void serve(const Place& place, int connection, pid_t machine) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != machine) return;  // it died before
  if (place.how == "direct") {
    const pid_t runner = start_runner(place, connection);
    watch(connection);
    ::kill(runner, SIGKILL);
    return;
  }
  auto ends = runner::make_pair_of_ends();
  if (!ends) return;
  const pid_t runner = start_runner(place, ends->second.get());
  ::close(ends->second.release());  // so that the runner's death is seen
  runner::Channel tuner{runner::Fd(connection)}, near{std::move(ends->first)};
  pass_on(place, tuner, near);
  ::kill(runner, SIGKILL);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD, SIG_IGN);
  const Place place{words[1], words[2], words[3]};
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (::bind(listener, address, size) != 0 || ::listen(listener, 8) != 0) return 1;
  ::getsockname(listener, address, &size);
  std::ofstream(place.at("port.new")) << ntohs(at.sin_port);
  std::filesystem::rename(place.at("port.new"), place.at("port"));
  const pid_t machine = ::getpid();
  for (;;) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (::fork() == 0) {
      ::signal(SIGCHLD, SIG_DFL);
      ::close(listener);
      serve(place, connection, machine);
      ::_exit(0);
    }
    ::close(connection);
  }
}
