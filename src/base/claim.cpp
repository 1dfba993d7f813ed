#include "base/claim.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace lathe {

// A socket in Linux's abstract name space: its path begins with a zero.
Claim::Claim(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), size, address.sun_path + 1);
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  held_ = ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0 ||
          errno != EADDRINUSE;
}

Claim::~Claim() {
  if (socket_ >= 0) ::close(socket_);
}

}  // namespace lathe
