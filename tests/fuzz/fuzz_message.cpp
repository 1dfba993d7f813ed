// Any bytes either are a message, and then the only form of it, or are refused with a sentence. The
// first byte chooses the message; where it is 255, the rest is what arrives at a channel.
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/runner/protocol.h"
#include "tuner/measure/build_protocol.h"

namespace {

using namespace lathe;
using namespace lathe::runner;

template <class Message>
void try_as(std::string_view body) {
  const auto message =
      decode<Message>({kSchema<Message>.type, kSchema<Message>.version, std::string(body)});
  if (message) LATHE_CHECK(encode(*message).body == body);
  else LATHE_CHECK(!message.error().message.empty());
}

template <class... All>
void try_as_one(Messages<All...>, std::uint8_t type, std::string_view body) {
  ((kSchema<All>.type == type ? try_as<All>(body) : void()), ...);
}

void arrive(std::string_view bytes) {
  auto ends = make_pair_of_ends();
  LATHE_CHECK(ends.has_value());
  Channel channel(std::move(ends->second));
  // More than the socket holds does not arrive.
  const ssize_t sent =
      ::send(ends->first.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return;
  for (;;) {
    const auto message = channel.poll_message();
    if (!message || !*message) return;
    LATHE_CHECK((*message)->body.size() <= bytes.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 255) {
    arrive(rest);
    return 0;
  }
  try_as_one(RunnerMessages(), data[0], rest);
  try_as_one(measure::BuilderMessages(), data[0], rest);
  try_as_one(Messages<Greeting>(), data[0], rest);
  return 0;
}
