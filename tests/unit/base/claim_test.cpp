#include "base/claim.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>

#include "base/result.h"

namespace lathe {
namespace {

std::string new_name() { return fmt::format("lathe/test/claim/{}", ::getpid()); }

// Another process, which has begun its work when this returns and ends with this object.
class Other {
 public:
  explicit Other(const std::function<void()>& work) {
    std::array<int, 2> begun{}, end{};
    if (::pipe(begun.data()) != 0 || ::pipe(end.data()) != 0) return;
    child_ = ::fork();
    char byte = 0;
    if (child_ == 0) {
      ::close(end[1]);
      work();
      const bool told = ::write(begun[1], &byte, 1) == 1;
      _exit(told && ::read(end[0], &byte, 1) == 0 ? 0 : 1);
    }
    EXPECT_EQ(::read(begun[0], &byte, 1), 1);
    for (const int file : {begun[0], begun[1], end[0]}) ::close(file);
    end_ = end[1];
  }
  ~Other() {
    ::close(end_);
    ::waitpid(child_, nullptr, 0);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

 private:
  pid_t child_ = -1;
  int end_ = -1;
};

// Takes a name as no claim does, for nobody can ask it who it is.
void squat(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0) _exit(2);
}

TEST(Claim, TellsWhoHoldsTheName) {
  const Claim first(new_name()), second(new_name());
  EXPECT_TRUE(first.held());
  EXPECT_FALSE(second.held());
  EXPECT_EQ(second.holder(), ::geteuid());
}

TEST(Claim, TellsAnotherUserFromThisOne) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  constexpr uid_t kStranger = 65534;
  const std::string name = new_name();
  const Other other([&] {
    if (::setuid(kStranger) != 0) _exit(2);
    static const Claim claim(name);
  });
  const Claim own(name);
  EXPECT_FALSE(own.held());
  EXPECT_EQ(own.holder(), kStranger);
}

TEST(Claim, KnowsNobodyWhoHoldsANameInAnotherWay) {
  const std::string name = new_name();
  const Other other([&] { squat(name); });
  const Claim own(name);
  EXPECT_FALSE(own.held());
  EXPECT_EQ(own.holder(), std::nullopt);
}

}  // namespace
}  // namespace lathe
