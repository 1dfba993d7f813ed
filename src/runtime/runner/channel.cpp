#include "runtime/runner/channel.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lathe::runner {
namespace {

std::unexpected<Error> system_error(const char* what) {
  return fail(errno == ENOMEM ? ErrorKind::kOutOfMemory : ErrorKind::kIo, "{}: {}", what,
              std::strerror(errno));
}

constexpr int kSendPatienceMs = 2000;
constexpr std::int64_t kPartBytes = 1 << 20;  // of a file that is sent as bytes

bool wait_writable(int fd, Patience patience) {
  constexpr int kEndless = -1;
  pollfd entry{fd, POLLOUT, 0};
  int ready = 0;
  do ready = ::poll(&entry, 1, patience == Patience::kShort ? kSendPatienceMs : kEndless);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::pair<Fd, Fd>> make_pair_of_ends() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("cannot make a socket pair");
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

Result<Fd> make_memory_file(const char* name, std::int64_t size) {
  Fd file(static_cast<int>(::memfd_create(name, MFD_CLOEXEC)));
  if (!file) return system_error("cannot make a memory file");
  if (::ftruncate(file.get(), size) != 0) return system_error("cannot size a memory file");
  return file;
}

Result<Fd> make_memory_file(const char* name, std::span<const std::byte> content) {
  Fd file(static_cast<int>(::memfd_create(name, MFD_CLOEXEC)));
  if (!file) return system_error("cannot make a memory file");
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("cannot fill a memory file");
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return file;
}

Channel::Channel(Fd end, Patience patience) : end_(std::move(end)), patience_(patience) {
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  ::getsockopt(end_.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size);
  passes_descriptors_ = domain == AF_UNIX;
  const int now = 1;  // requests and replies take turns: none waits for another to share a packet
  if (!passes_descriptors_) ::setsockopt(end_.get(), IPPROTO_TCP, TCP_NODELAY, &now, sizeof now);
}

Status Channel::send(const Packet& packet, std::span<const int> fds) {
  const auto files = static_cast<std::uint32_t>(fds.size());
  if (passes_descriptors_) return send_whole(packet, files, fds);
  for (const int file : fds) LATHE_TRY_STATUS(send_content(file));
  return send_whole(packet, files, {});
}

// Leaves out the holes of a sparse file.
Status Channel::send_content(int file) {
  Carried part{.size = ::lseek(file, 0, SEEK_END)};
  if (part.size < 0) return system_error("cannot tell the size of a file");
  for (part.last = false; !part.last;) {
    const off_t data = ::lseek(file, part.offset, SEEK_DATA);
    if (data >= 0) part.offset = data;
    else if (errno == ENXIO) part.offset = part.size;  // there is no more
    part.bytes.resize(static_cast<std::size_t>(std::min(kPartBytes, part.size - part.offset)));
    if (!part.bytes.empty()) {
      const ssize_t got = ::pread(file, part.bytes.data(), part.bytes.size(), part.offset);
      if (got <= 0) return system_error("cannot read a file that is to be sent");
      part.bytes.resize(static_cast<std::size_t>(got));
    }
    const std::int64_t end = part.offset + static_cast<std::int64_t>(part.bytes.size());
    part.last = end == part.size;
    Packet packet{kCarriedType, kCarriedVersion, {}};
    write(packet.body, part);
    LATHE_TRY_STATUS(send_whole(packet, 0, {}));
    part.offset = end;
  }
  return {};
}

Status Channel::keep_part(std::string_view body) {
  Carried part;
  Reader reader(body);
  reader.read(part);
  const auto bytes = static_cast<std::int64_t>(part.bytes.size());
  if (!reader.complete() || part.size < 0 || part.offset < 0 || bytes > part.size ||
      part.offset > part.size - bytes)
    return fail(ErrorKind::kDataLoss, "the other process sent a damaged part of a file");
  if (!in_part_) {
    if (arrived_.size() >= kMostFds)
      return fail(ErrorKind::kDataLoss, "the other process sent files without their message");
    arrived_.push_back(LATHE_TRY(make_memory_file("lathe-carried", part.size)));
  }
  in_part_ = !part.last;
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t put = ::pwrite(arrived_.back().get(), part.bytes.data() + done,
                                 static_cast<std::size_t>(bytes - done), part.offset + done);
    if (put <= 0) return system_error("cannot keep a file that was sent");
    done += put;
  }
  return {};
}

Status Channel::send_whole(const Packet& packet, std::uint32_t files, std::span<const int> fds) {
  const std::string& body = packet.body;
  LATHE_CHECK(fds.size() <= kMostFds && body.size() <= kLongestBody);
  auto header = bytes_of(
      Header{.type = packet.type, .length = body.size(), .fds = files, .version = packet.version});
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))] = {};
  iovec parts[2] = {{header.data(), header.size()}, {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  for (std::size_t left = header.size() + body.size(); left > 0;) {
    const ssize_t sent = ::sendmsg(end_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      if (wait_writable(end_.get(), patience_)) continue;
      return fail(ErrorKind::kIo, "the other process has not read for two seconds");
    }
    if (sent < 0) return system_error("the other process is gone");
    left -= static_cast<std::size_t>(sent);
    message.msg_control = nullptr;  // descriptors travel with the first byte
    message.msg_controllen = 0;
    for (std::size_t taken = static_cast<std::size_t>(sent); taken > 0;) {
      const std::size_t part = std::min(taken, message.msg_iov->iov_len);
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + part;
      message.msg_iov->iov_len -= part;
      taken -= part;
      if (message.msg_iov->iov_len == 0 && message.msg_iovlen > 1)
        ++message.msg_iov, --message.msg_iovlen;
    }
  }
  return {};
}

Status Channel::fill(bool wait) {
  char bytes[1 << 16];
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))];
  iovec part{bytes, sizeof bytes};
  for (;;) {
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got =
        ::recvmsg(end_.get(), &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    if (got < 0) return system_error("cannot read from the other process");
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        arrived_.emplace_back(fd);
      }
    }
    if (got == 0) return fail(ErrorKind::kIo, "the other process has closed its end");
    buffer_.append(bytes, static_cast<std::size_t>(got));
    if (wait || static_cast<std::size_t>(got) < sizeof bytes) return {};
  }
}

Result<std::optional<Message>> Channel::next_buffered() {
  constexpr std::size_t kHeader = least_bytes<Header>();
  Header header;
  for (;;) {
    if (buffer_.size() < kHeader) return std::nullopt;
    Reader(std::string_view(buffer_).substr(0, kHeader)).read(header);
    if (header.magic != kMagic || header.length > kLongestBody || header.fds > kMostFds)
      return fail(ErrorKind::kDataLoss, "the other process sent something that is not a message");
    if (buffer_.size() < kHeader + header.length) return std::nullopt;
    if (header.type != kCarriedType || header.version != kCarriedVersion) break;
    LATHE_TRY_STATUS(keep_part(std::string_view(buffer_).substr(kHeader, header.length)));
    buffer_.erase(0, kHeader + header.length);
  }
  if (arrived_.size() < header.fds || in_part_)
    return fail(ErrorKind::kDataLoss, "the other process sent a message without its descriptors");
  Message message{{header.type, header.version, buffer_.substr(kHeader, header.length)}, {}};
  buffer_.erase(0, kHeader + header.length);
  std::move(arrived_.begin(), arrived_.begin() + header.fds, std::back_inserter(message.fds));
  arrived_.erase(arrived_.begin(), arrived_.begin() + header.fds);
  return message;
}

Result<std::optional<Message>> Channel::poll_message() {
  auto message = LATHE_TRY(next_buffered());
  if (message) return message;
  const Status filled = fill(false);
  message = LATHE_TRY(next_buffered());  // what came before the end still counts
  if (!message && !filled) return std::unexpected(filled.error());
  return message;
}

Result<Message> Channel::receive() {
  for (;;) {
    auto message = LATHE_TRY(next_buffered());
    if (message) return std::move(*message);
    LATHE_TRY_STATUS(fill(true));
  }
}

}  // namespace lathe::runner
