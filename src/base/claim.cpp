#include "base/claim.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace lathe {
namespace {

constexpr int kLooks = 20;
constexpr useconds_t kLookPause = 1000;  // a holder listens a moment after it has the name

struct Address {
  sockaddr_un text{};
  socklen_t length = 0;

  // A socket in Linux's abstract name space: its path begins with a zero.
  explicit Address(const std::string& name) {
    text.sun_family = AF_UNIX;
    const std::size_t size = std::min(name.size(), sizeof text.sun_path - 1);
    std::copy_n(name.begin(), size, text.sun_path + 1);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&text); }
};

int new_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

// Who listens there, as the system knows it.
std::optional<uid_t> listener_at(const Address& address) {
  const int socket = new_socket();
  if (socket < 0) return std::nullopt;
  int connected = ::connect(socket, address.get(), address.length);
  for (int i = 0; i < kLooks && connected != 0 && errno == ECONNREFUSED; ++i) {
    ::usleep(kLookPause);
    connected = ::connect(socket, address.get(), address.length);
  }
  ucred listener{};
  socklen_t size = sizeof listener;
  const bool known =
      connected == 0 && ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &listener, &size) == 0;
  ::close(socket);
  return known ? std::optional(listener.uid) : std::nullopt;
}

}  // namespace

Claim::Claim(const std::string& name) : socket_(new_socket()) {
  if (socket_ < 0) return;
  const Address address(name);
  held_ = ::bind(socket_, address.get(), address.length) == 0 || errno != EADDRINUSE;
  if (held_) ::listen(socket_, SOMAXCONN);
  else holder_ = listener_at(address);
}

Claim::~Claim() {
  if (socket_ >= 0) ::close(socket_);
}

}  // namespace lathe
