// What the lists of fields say holds of tables, rows and lines: each test walks over a list.
#include <algorithm>
#include <sstream>

#include "tuner/store/database.h"
#include "tuner/store/fields.h"
#include "unit/store/field_values.h"
#include "unit/store/fixture.h"

namespace lathe::store {
namespace {

void set_value(bool& value, int) { value = true; }
void set_value(int& value, int number) { value = 100 + number; }
void set_value(std::int64_t& value, int number) { value = 100 + number; }
void set_value(std::uint64_t& value, int number) {
  value = 0xffff'ffff'ffff'0000U + static_cast<std::uint64_t>(number);
}
void set_value(double& value, int number) { value = number + 0.1; }
void set_value(std::string& value, int number) { value = fmt::format("it's \"{}\"", number); }
void set_value(CacheMode& value, int) { value = CacheMode::kCold; }
void set_value(Json& value, int number) { value = Json::array({{{"a \"member\"", number}}}); }
void set_value(std::vector<Visit>& value, int number) {
  value = {{number, {number + 0.2, number + 0.3}, number + 0.4, {number + 0.5}}};
}

// Every field has a value of its own, which is not its default.
template <class Fields, class Owner>
void fill(const Fields& fields, Owner& owner) {
  int number = 0;
  for (const auto& field : fields) {
    with_value(field, owner, [at = ++number](auto& value) { set_value(value, at); });
    EXPECT_NE(value_of(field, owner), value_of(field, Owner{})) << field.column;
  }
}

class Fields : public StoreTest {
 protected:
  // A run, and a record of it that has raced and failed, so that it has all fields.
  static store::Run full_run() {
    store::Run run;
    fill(kRunFields, run);
    return run;
  }
  static Record full_record(const store::Run& run) {
    Record record;
    fill(kRecordFields, record);
    record.run = run.id;
    record.workload = run.workload;
    record.target = run.target;
    record.cache_mode = run.cache_mode;
    return record;
  }
};

TEST_F(Fields, ComeBackFromTheirTables) {
  store::Run run;
  Record record;
  {
    auto store = open();
    for (std::uint64_t seed = 0; seed < 3; ++seed) ASSERT_TRUE(store->open_run(a_run(seed)));
    run = *store->open_run(full_run());
    EXPECT_NE(run.id, 0);
    record = full_record(run);
    std::vector<Record> records = {record};
    ASSERT_TRUE(store->add(records));
    EXPECT_EQ(store->open_run(full_run())->id, run.id);
  }
  auto store = open();
  expect_equal(kRunFields, store->runs()->back(), run);
  const auto records = all(*store);
  ASSERT_EQ(records.size(), 1U);
  expect_equal(kRecordFields, records[0], record);
}

TEST_F(Fields, EachIsAColumn) {
  open();
  auto database = *Database::open(path(), 1);
  const auto expect_columns = [&](const char* table, const auto& fields) {
    for (const auto& field : fields)
      EXPECT_EQ(*database.integer(
                    fmt::format("SELECT count(*) FROM pragma_table_info('{}') WHERE name = '{}' "
                                "AND \"notnull\" = 1",
                                table, field.column)),
                1)
          << table << " " << field.column;
  };
  expect_columns("runs", kRunFields);
  expect_columns("records", kRecordFields);
}

TEST_F(Fields, MakeARunTheSame) {
  auto store = open();
  const store::Run run = *store->open_run(a_run());
  for (const auto& field : kRunFields) {
    store::Run other = a_run();
    with_value(field, other, [](auto& value) { set_value(value, 7); });
    EXPECT_NE(store->open_run(other)->id, run.id) << field.column;
  }
  EXPECT_EQ(store->runs()->size(), 1 + kRunFields.size());
}

TEST_F(Fields, ComeBackFromALine) {
  const store::Run run = full_run();
  const Record record = full_record(run);
  const auto line = parse_json(dump(to_json(run, record)));
  ASSERT_TRUE(line);
  const auto read = from_json(*line);
  ASSERT_TRUE(read) << read.error().text();
  expect_equal(kRunFields, read->first, run);
  std::vector<std::string_view> without;
  for (const auto& field : kRecordFields)
    if (field.line.empty()) without.push_back(field.column);
  // The run of an import is another, and a time of a race tells that there was one.
  EXPECT_EQ(without, (std::vector<std::string_view>{"run", "raced"}));
  Record wanted = record;
  wanted.run = 0;
  expect_equal(kRecordFields, read->second, wanted);
}

TEST_F(Fields, ComeBackFromAnImport) {
  const store::Run run = full_run();
  const Record record = full_record(run);
  auto store = open();
  std::stringstream lines(dump(to_json(run, record)) + "\n");
  ASSERT_TRUE(import_lines(*store, lines));
  std::ostringstream written;
  ASSERT_TRUE(export_lines(*store, {}, written));
  EXPECT_EQ(written.str(), lines.str());
}

std::string object_of(std::string_view line) {
  const std::size_t slash = line.find('/');
  return std::string(line.substr(0, slash == std::string_view::npos ? 0 : slash));
}

// Lines that came before the field lack it, or its whole object.
bool may_lack(const RunField&) { return false; }
bool may_lack(const RecordField& asked) {
  const std::string object = object_of(asked.line);
  int since = object.empty() ? 1 : asked.since;
  for (const auto& field : kRecordFields)
    if (object_of(field.line) == object) since = std::min(since, field.since);
  return asked.since > since;
}

TEST_F(Fields, OfALineAreAllRequiredButTheLater) {
  const store::Run run = full_run();
  const Json whole = to_json(run, full_record(run));
  const auto expect_required = [&](const auto& fields) {
    for (const auto& field : fields) {
      if (field.line.empty()) continue;
      Json lacking = whole;
      const std::string object = object_of(field.line);
      const std::string member(field.line.substr(field.line.find('/') + 1));  // npos + 1 is 0
      EXPECT_EQ((object.empty() ? lacking : lacking[object]).erase(member), 1U) << field.line;
      const auto read = from_json(lacking);
      EXPECT_EQ(read.has_value(), may_lack(field)) << field.line;
      if (read) continue;
      EXPECT_EQ(read.error().message, fmt::format("member \"{}\" is missing", member));
    }
  };
  expect_required(kRunFields);
  expect_required(kRecordFields);
}

TEST_F(Fields, OfASummaryAreAllButTheBulky) {
  auto store = open();
  const store::Run run = *store->open_run(full_run());
  const Record record = full_record(run);
  std::vector<Record> records = {record};
  ASSERT_TRUE(store->add(records));
  const auto summaries = all(*store, {.summary = true});
  ASSERT_EQ(summaries.size(), 1U);
  for (const auto& field : kRecordFields)
    EXPECT_EQ(value_of(field, summaries[0]), field.bulky ? Json::array() : value_of(field, record))
        << field.column;
}

TEST_F(Fields, OfARaceAreSetByIt) {
  auto store = open();
  const store::Run run = *store->open_run(a_run());
  std::vector<Record> records = {a_record(run, 0)};
  ASSERT_TRUE(store->add(records));
  Record wanted = records[0];
  for (const auto& field : kRecordFields)
    if (is_of_race(field)) with_value(field, wanted, [](auto& value) { set_value(value, 9); });
  RaceResult result;
  result.record = records[0].id;
  result.seconds = wanted.race_seconds = 1.5e-3;
  result.spread = wanted.race.spread;
  result.after_1ms = wanted.race.after_1ms;
  result.after_20ms = wanted.race.after_20ms;
  result.lost = wanted.race.lost;
  ASSERT_TRUE(store->set_race({result}, wanted.race));
  wanted.raced = true;
  expect_equal(kRecordFields, all(*store)[0], wanted);
}

}  // namespace
}  // namespace lathe::store
