#include "runtime/runner/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "base/rng.h"
#include "runtime/runner/protocol.h"

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
  ASSERT_TRUE(a.send(1, "one").has_value());
  ASSERT_TRUE(a.send(2, "").has_value());
  EXPECT_EQ(b.receive()->body, "one");
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
      ASSERT_TRUE(a.send(7, body, fds).has_value());
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
  ASSERT_TRUE(a.send(1, "last words").has_value());
  {
    const Channel gone = std::move(a);
  }
  EXPECT_EQ((*b.poll_message())->body, "last words");
  const auto end = b.poll_message();
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().kind, ErrorKind::kIo);
  EXPECT_FALSE(b.send(1, "x").has_value());
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
  const Header header{kMagic, 1, 100, 0, 0};
  ASSERT_EQ(::send(a.fd(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  const auto message = b.poll_message();
  ASSERT_TRUE(message.has_value());
  EXPECT_FALSE(message->has_value());
}

TEST(Protocol, MessagesRoundTrip) {
  Load load{
      .id = 42, .inputs = {tensor::plain_border("A", Dtype::kF32, {3, 5}, true)}, .check = false};
  const auto back = decode<Load>(encode(load));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->id, 42);
  EXPECT_EQ(back->inputs, load.inputs);
  EXPECT_TRUE(back->outputs.empty());
  EXPECT_FALSE(back->check);
  const auto error = decode<Error>(encode(Error{ErrorKind::kTimeout, "late", "here"}));
  EXPECT_EQ(error->kind, ErrorKind::kTimeout);
  EXPECT_EQ(error->text(), "here: late");
}

TEST(Protocol, DamagedMessagesAreRefusedNotTrusted) {
  const std::string whole =
      encode(Load{.inputs = {tensor::plain_border("A", Dtype::kF32, {3, 5})}});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(decode<Load>(std::string_view(whole).substr(0, length)).has_value());
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed);
    std::string damaged = whole;
    for (int i = 0; i < 4; ++i) damaged[rng.below(damaged.size())] = static_cast<char>(rng.next());
    if (const auto load = decode<Load>(damaged))
      for (const auto& border : load->inputs)
        if (border.size < 1'000'000) (void)tensor::verify(border);  // must not crash
  }
}

}  // namespace
}  // namespace lathe::runner
