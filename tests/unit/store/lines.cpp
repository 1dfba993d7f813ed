#include <limits>
#include <sstream>

#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

std::string exported(Store& store, const Query& query = {}) {
  std::ostringstream out;
  EXPECT_TRUE(export_lines(store, query, out));
  return out.str();
}

Result<ImportCount> import_text(Store& store, const std::string& text) {
  std::istringstream in(text);
  return import_lines(store, in);
}

class Lines : public StoreTest {
 protected:
  std::string filled(Store& store, int count = 5) {
    const auto run = *store.open_run(a_run(0xffff'ffff'ffff'fff1U));
    std::vector<Record> records;
    for (int i = 0; i < count; ++i)
      records.push_back(i % 3 == 2 ? a_failure(run, i) : a_record(run, i));
    EXPECT_TRUE(store.add(records));
    EXPECT_TRUE(store.set_race({{records[0].id, 2e-3}}));
    return exported(store);
  }
};

TEST_F(Lines, RoundTrip) {
  auto from = open("from.db");
  auto to = open("to.db");
  const std::string text = filled(*from);
  EXPECT_EQ(std::ranges::count(text, '\n'), 5);
  const auto count = import_text(*to, text);
  ASSERT_TRUE(count) << count.error().text();
  EXPECT_EQ(count->added, 5);
  EXPECT_EQ(exported(*to), text);
}

// The winner of a race need not have its shortest time, and who never raced has shorter ones.
TEST_F(Lines, KeepWhoIsBest) {
  auto from = open("from.db");
  const auto run = *from->open_run(a_run());
  std::vector<Record> records = {a_record(run, 0), a_record(run, 1), a_record(run, 2)};
  ASSERT_TRUE(from->add(records));
  ASSERT_TRUE(from->set_race({{records[1].id, 2e-3}, {records[2].id, 2.01e-3, 0, true}}));
  auto to = open("to.db");
  ASSERT_TRUE(import_text(*to, exported(*from)));
  EXPECT_EQ((*from->best({.workload = run.workload}))->index, 2);
  EXPECT_EQ((*to->best({.workload = run.workload}))->index, 2);
  EXPECT_EQ(exported(*to), exported(*from));
  std::string wrong = exported(*from);
  wrong.insert(wrong.find("\"standing\":") + 11, "-");
  const std::string refused = import_text(*to, wrong).error().text();
  EXPECT_TRUE(
      refused.starts_with("line 1: member \"standing\": a standing must be a number of "
                          "seconds, a nanosecond at the least, not -0.00"))
      << refused;
}

TEST_F(Lines, KeepThatARaceFailed) {
  auto from = open("from.db");
  const auto run = *from->open_run(a_run());
  std::vector<Record> records = {a_record(run, 0), a_record(run, 1)};
  records[0].seconds = 0.1e-3;
  ASSERT_TRUE(from->add(records));
  ASSERT_TRUE(from->set_race(
      {{records[0].id, std::numeric_limits<double>::infinity()}, {records[1].id, 1e-3}}));
  auto to = open("to.db");
  ASSERT_TRUE(import_text(*to, exported(*from)));
  EXPECT_EQ((*to->best({.workload = run.workload}))->index, 1);
  EXPECT_EQ(exported(*to), exported(*from));
}

TEST_F(Lines, RefuseTimesThatNoCallTakes) {
  const store::Run run = a_run();
  Record record = a_record(run, 0);
  record.raced = true;
  record.race_seconds = 2e-3;
  const Json good = to_json(run, record);
  auto to = open("to.db");
  const auto refuse = [&](const char* where, const char* pointer, const Json& value,
                          const char* sentence) {
    Json line = good;
    line[Json::json_pointer(pointer)] = value;
    const auto count = import_text(*to, dump(good) + "\n" + dump(line) + "\n");
    ASSERT_FALSE(count) << pointer;
    EXPECT_EQ(count.error().text(),
              fmt::format("line 2: member \"{}\" {}; nothing was imported", where, sentence));
  };
  const char* tiny = "is 1e-300 s, less than any call takes (a nanosecond)";
  refuse("seconds", "/seconds", 1e-300, tiny);
  refuse("seconds", "/seconds", 0.9e-9, "is 9e-10 s, less than any call takes (a nanosecond)");
  refuse("race_seconds", "/race_seconds", 1e-300, tiny);
  refuse("visits/seconds", "/visits/0/seconds/1", 1e-300, tiny);
  refuse("visits/seconds", "/visits/0/seconds/0", -1.0,
         "is -1 s, less than any call takes (a nanosecond)");
  refuse("visits/disturbed", "/visits/1/disturbed", {1e-300}, tiny);
  for (const Json& wrong : {Json(0), Json(-1e-3), Json(nullptr)}) {
    const std::string sentence =
        "must be positive where \"error\" is null, not " +
        (wrong.is_null() ? std::string("inf") : fmt::format("{}", wrong.get<double>()));
    refuse("seconds", "/seconds", wrong, sentence.c_str());
  }
  EXPECT_EQ(*to->count({}), 0);
}

TEST_F(Lines, RefuseATimeOfARaceThatNoneCanHave) {
  auto store = open("from.db");
  std::string text = filled(*store);
  const std::string time = "\"race_seconds\":0.002";
  const std::size_t at = text.find(time);
  ASSERT_NE(at, std::string::npos);
  auto to = open("to.db");
  for (const char* wrong : {"\"race_seconds\":0", "\"race_seconds\":-1"}) {
    std::string other = text;
    other.replace(at, time.size(), wrong);
    EXPECT_EQ(import_text(*to, other).error().text(),
              "line 1: member \"race_seconds\" must be positive or null; nothing was imported");
  }
}

TEST_F(Lines, WaitForATunerThatIsAtWork) {
  auto from = open("from.db"), to = open("to.db"), tuner = open("to.db");
  const std::string text = filled(*from);
  const store::Run run = from->runs()->front();
  auto claim = tuner->claim(*tuner->open_run(run));
  ASSERT_TRUE(claim);
  EXPECT_EQ(import_text(*to, text).error().text(),
            "another command is at work on run 1, of which there are trials to import; import "
            "them when it has ended; nothing was imported");
  *claim = nullptr;
  EXPECT_TRUE(import_text(*to, text));
}

TEST_F(Lines, OfTheBestAlone) {
  const auto best_of = [](Store& store, const Query& query = {}) {
    std::ostringstream out;
    EXPECT_TRUE(export_best(store, query, out));
    return out.str();
  };
  auto store = open("from.db");
  EXPECT_EQ(best_of(*store), "");
  const std::string all = filled(*store);
  const std::string best = best_of(*store);
  EXPECT_EQ(std::ranges::count(best, '\n'), 1);
  EXPECT_NE(all.find(best), std::string::npos);
  const auto run = *store->open_run(a_run(1));
  std::vector<Record> others = {a_record(run, 7), a_record(run, 8), a_failure(run, 9)};
  others[0].cpu = "another/1/1";
  others[1].cache_mode = CacheMode::kCold;
  others[2].workload = "one that only failed";
  ASSERT_TRUE(store->add(others));
  EXPECT_EQ(std::ranges::count(best_of(*store), '\n'), 3);
  EXPECT_EQ(best_of(*store, {.cpu = "another/1/1"}).find(best), std::string::npos);
  // An old code generator's does not hide the present one's.
  std::vector<Record> newer = {a_record(run, 10)};
  newer[0].codegen_version += 1;
  newer[0].seconds = 1;
  ASSERT_TRUE(store->add(newer));
  EXPECT_EQ(std::ranges::count(best_of(*store), '\n'), 4);
  // What comes back is the best there, too.
  auto to = open("to.db");
  ASSERT_TRUE(import_text(*to, best_of(*store)));
  EXPECT_EQ(best_of(*to), best_of(*store));
}

TEST_F(Lines, OfAnyLengthThatATrialHas) {
  auto from = open("from.db");
  const std::string text = filled(*from, 1);
  const std::string line = text.substr(0, text.size() - 1);
  // Around the size in which a line is read, with and without an end.
  for (const std::size_t length : {line.size(), std::size_t{16382}, std::size_t{16383},
                                   std::size_t{16384}, std::size_t{70000}})
    for (const char* end : {"", "\n", "\n\n"}) {
      auto to = open(fmt::format("{}{}.db", length, std::string_view(end).size()));
      const auto count =
          import_text(*to, line + std::string(length - std::min(length, line.size()), ' ') + end);
      ASSERT_TRUE(count) << length << count.error().text();
      EXPECT_EQ(count->added, 1);
    }
}

// A stream that never ends and never ends a line, as a device has it.
class Endless : public std::streambuf {
  int_type underflow() override {
    setg(part_, part_, part_ + sizeof part_);
    return 0;
  }
  char part_[4096] = {};
};

TEST_F(Lines, WithoutAnEndAreRefused) {
  auto store = open();
  Endless endless;
  std::istream in(&endless);
  const auto refused = import_lines(*store, in);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "line 1: longer than 64 MiB, which no trial is; nothing was imported");
}

TEST_F(Lines, ACheckMayRefuseATrial) {
  auto from = open("from.db");
  auto to = open("to.db");
  std::istringstream in(filled(*from));
  const auto refused = import_lines(*to, in, [](const store::Run&, const Record& record) -> Status {
    if (record.index < 3) return {};
    return fail_at("here", ErrorKind::kInvalidArgument, "three is too many");
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "line 4: here: three is too many; nothing was imported");
  EXPECT_EQ(*to->count({}), 0);
}

TEST_F(Lines, WhatIsThereIsSkipped) {
  auto store = open();
  const std::string text = filled(*store);
  const auto count = import_text(*store, text + text);
  ASSERT_TRUE(count);
  EXPECT_EQ(count->added, 0);
  EXPECT_EQ(count->already_there, 10);
  EXPECT_EQ(exported(*store), text);
}

TEST_F(Lines, AnotherMachinesTrialsOfTheSameRunAreKept) {
  auto here = open("here.db");
  auto there = open("there.db");
  filled(*here, 3);
  const auto run = *there->open_run(a_run(0xffff'ffff'ffff'fff1U));
  std::vector<Record> records = {a_record(run, 0), a_record(run, 1)};
  for (auto& r : records) r.cpu = "6/85/4";
  ASSERT_TRUE(there->add(records));
  const auto count = import_text(*here, exported(*there));
  ASSERT_TRUE(count) << count.error().text();
  EXPECT_EQ(count->added, 2);
  EXPECT_EQ(*here->count({.cpu = "6/85/4"}), 2);
  EXPECT_EQ(import_text(*here, exported(*there))->already_there, 2);
}

TEST_F(Lines, EmptyLinesAreNothing) {
  auto store = open();
  const auto count = import_text(*store, "\n  \n\r\n");
  ASSERT_TRUE(count);
  EXPECT_EQ(count->added, 0);
}

TEST_F(Lines, AWrongLineIsNamedAndNothingIsAdded) {
  auto from = open("from.db");
  const std::string text = filled(*from);
  auto store = open();
  auto refused = import_text(*store, text + "{\"workload\": 3}\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "line 6: member \"workload\" must be a string, not number; nothing was imported");
  refused = import_text(*store, text.substr(0, text.size() - 40));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, "line 5");
  EXPECT_EQ(*store->count({}), 0);
  EXPECT_EQ(import_text(*store, "[1, 2]").error().text(),
            "line 1: a trial must be a JSON object, not array; nothing was imported");
}

TEST_F(Lines, EveryMemberIsChecked) {
  auto from = open("from.db");
  const std::string text = filled(*from, 1);
  const Json whole = Json::parse(text);
  for (const auto& [member, value] : whole.items()) {
    Json broken = whole;
    broken.erase(member);
    // lines of older Lathes have none
    EXPECT_EQ(from_json(broken).has_value(), member == "race") << member << " missing";
    if (member == "config") continue;  // any JSON
    broken[member] =
        member == "error" || member == "run" || member == "spent" ? Json(5) : Json({{"a", 1}});
    EXPECT_FALSE(from_json(broken)) << member << " of another type";
  }
  Json negative = whole;
  negative["index"] = -1;
  EXPECT_FALSE(from_json(negative));
  Json never = whole;
  never["seconds"] = 0;
  EXPECT_FALSE(from_json(never));
}

TEST_F(Lines, MangledTextNeverCrashes) {
  auto from = open("from.db");
  const std::string text = filled(*from, 2);
  auto store = open();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    std::string mangled = text;
    for (int i = 0; i < 3; ++i) {
      const std::size_t at = rng.below(mangled.size());
      switch (rng.below(3)) {
        case 0: mangled[at] = static_cast<char>(rng.below(256)); break;
        case 1: mangled.erase(at, rng.below(20)); break;
        default: mangled.insert(at, mangled.substr(rng.below(mangled.size()), rng.below(20)));
      }
    }
    (void)import_text(*store, mangled);  // refused or not, it returns
  }
  std::ostringstream out;
  EXPECT_TRUE(export_lines(*store, {}, out));
}

}  // namespace
}  // namespace lathe::store
