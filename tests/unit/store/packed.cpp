// The compact form of records: the same comes back, and what is damaged is refused.
#include "tuner/store/packed.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tuner/store/database.h"
#include "tuner/store/visits.h"
#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

void expect_back(const std::vector<double>& numbers, std::size_t most_bytes = 10'000) {
  std::string bytes;
  append_numbers(bytes, numbers);
  EXPECT_LE(bytes.size(), most_bytes);
  std::string_view left = bytes;
  std::vector<double> back;
  ASSERT_TRUE(take_numbers(left, back));
  EXPECT_TRUE(left.empty());
  ASSERT_EQ(back.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint64_t>(back[i]), std::bit_cast<std::uint64_t>(numbers[i]))
        << numbers[i];
}

TEST(Packed, NumbersComeBackBitByBit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_back({});
  expect_back({0, -0.0, 1e-300, 1e300, kInfinity, -kInfinity, std::nan("")});
  expect_back({std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()});
  expect_back({1.0 / 3, 2.0 / 3, -1e-9, 12345678.9});
  expect_back({0.001, 0.002, 0.0015}, 2 + 3 * 2);
  Rng rng(5);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<double> numbers(rng.below(9));
    for (double& number : numbers)
      number = std::bit_cast<double>(static_cast<std::uint64_t>(rng.uniform() * 0x1p63) * 2 +
                                     rng.below(2));
    expect_back(numbers);
    for (double& number : numbers)
      number = std::ldexp(rng.uniform(), -static_cast<int>(rng.below(60)));
    expect_back(numbers);
    for (double& number : numbers) number = std::round(rng.uniform() * 1e6) * 1e-9;
    expect_back(numbers);
  }
}

// Seconds since the machine started are large, so that their differences have few bits.
TEST(Packed, TimesOfAClockAreSmall) {
  std::vector<double> times;
  double clock = 54'321.123456789;
  Rng rng(6);
  for (int i = 0; i < 32; ++i) {
    const double begin = clock;
    clock += 5e-4 * (1 + 0.05 * rng.uniform());
    times.push_back(clock - begin);
  }
  expect_back(times, 32 * 5);
}

TEST(Packed, DamagedBytesAreRefused) {
  const std::vector<Visit> visits = {{0, {1e-3, 1.5e-3, 1.0 / 3}, 2e-4, {3e-3}}, {7, {}, 1e-4, {}}};
  const std::string whole = packed(visits);
  EXPECT_EQ(visits_to_json(*unpacked_visits(whole)), visits_to_json(visits));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(unpacked_visits(whole.substr(0, size))) << size;
  EXPECT_FALSE(unpacked_visits(whole + "x"));
  Rng rng(7);
  for (int round = 0; round < 20'000; ++round) {  // never a crash, nor all memory
    std::string bytes = whole;
    bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    (void)unpacked_visits(bytes);
  }
}

TEST_F(StoreTest, TracesThatShareStepsTakeLittle) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> records;
  for (int i = 0; i < 500; ++i) {
    records.push_back(a_record(run, i));
    Json& trace = records.back().trace = Json::array();
    for (int step = 0; step < 60; ++step)
      trace.push_back({{"step", "split"}, {"loop", fmt::format("C.{}", step)}, {"factor", i % 7}});
    records.back().config = {{"tile.p", i}, {"order", "ab"}, {"none", nullptr}};
  }
  const auto wanted = records;
  ASSERT_TRUE(store->add(records));
  const auto read = all(*store);
  ASSERT_EQ(read.size(), wanted.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].trace, wanted[i].trace);
    EXPECT_EQ(dump(read[i].config), dump(wanted[i].config));
  }
  auto database = *Database::open(path(), 1);
  const auto bytes = *database.integer("SELECT sum(length(trace)) / count(*) FROM records");
  EXPECT_LE(bytes, 130);  // 60 steps of some 45 characters
}

TEST_F(StoreTest, ALostStepIsDamage) {
  {
    auto store = open();
    const auto run = *store->open_run(a_run());
    std::vector<Record> records = {a_record(run, 0)};
    ASSERT_TRUE(store->add(records));
    auto database = *Database::open(path(), 1);
    ASSERT_TRUE(database.exec("DELETE FROM names WHERE text LIKE '%split%'"));
  }
  const auto status = open()->each({}, [](const Record&) { return true; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kDataLoss);
  EXPECT_NE(status.error().message.find("record 1 (its text "), std::string::npos)
      << status.error().text();
}

// Texts of a batch that was refused are not there, though their numbers were handed out.
TEST_F(StoreTest, ARefusedBatchLeavesNoNumbersBehind) {
  auto store = open();
  const auto run = *store->open_run(a_run());
  std::vector<Record> taken = {a_record(run, 0)};
  ASSERT_TRUE(store->add(taken));
  std::vector<Record> refused = {a_record(run, 1), a_record(run, 0)};
  refused[0].config = {{"tile.p", 77}};
  ASSERT_FALSE(store->add(refused));
  std::vector<Record> others = {a_record(run, 2)};
  others[0].config = {{"tile.p", 99}};
  std::vector<Record> again = {a_record(run, 1)};
  again[0].config = {{"tile.p", 77}};
  ASSERT_TRUE(store->add(others));
  ASSERT_TRUE(store->add(again));
  const auto read = all(*open());
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[1].config, Json({{"tile.p", 99}}));
  EXPECT_EQ(read[2].config, Json({{"tile.p", 77}}));
}

}  // namespace
}  // namespace lathe::store
