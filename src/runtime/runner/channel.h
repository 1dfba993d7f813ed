// Messages with files between two processes, over a socket.
//
// A message is a header, `length` bytes, and files. Between processes of one machine, on a socket
// of the Unix domain, descriptors of the files travel beside the header; on any other socket what
// is in them travels before it, in packets of its own. Who sends and who receives sees no
// difference, but that a file which came as bytes is a copy.
//
// The receiver keeps what has arrived in a buffer. So a peer that stops in the middle of a message,
// or sends nonsense, never blocks an event loop.
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

// A part of a file that belongs to the next message. What no part covers is zero. A file has one
// part at least, and its parts come in the order of their offsets.
struct Carried {
  std::int64_t size = 0, offset = 0;  // of the file, and of this part in it
  bool last = true;
  std::vector<std::byte> bytes;
};
inline constexpr std::uint32_t kCarriedType = 99, kCarriedVersion = 1;
template <>
inline constexpr auto kFields<Carried> =
    fields<Carried>(&Carried::size, &Carried::offset, &Carried::last, &Carried::bytes);

// How long one waits for a peer that does not read: the tuner shortly, its helpers until it is
// gone.
enum class Patience { kShort, kEndless };

class Channel {
 public:
  explicit Channel(Fd end, Patience patience = Patience::kShort);
  int fd() const { return end_.get(); }

  // `fds`: files from their beginning. Fails with kIo where the peer is gone or, of short patience,
  // has not read for two seconds.
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
  Status send_whole(const Packet& packet, std::uint32_t files, std::span<const int> fds);
  Status send_content(int file);
  Status keep_part(std::string_view body);

  Fd end_;
  Patience patience_;
  bool passes_descriptors_;
  std::string buffer_;
  std::vector<Fd> arrived_;
  bool in_part_ = false;  // parts of the last of `arrived_` are still to come
};

}  // namespace lathe::runner
