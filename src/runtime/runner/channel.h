// Messages with file descriptors between two processes of one machine, over a socket pair.
//
// A message is a header, `length` bytes, and descriptors that travel beside the header. The
// receiver keeps what has arrived in a buffer. So a peer that stops in the middle of a message, or
// sends nonsense, never blocks an event loop.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/runner/wire.h"

namespace lathe::runner {

// An owned file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }  // the caller closes it
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Two connected ends, both closed on exec.
Result<std::pair<Fd, Fd>> make_pair_of_ends();
// An anonymous file with this content, closed on exec; it carries libraries and tensors.
Result<Fd> make_memory_file(const char* name, std::span<const std::byte> content);
Result<Fd> make_memory_file(const char* name, std::int64_t size);

struct Packet {
  std::uint32_t type = 0, version = 0;  // of the message in `body`
  std::string body;
};
struct Message : Packet {
  std::vector<Fd> fds;
};

inline constexpr std::uint32_t kMagic = 0x3148544c;  // "LTH1"
inline constexpr std::uint64_t kLongestBody = std::uint64_t{1} << 28;
inline constexpr std::uint32_t kMostFds = 8;
// Stays as it is in every version of Lathe.
struct Header {
  std::uint32_t magic = kMagic, type = 0;
  std::uint64_t length = 0;
  std::uint32_t fds = 0, version = 0;
};
template <>
inline constexpr auto kFields<Header> =
    fields<Header>(&Header::magic, &Header::type, &Header::length, &Header::fds, &Header::version);

// How long one waits for a peer that does not read: the tuner shortly, its helpers until it is
// gone.
enum class Patience { kShort, kEndless };

class Channel {
 public:
  explicit Channel(Fd end, Patience patience = Patience::kShort)
      : end_(std::move(end)), patience_(patience) {}
  int fd() const { return end_.get(); }

  // Fails with kIo where the peer is gone or, of short patience, has not read for two seconds.
  Status send(const Packet& packet, std::span<const int> fds = {});
  // Returns a message that has arrived completely, or nothing. Fails with kIo where the peer is
  // gone, kDataLoss where the bytes are no message.
  Result<std::optional<Message>> poll_message();
  // Waits for a message.
  Result<Message> receive();

 private:
  // Reads what has arrived; with `wait`, waits for the first byte.
  Status fill(bool wait);
  Result<std::optional<Message>> next_buffered();

  Fd end_;
  Patience patience_;
  std::string buffer_;
  std::vector<Fd> arrived_;
};

}  // namespace lathe::runner
