// JSON lines in and out: a line for each trial, with the run that it belongs to.
#include <array>
#include <bit>
#include <istream>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <tuple>

#include "base/hash.h"
#include "tuner/store/fields.h"
#include "tuner/store/store.h"

namespace lathe::store {
namespace {

constexpr std::size_t kMostLine = std::size_t{64} << 20;

// Equal for equal runs, whatever their ids.
std::string key_of(const Run& run) {
  Json key = Json::array();
  for (const auto& field : kRunFields)
    with_value(field, run, [&](const auto& value) { key.push_back(value); });
  return dump(key);
}

// A run as it is in the store: which trials, at which indices.
struct Existing {
  std::int64_t run = 0;
  std::shared_ptr<const void> claim;  // on the run: no tuner is at work on it
  std::set<std::uint64_t> identities;
  std::set<int> indices;
};

Result<Existing> existing_of(Store& store, const Run& wanted) {
  Existing existing;
  const Run run = LATHE_TRY(store.open_run(wanted));
  existing.run = run.id;
  auto claim = store.claim(run);
  if (!claim)
    return fail(ErrorKind::kIo,
                "another command is at work on run {}, of which there are trials to import; import "
                "them when it has ended; nothing was imported",
                run.id);
  existing.claim = std::move(*claim);
  LATHE_TRY_STATUS(store.each({.run = existing.run}, [&](const Record& record) {
    existing.identities.insert(identity(record));
    existing.indices.insert(record.index);
    return true;
  }));
  return existing;
}

// Where the same command ran on two machines, both have a trial of this index. The one that comes
// second goes after the last.
void place(Record& record, Existing& existing) {
  record.run = existing.run;
  if (existing.indices.contains(record.index)) record.index = *existing.indices.rbegin() + 1;
  existing.indices.insert(record.index);
}

Result<std::pair<Run, Record>> read_line(const std::string& line, const CheckTrial& check) {
  auto trial = LATHE_TRY(from_json(LATHE_TRY(parse_json(line))));
  if (check) LATHE_TRY_STATUS(check(trial.first, trial.second));
  return trial;
}

// Reads the next line, without its end. Returns false after the last one. A file without lines ends
// here, too.
Result<bool> next_line(std::istream& lines, std::string& line) {
  std::array<char, 1 << 14> part;
  line.clear();
  while (lines.getline(part.data(), part.size()), lines.gcount() > 0 || !lines.fail()) {
    const bool whole = lines.good();  // up to its end, which is counted and not stored
    line.append(part.data(), static_cast<std::size_t>(lines.gcount()) - (whole ? 1 : 0));
    if (whole || lines.eof()) return true;
    if (lines.bad()) break;
    if (line.size() > kMostLine)
      return fail(ErrorKind::kInvalidArgument, "longer than {} MiB, which no trial is",
                  kMostLine >> 20);
    lines.clear();  // only the part was full
  }
  return !line.empty() && !lines.bad();
}

Result<std::vector<std::pair<Run, Record>>> read_lines(std::istream& lines,
                                                       const CheckTrial& check) {
  std::vector<std::pair<Run, Record>> out;
  int number = 0;
  for (std::string line;;) {
    const auto more = next_line(lines, line);
    if (!more)
      return fail_at(fmt::format("line {}", number + 1), more.error().kind,
                     "{}; nothing was imported", more.error().message);
    if (!*more) break;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto read = read_line(line, check);
    if (!read)
      return fail_at(fmt::format("line {}", number), read.error().kind, "{}; nothing was imported",
                     read.error().text());
    out.push_back(std::move(*read));
  }
  if (lines.bad())
    return fail_at(fmt::format("line {}", number + 1), ErrorKind::kIo,
                   "reading failed; nothing was imported");
  return out;
}

}  // namespace

std::uint64_t identity(const Record& r) {
  return Hasher()
      .add(r.workload)
      .add(r.target)
      .add(name_of(r.cache_mode))
      .add(r.cpu)
      .add(r.fingerprint)
      .add(dump(r.config))
      .add(r.time)
      .add(std::bit_cast<std::uint64_t>(r.seconds))
      .add(r.error_kind)
      .value();
}

Result<ImportCount> import_lines(Store& store, std::istream& lines, const CheckTrial& check) {
  auto trials = LATHE_TRY(read_lines(lines, check));
  ImportCount count;
  std::map<std::string, Existing> runs;
  std::vector<Record> fresh;
  for (auto& [run, record] : trials) {
    auto found = runs.find(key_of(run));
    if (found == runs.end())
      found = runs.emplace(key_of(run), LATHE_TRY(existing_of(store, run))).first;
    if (!found->second.identities.insert(identity(record)).second) {
      ++count.already_there;
      continue;
    }
    place(record, found->second);
    fresh.push_back(std::move(record));
  }
  count.added = static_cast<std::int64_t>(fresh.size());
  if (!fresh.empty()) LATHE_TRY_STATUS(store.add(fresh));
  return count;
}

namespace {

// Writes lines with the runs that they belong to.
class LineWriter {
 public:
  LineWriter(Store& store, std::ostream& lines) : store_(store), lines_(lines) {}

  Status begin() {
    for (auto& run : LATHE_TRY(store_.runs())) runs_.emplace(run.id, run);
    return {};
  }
  bool write(const Record& record) {
    lines_ << dump(to_json(runs_[record.run], record)) << '\n';
    ++written_;
    return lines_.good();
  }
  // `read`: whether the records could be read.
  Status end(const Status& read) {
    lines_.flush();
    if (!lines_.good())
      return fail(ErrorKind::kIo, "writing the trials failed; check that the disk is not full");
    LATHE_TRY_STATUS(read);
    return written_ == 0 ? store_.check() : Status();
  }

 private:
  Store& store_;
  std::ostream& lines_;
  std::map<std::int64_t, Run> runs_;
  std::int64_t written_ = 0;
};

// Who is compared: programs of one code generator.
using Contest = std::tuple<std::string, std::string, CacheMode, std::string, int>;

Status write_best(Store& store, const std::vector<Contest>& contests, LineWriter& writer) {
  for (const auto& [workload, target, cache, cpu, version] : contests) {
    const auto best = LATHE_TRY(store.best({.workload = workload,
                                            .target = target,
                                            .cache_mode = cache,
                                            .cpu = cpu,
                                            .codegen_version = version}));
    if (best && !writer.write(*best)) break;
  }
  return {};
}

}  // namespace

Status export_lines(Store& store, const Query& query, std::ostream& lines) {
  LineWriter writer(store, lines);
  LATHE_TRY_STATUS(writer.begin());
  return writer.end(store.each(query, [&](const Record& record) { return writer.write(record); }));
}

Status export_best(Store& store, const Query& query, std::ostream& lines) {
  LineWriter writer(store, lines);
  LATHE_TRY_STATUS(writer.begin());
  Query working = query;
  working.ok = true;
  working.summary = true;
  std::vector<Contest> contests;  // in the order in which their records came
  std::set<Contest> seen;
  const Status read = store.each(working, [&](const Record& record) {
    Contest contest{record.workload, record.target, record.cache_mode, record.cpu,
                    record.codegen_version};
    if (seen.insert(contest).second) contests.push_back(std::move(contest));
    return true;
  });
  const Status written = write_best(store, contests, writer);
  return writer.end(read ? written : read);
}

}  // namespace lathe::store
