#include "runtime/runner/channel.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace lathe::runner {
namespace {

struct Ends {
  Channel a, b;
};
Ends make_ends() {
  auto ends = make_pair_of_ends();
  return {Channel(std::move(ends->first)), Channel(std::move(ends->second))};
}

TEST(Channel, CarriesMessagesInOrder) {
  auto [a, b] = make_ends();
  ASSERT_FALSE(b.poll_message()->has_value());
  ASSERT_TRUE(a.send({1, 5, "one"}).has_value());
  ASSERT_TRUE(a.send({2, 0, ""}).has_value());
  const auto first = b.receive();
  EXPECT_EQ(first->type, 1U);
  EXPECT_EQ(first->version, 5U);
  EXPECT_EQ(first->body, "one");
  const auto second = b.receive();
  EXPECT_EQ(second->type, 2U);
  EXPECT_EQ(second->body, "");
}

TEST(Channel, CarriesLongMessagesAndFiles) {
  auto [a, b] = make_ends();
  const std::string body(3'000'017, 'x');
  const std::string content = "content of a file";
  std::thread sender([&, &a = a] {
    for (int i = 0; i < 3; ++i) {
      auto file = make_memory_file("test", std::as_bytes(std::span(content)));
      const int fds[1] = {file->get()};
      ASSERT_TRUE(a.send({7, 0, body}, fds).has_value());
    }
  });
  for (int i = 0; i < 3; ++i) {
    const auto message = b.receive();
    ASSERT_TRUE(message.has_value());
    EXPECT_EQ(message->body, body);
    ASSERT_EQ(message->fds.size(), 1U);
    char read_back[64] = {};
    EXPECT_EQ(::pread(message->fds[0].get(), read_back, sizeof read_back, 0),
              static_cast<ssize_t>(content.size()));
    EXPECT_EQ(read_back, content);
  }
  sender.join();
}

// Over a socket that passes no descriptors.
Ends make_far_ends() {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  EXPECT_EQ(::bind(listener.get(), address, sizeof at), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), address, &size), 0);
  Fd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(near.get(), address, sizeof at), 0);
  return {Channel(std::move(near)), Channel(Fd(::accept(listener.get(), nullptr, nullptr)))};
}

std::string content_of(const Fd& file) {
  std::string content(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(::pread(file.get(), content.data(), content.size(), 0),
            static_cast<ssize_t>(content.size()));
  return content;
}

TEST(Channel, CarriesFilesAsBytesWhereNoDescriptorPasses) {
  auto [a, b] = make_far_ends();
  std::string long_content(5'000'017, 'x');
  for (std::size_t i = 0; i < long_content.size(); ++i)
    long_content[i] = static_cast<char>(i * 7 + i / 1000);
  std::thread sender([&, &a = a] {
    const auto whole = make_memory_file("test", std::as_bytes(std::span(long_content)));
    const auto empty = make_memory_file("test", 0);
    const auto holes = make_memory_file("test", std::int64_t{1} << 30);
    ASSERT_EQ(::pwrite(holes->get(), "here", 4, 1 << 20), 4);
    const int fds[3] = {whole->get(), empty->get(), holes->get()};
    ASSERT_TRUE(a.send({7, 0, "three"}, fds).has_value());
    ASSERT_TRUE(a.send({8, 0, "none"}).has_value());
    ASSERT_TRUE(a.send({9, 0, "one"}, std::span(fds).first(1)).has_value());
  });
  const auto three = b.receive();
  ASSERT_TRUE(three.has_value()) << three.error().text();
  EXPECT_EQ(three->body, "three");
  ASSERT_EQ(three->fds.size(), 3U);
  EXPECT_TRUE(content_of(three->fds[0]) == long_content);
  EXPECT_EQ(content_of(three->fds[1]), "");
  EXPECT_EQ(::lseek(three->fds[2].get(), 0, SEEK_END), std::int64_t{1} << 30);
  char there[4] = {};
  EXPECT_EQ(::pread(three->fds[2].get(), there, 4, 1 << 20), 4);
  EXPECT_EQ(std::string(there, 4), "here");
  EXPECT_TRUE(b.receive()->fds.empty());
  const auto one = b.receive();
  ASSERT_EQ(one->fds.size(), 1U);
  EXPECT_TRUE(content_of(one->fds[0]) == long_content);
  sender.join();
}

TEST(Channel, RefusesDamagedPartsOfFiles) {
  const auto refused = [](const Carried& part, const char* words) {
    auto [a, b] = make_ends();
    Packet packet{kCarriedType, kCarriedVersion, {}};
    write(packet.body, part);
    ASSERT_TRUE(a.send(packet).has_value());
    ASSERT_TRUE(a.send({1, 0, "message"}).has_value());
    const auto message = b.receive();
    ASSERT_FALSE(message.has_value());
    EXPECT_EQ(message.error().kind, ErrorKind::kDataLoss);
    EXPECT_NE(message.error().message.find(words), std::string::npos) << message.error().text();
  };
  const std::vector<std::byte> bytes(8);
  refused({.size = 7, .bytes = bytes}, "damaged");
  refused({.size = 8, .offset = 1, .bytes = bytes}, "damaged");
  refused({.size = 8, .offset = -1, .bytes = bytes}, "damaged");
  refused({.size = -1}, "damaged");
  refused({.size = 9, .last = false, .bytes = bytes}, "without its descriptors");
}

TEST(Channel, SaysWhenThePeerIsGone) {
  auto [a, b] = make_ends();
  ASSERT_TRUE(a.send({1, 0, "last words"}).has_value());
  {
    const Channel gone = std::move(a);
  }
  EXPECT_EQ((*b.poll_message())->body, "last words");
  const auto end = b.poll_message();
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().kind, ErrorKind::kIo);
  EXPECT_FALSE(b.send({1, 0, "x"}).has_value());
}

TEST(Channel, RefusesNonsense) {
  auto [a, b] = make_ends();
  const std::string nonsense = "Segmentation fault (core dumped)\n";
  ASSERT_EQ(::send(a.fd(), nonsense.data(), nonsense.size(), 0),
            static_cast<ssize_t>(nonsense.size()));
  const auto message = b.poll_message();
  ASSERT_FALSE(message.has_value());
  EXPECT_EQ(message.error().kind, ErrorKind::kDataLoss);
}

TEST(Channel, HalfAMessageDoesNotBlock) {
  auto [a, b] = make_ends();
  const auto header = bytes_of(Header{.type = 1, .length = 100});
  ASSERT_EQ(::send(a.fd(), header.data(), header.size(), 0), static_cast<ssize_t>(header.size()));
  const auto message = b.poll_message();
  ASSERT_TRUE(message.has_value());
  EXPECT_FALSE(message->has_value());
}

}  // namespace
}  // namespace lathe::runner
