#include "runtime/runner/channel.h"

#include <gtest/gtest.h>
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
