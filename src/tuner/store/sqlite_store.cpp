#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/claim.h"
#include "tuner/store/database.h"
#include "tuner/store/owners.h"
#include "tuner/store/queries.h"
#include "tuner/store/rows.h"
#include "tuner/store/schema.h"
#include "tuner/store/store.h"

namespace lathe::store {
namespace {

constexpr const char* kFindTaken =
    "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1), EXISTS (SELECT 1 FROM records WHERE run = "
    "?1 AND idx = ?2)";

// Records of the same workload, target, cache mode and cpu as record ?2 that never raced must stand
// behind ?1: those that do not are moved a little beyond it, in the order of their times.
constexpr const char* kStandBehind =
    "UPDATE records SET standing = ?1 * 1.000001 + 1e-6 * seconds WHERE ok = 1 AND raced = 0 AND "
    "standing <= ?1 AND (workload, target, cache_mode, cpu) = "
    "(SELECT workload, target, cache_mode, cpu FROM records WHERE id = ?2)";

constexpr const char* kStanding = "SELECT standing FROM records WHERE id = ?1 AND standing < 9e300";
constexpr const char* kStandAt = "UPDATE records SET standing = ?2 WHERE id = ?1";
// So much nearer to the top than the others of its race stands who won it.
constexpr double kAhead = 1e-9;

// To the millisecond: a run tries dozens of programs a second.
std::string now_utc() {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const std::time_t whole = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text.data(), now.time_since_epoch().count() % 1000);
}

constexpr double kRescueBusySeconds = 10;

// A path beside `path` where no file is yet. The folder is made where it can be.
std::string free_name_beside(const std::string& path) {
  std::error_code ignored;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  std::string name = path + ".rescued";
  for (int number = 2; std::filesystem::exists(name, ignored); ++number)
    name = fmt::format("{}.rescued-{}", path, number);
  return name;
}

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(Database database) : database_(std::move(database)) {}

  Result<std::shared_ptr<const void>> claim(const Run& run) override {
    const std::string file = database_.file_name();
    if (file.empty()) return nullptr;
    auto claim = std::make_shared<const Claim>(fmt::format("lathe/{}/run/{}", file, run.id));
    // Whoever cannot write to the database is no tuner, and keeps nobody from it.
    if (claim->held() || !may_write(database_.path(), claim->holder())) return claim;
    return fail_at(database_.path(), ErrorKind::kBusy,
                   "another tuner is at work on this run (run {}): wait for its end, or give "
                   "another --seed for a run of its own",
                   run.id);
  }

  Result<Run> open_run(const Run& wanted) override {
    const std::lock_guard lock(mutex_);
    auto transaction = LATHE_TRY(Transaction::begin(database_));
    NameStatements names = LATHE_TRY(name_statements());
    const NameId id_of = [&](std::string_view text) { return name_id(names, text); };
    auto insert = LATHE_TRY(database_.prepare(insert_run_sql()));
    LATHE_TRY_STATUS(bind_run(insert, wanted, id_of));
    LATHE_TRY_STATUS(insert.run());
    auto find = LATHE_TRY(database_.prepare(find_run_sql()));
    LATHE_TRY_STATUS(bind_run(find, wanted, id_of));
    const bool found = LATHE_TRY(find.step());
    LATHE_CHECK(found);
    Run run = wanted;
    run.id = find.integer(0);
    names = {};
    find = {};  // an open statement would keep the transaction from ending
    LATHE_TRY_STATUS(transaction.commit());
    return run;
  }

  Status add(std::vector<Record>& records) override {
    const std::lock_guard lock(mutex_);
    const Status there = still_there();
    LATHE_TRY_STATUS(insert_all(records));
    return there;
  }

  Status still_there() override {
    const std::lock_guard lock(mutex_);
    if (!gone_ && database_.gone()) gone_ = rescue();
    if (gone_) return std::unexpected(*gone_);
    return {};
  }

  Status insert_all(std::vector<Record>& records) {
    auto transaction = LATHE_TRY(Transaction::begin(database_));
    auto insert = LATHE_TRY(database_.prepare(insert_record_sql()));
    std::vector<std::int64_t> ids;
    NameStatements names = LATHE_TRY(name_statements());
    Names fresh;  // they count once this is committed
    const NameId id_of = [&](std::string_view text) -> Result<std::int64_t> {
      if (const auto found = names_.find(text); found != names_.end()) return found->second;
      if (const auto found = fresh.find(text); found != fresh.end()) return found->second;
      const std::int64_t id = LATHE_TRY(name_id(names, text));
      fresh.emplace(text, id);
      return id;
    };
    auto find = LATHE_TRY(database_.prepare(kFindTaken));
    for (auto& record : records) {
      if (record.time.empty()) record.time = now_utc();
      LATHE_TRY_STATUS(check_free(find, record));
      LATHE_TRY_STATUS(bind_record(insert, record, id_of));
      LATHE_TRY_STATUS(insert.run());
      ids.push_back(database_.last_id());
    }
    LATHE_TRY_STATUS(transaction.commit());
    names_.merge(fresh);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      records[i].id = ids[i];
      records[i].standing = first_standing(records[i]);
    }
    return {};
  }

  Status set_race(const std::vector<RaceResult>& results, const RaceNote& note) override {
    const std::lock_guard lock(mutex_);
    const Status there = still_there();
    auto transaction = LATHE_TRY(Transaction::begin(database_));
    LATHE_TRY_STATUS(keep_times(results, note));
    LATHE_TRY_STATUS(stand_in_order(results));
    LATHE_TRY_STATUS(transaction.commit());
    return there;
  }

  Status each(const Query& query, const std::function<bool(const Record&)>& visit) override {
    const std::lock_guard lock(mutex_);
    const Where where = where_of(query);
    auto select = LATHE_TRY(
        database_.prepare(select_records_sql(where.sql + " ORDER BY r.id", query.summary)));
    bind(select, where);
    std::int64_t unreadable = 0;
    Error first;
    while (LATHE_TRY(select.step())) {
      const auto record = read_record(select, part_of());
      if (!record && unreadable++ == 0) first = record.error();
      if (record && !visit(*record)) return {};
    }
    if (unreadable == 0) return {};
    return damaged(first, unreadable);
  }

  Result<std::int64_t> count(const Query& query) override {
    const std::lock_guard lock(mutex_);
    const Where where = where_of(query);
    auto select = LATHE_TRY(database_.prepare("SELECT count(*) FROM records r " + where.sql));
    bind(select, where);
    LATHE_TRY(select.step());
    return select.integer(0);
  }

  Result<std::optional<Record>> best(const Query& query) override {
    std::optional<Record> best;
    LATHE_TRY_STATUS(each_by_standing(query, [&best](const Record& record) {
      best = record;
      return false;
    }));
    return best;
  }

  Status each_by_standing(const Query& query,
                          const std::function<bool(const Record&)>& visit) override {
    const std::lock_guard lock(mutex_);
    Query working = query;
    working.ok = true;
    const Where where = where_of(working);
    auto select = LATHE_TRY(database_.prepare(by_standing_sql(where)));
    bind(select, where);
    while (LATHE_TRY(select.step())) {
      const auto record = read_record(select, part_of());
      if (!record) return damaged(record.error(), 1);
      if (!visit(*record)) break;
    }
    return {};
  }

  Status check() override {
    const std::lock_guard lock(mutex_);
    return database_.check();
  }

  Result<std::vector<Run>> runs() override {
    const std::lock_guard lock(mutex_);
    auto select = LATHE_TRY(database_.prepare(select_runs_sql()));
    std::vector<Run> out;
    while (LATHE_TRY(select.step())) {
      auto run = read_run(select);
      if (!run)
        return fail_at(database_.path(), ErrorKind::kDataLoss, "{} is damaged",
                       run.error().message);
      out.push_back(std::move(*run));
    }
    return out;
  }

  Status put(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    auto insert = LATHE_TRY(
        database_.prepare("INSERT OR REPLACE INTO named_values (key, value) VALUES (?, ?)"));
    return insert.bind(1, key).bind(2, value).run();
  }

  Result<std::optional<std::string>> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    auto select = LATHE_TRY(database_.prepare("SELECT value FROM named_values WHERE key = ?"));
    select.bind(1, key);
    if (!LATHE_TRY(select.step())) return std::nullopt;
    return select.text(0);
  }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Names = std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>;

  struct NameStatements {
    Statement find, insert;
  };
  Result<NameStatements> name_statements() {
    return NameStatements{LATHE_TRY(database_.prepare("SELECT id FROM names WHERE text = ?")),
                          LATHE_TRY(database_.prepare("INSERT INTO names (text) VALUES (?)"))};
  }

  // The id of a text in `names`, to which a new text is added. Call it inside a transaction.
  Result<std::int64_t> name_id(NameStatements& statements, std::string_view text) {
    const bool found = LATHE_TRY(statements.find.bind(1, text).step());
    const std::int64_t id = found ? statements.find.integer(0) : 0;
    LATHE_TRY_STATUS(statements.find.run());
    if (found) return id;
    LATHE_TRY_STATUS(statements.insert.bind(1, text).run());
    return database_.last_id();
  }

  PartOf part_of() {
    return [this](std::int64_t id) -> Result<const Json*> {
      if (const auto found = parts_.find(id); found != parts_.end()) return &found->second;
      auto find = LATHE_TRY(database_.prepare("SELECT text FROM names WHERE id = ?"));
      if (!LATHE_TRY(find.bind(1, id).step()))
        return fail(ErrorKind::kDataLoss, "its text {} is lost", id);
      return &parts_.emplace(id, LATHE_TRY(parse_json(find.text(0)))).first->second;
    };
  }

  std::unexpected<Error> damaged(const Error& first, std::int64_t count) const {
    return fail_at(database_.path(), ErrorKind::kDataLoss,
                   "{} {}; `lathe export` writes the others: import them into a new file, and give "
                   "it with --db",
                   first.message,
                   count == 1 ? "is damaged" : fmt::format("and {} more are damaged", count - 1));
  }

  // Call it and what follows inside a transaction, which no open statement may outlive.
  Status keep_times(const std::vector<RaceResult>& results, const RaceNote& note) {
    auto update = LATHE_TRY(database_.prepare(set_race_sql()));
    RaceNote timed = note;
    if (timed.time.empty()) timed.time = now_utc();
    for (const auto& result : results) {
      bind_race(update, result, timed);
      LATHE_TRY_STATUS(update.run());
    }
    return {};
  }

  // Who won stands before the others of the race, and who never raced behind them all.
  Status stand_in_order(const std::vector<RaceResult>& results) {
    auto standing = LATHE_TRY(database_.prepare(kStanding));
    auto at = LATHE_TRY(database_.prepare(kStandAt));
    auto others = LATHE_TRY(database_.prepare(kStandBehind));
    constexpr double kNone = std::numeric_limits<double>::infinity();
    double winner = kNone, fastest = kNone, slowest = 0;  // the fastest of all but the winner
    for (const auto& result : results) {
      if (LATHE_TRY(standing.bind(1, result.record).step())) {
        double& of_it = result.won ? winner : fastest;
        of_it = std::min(of_it, standing.number(0));
        slowest = std::max(slowest, standing.number(0));
      }
      LATHE_TRY_STATUS(standing.run());
    }
    for (const auto& result : results)
      if (result.won && winner < kNone && winner >= fastest)
        LATHE_TRY_STATUS(at.bind(1, result.record).bind(2, fastest * (1 - kAhead)).run());
    if (results.empty()) return {};
    return others.bind(1, slowest).bind(2, results.front().record).run();
  }

  // Says in a sentence what SQLite would call a broken constraint: that (run, index) is taken, or
  // that the run is not there.
  Status check_free(Statement& find, const Record& record) {
    find.bind(1, record.run).bind(2, record.index);
    LATHE_TRY(find.step());
    const bool known_run = find.integer(0) != 0, taken = find.integer(1) != 0;
    LATHE_TRY_STATUS(find.run());
    if (!known_run)
      return fail_at(database_.path(), ErrorKind::kInvalidArgument, "there is no run {}",
                     record.run);
    if (!taken) return {};
    LATHE_TRY_STATUS(database_.check());  // an index that lost its records looks like this, too
    return fail_at(database_.path(), ErrorKind::kIo,
                   "run {} already has trial {}: another tuner is at work on the same run; end one "
                   "of them, or give "
                   "another --seed",
                   record.run, record.index);
  }

  // Copies everything to a new file beside the one that is gone. The new one takes what comes from
  // now on, and the error says so.
  Error rescue() {
    const std::string old = database_.path();
    const std::string path = free_name_beside(old);
    auto copied = database_.copy_to(path);
    auto copy = copied ? Database::open(path, kRescueBusySeconds)
                       : Result<Database>(std::unexpected(copied.error()));
    if (!copy)
      return {ErrorKind::kIo,
              fmt::format("the database was removed or replaced while it was in use, and what it "
                          "held cannot be written "
                          "to {} ({})",
                          path, copy.error().message),
              old};
    database_ = std::move(*copy);
    return {ErrorKind::kIo,
            fmt::format("the database was removed or replaced while it was in use; all that it "
                        "held and what came "
                        "since is in {}: move it back, or give it with --db",
                        path),
            old};
  }

  Database database_;
  Names names_;  // those that were asked for, as committed: none ever changes
  std::unordered_map<std::int64_t, Json> parts_;
  std::optional<Error> gone_;
  std::recursive_mutex mutex_;  // recursive: a callback of each() may ask for more
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const std::string& path, double busy_seconds) {
  auto database = LATHE_TRY(Database::open(path, busy_seconds));
  LATHE_TRY_STATUS(prepare_schema(database, busy_seconds));
  return std::make_unique<SqliteStore>(std::move(database));
}

Result<std::unique_ptr<Store>> open_in_memory() { return open_sqlite(":memory:"); }

}  // namespace lathe::store
