#include "runtime/runner/protocol.h"

#include <csignal>
#include <cstring>

namespace lathe::runner {

std::vector<std::int64_t> file_offsets(const std::vector<tensor::Border>& borders) {
  std::vector<std::int64_t> offsets{0};
  for (const auto& border : borders)
    offsets.push_back(offsets.back() + (border.elements() * size_of(border.dtype) + 63) / 64 * 64);
  return offsets;
}

Error unreadable(const Packet& packet, const Schema& wanted) {
  const auto because = [](std::string sentence) {
    return Error{ErrorKind::kDataLoss, std::move(sentence), {}};
  };
  if (packet.type != wanted.type)
    return because(fmt::format("the other process sent message {} instead of {}, a {}", packet.type,
                               wanted.type, wanted.name));
  if (packet.version != wanted.version)
    return because(
        fmt::format("the other process sent version {} of a {}, and this one reads version {}; "
                    "install both together",
                    packet.version, wanted.name, wanted.version));
  return because(fmt::format("the other process sent a damaged {}", wanted.name));
}

Error Crash::error() const {
  const char* name = ::sigabbrev_np(signal);
  Error error{ErrorKind::kRun,
              fmt::format("the candidate crashed with SIG{}", name != nullptr ? name : "?"),
              {}};
  if (signal != SIGSEGV && signal != SIGBUS) return error;
  const char* verb = access == 1 ? "read" : access == 2 ? "wrote" : "touched memory";
  const std::string name_of_buffer(buffer.data(), ::strnlen(buffer.data(), buffer.size()));
  error.place = name_of_buffer;
  switch (region) {
    case 1:
      error.message +=
          fmt::format(": it {} {} bytes before the start of {}", verb, distance, name_of_buffer);
      break;
    case 2:
      error.message += fmt::format(": it {} {} bytes inside {}, which is not writable", verb,
                                   distance, name_of_buffer);
      break;
    case 3:
      error.message +=
          fmt::format(": it {} {} bytes after the end of {}", verb, distance, name_of_buffer);
      break;
    default: error.message += fmt::format(": it {} at address {:#x}", verb, address); break;
  }
  return error;
}

}  // namespace lathe::runner
