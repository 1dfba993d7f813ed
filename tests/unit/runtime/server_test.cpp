#include "runtime/runner/server.h"

#include <gtest/gtest.h>

#include <thread>

namespace lathe::runner {
namespace {

// Opens nothing; a candidate breaks it.
class FragileEngine final : public Engine {
 public:
  Result<Fingerprint> machine() override { return Fingerprint{}; }
  Status set_up(const RunnerSetup&, int) override { return {}; }
  Result<std::unique_ptr<Runnable>> open(Fd, const std::vector<tensor::Border>&,
                                         const std::vector<tensor::Border>&, const Fd*) override {
    usable_ = ++opened_ < 2;
    return fail(ErrorKind::kRun, "it broke");
  }
  double sentinel() override { return 1; }
  bool usable() const override { return usable_; }

 private:
  int opened_ = 0;
  bool usable_ = true;
};

Result<Message> answer_of(Channel& tuner, const Packet& packet, const std::vector<int>& fds) {
  LATHE_TRY_STATUS(tuner.send(packet, fds));
  return tuner.receive();
}

TEST(Server, EndsWhereItsEngineIsBroken) {
  auto ends = *make_pair_of_ends();
  std::thread thread([end = std::move(ends.second)]() mutable {
    Channel channel(std::move(end), Patience::kEndless);
    FragileEngine engine;
    Server(channel, engine).serve();
  });
  Channel tuner(std::move(ends.first));
  EXPECT_TRUE(tuner.receive()) << "the greeting";
  const Fd file = *make_memory_file("nothing", std::int64_t{64});
  const std::vector fds{file.get()};
  const auto early = answer_of(tuner, encode(Load{}), fds);
  ASSERT_TRUE(early);
  EXPECT_EQ(decode<Error>(*early)->message, "a candidate came before its workload");
  const auto reference = answer_of(tuner, encode(ReferenceInfo{}), {});
  ASSERT_TRUE(reference);
  EXPECT_EQ(decode<Error>(*reference)->message, "a reference came before its workload");
  ASSERT_TRUE(answer_of(tuner, encode(KeepAsset{"inputs", {}}), fds));
  ASSERT_TRUE(answer_of(tuner, encode(RunnerSetup{.inputs_asset = "inputs"}), {}));
  const auto first = answer_of(tuner, encode(Load{}), fds);
  ASSERT_TRUE(first);
  EXPECT_EQ(decode<Error>(*first)->message, "it broke");
  const auto last = answer_of(tuner, encode(Load{}), fds);
  ASSERT_TRUE(last);
  EXPECT_EQ(decode<Broken>(*last)->error.message, "it broke");
  EXPECT_EQ(tuner.receive().error().kind, ErrorKind::kIo) << "it has ended";
  thread.join();
}

}  // namespace
}  // namespace lathe::runner
