#include "search/replay.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/split.h"
#include "base/statistics.h"
#include "research/experiment/run.h"
#include "search/probe.h"
#include "tuner/feature/version.h"

namespace lathe::bench {
namespace {

using experiment::Arm;
using experiment::arms_named;
using experiment::known_arms;

constexpr const char* kFolder = "bench/spaces";
constexpr const char* kRecording = ".json.zst";
constexpr int kRowsASource = 1000;  // rows of each source that teach a global model
constexpr const char* kUsage =
    "usage: bench_search --replay [RECORDING...] [--arms NAME,...] [--from RECORDING,...] [--seeds "
    "N] [--trials N] [--jobs N] [--rows FILE] [--shuffled] "
    "[--json]\n";

struct Words {
  std::vector<std::string> recordings, arms, sources;
  int seeds = 0, trials = 2000, jobs = 2;  // seeds 0: as many as suit the question
  std::string rows;                        // finished rows are kept here and not computed again
  bool shuffled = false, json = false;
};

Result<Words> read(const std::vector<std::string>& given) {
  Words words;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string& word = given[i];
    if (word == "--json") words.json = true;
    else if (word == "--shuffled") words.shuffled = true;
    else if (!word.starts_with("--")) words.recordings.push_back(word);
    else {
      const std::string value = i + 1 < given.size() ? given[++i] : "";
      int* number = word == "--seeds"    ? &words.seeds
                    : word == "--trials" ? &words.trials
                    : word == "--jobs"   ? &words.jobs
                                         : nullptr;
      if (word == "--arms") words.arms = split(value, ',');
      else if (word == "--from") words.sources = split(value, ',');
      else if (word == "--rows") words.rows = value;
      else if (number == nullptr)
        return fail(ErrorKind::kInvalidArgument, "nothing here is called {}", word);
      else if (std::from_chars(value.data(), value.data() + value.size(), *number).ptr !=
                   value.data() + value.size() ||
               *number < 1)
        return fail(ErrorKind::kInvalidArgument, "{}: must be a whole number above 0, not \"{}\"",
                    word, value);
    }
  }
  if (words.seeds == 0) words.seeds = words.shuffled ? 200 : 20;
  return words;
}

Result<std::vector<std::string>> recordings_of(const Words& words) {
  if (!words.recordings.empty()) return words.recordings;
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, none))
    if (entry.path().string().ends_with(kRecording)) found.push_back(entry.path().string());
  std::ranges::sort(found);
  if (found.empty())
    return fail_at(kFolder, ErrorKind::kNotFound,
                   "there are no recordings here; run this where that folder is, or name some");
  return found;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// The recordings that --from names.
struct Sources {
  std::vector<recorded::Recording> recordings;
  std::vector<std::string> hashes;

  std::vector<const recorded::Recording*> pointers() const {
    std::vector<const recorded::Recording*> out;
    for (const auto& recording : recordings) out.push_back(&recording);
    return out;
  }
};

Result<Sources> load_sources(const std::vector<std::string>& paths) {
  Sources out;
  for (const std::string& path : paths) {
    out.hashes.push_back(hex(hash_of(LATHE_TRY(read_file(path)))));
    out.recordings.push_back(LATHE_TRY(recorded::load(path)));
  }
  return out;
}

// Tells this row from every other; it includes the bytes of the recordings.
Json identity(const std::string& bytes, const std::string& space, const Arm& arm,
              const Words& words, const Sources& sources) {
  Json out = {{"space", space},
              {"arm", arm.name},
              {"seeds", words.seeds},
              {"trials", words.trials},
              {"shuffled", words.shuffled},
              {"recording", hex(hash_of(bytes))},
              {"version", {experiment::version_of(arm), feature::kVersion}}};
  if (arm.transfers) out["from"] = sources.hashes;
  return out;
}

// One curve for each of the seeds 0, 1, ...; runs end at 99 %.
Result<std::vector<experiment::Curve>> curves_of(const recorded::Recording& recording,
                                                 const Arm& arm, const Words& words,
                                                 const Sources& sources) {
  std::vector<experiment::Curve> curves(static_cast<std::size_t>(words.seeds));
  std::vector<std::uint64_t> seeds(curves.size());
  std::iota(seeds.begin(), seeds.end(), 0);
  experiment::RunOptions options{
      .trials = words.trials, .enough = 0.99, .shuffled = words.shuffled, .jobs = words.jobs};
  const auto teachers = sources.pointers();
  if (arm.transfers)
    options.begin_from = [&](std::uint64_t seed) {
      return experiment::global_for(recording, arm, teachers, kRowsASource, seed);
    };
  LATHE_TRY_STATUS(experiment::run_seeds(recording, arm, seeds, options,
                                         [&](std::uint64_t seed, const experiment::Curve& curve) {
                                           curves[seed] = curve;
                                           return Status{};
                                         }));
  return curves;
}

void add_column(Json& row, const std::string& name, const std::vector<experiment::Curve>& curves,
                double best, double of_best) {
  std::vector<double> values;
  Json all = Json::array();
  for (const auto& curve : curves) {
    values.push_back(experiment::trials_to(curve, best, of_best));
    all.push_back(number(values.back()));
  }
  row["median_" + name] = number(quantile(values, 0.5));
  row["quartile1_" + name] = number(quantile(values, 0.25));
  row["quartile3_" + name] = number(quantile(values, 0.75));
  row["reached_" + name] = std::ranges::count_if(values, [](double v) { return std::isfinite(v); });
  row[name] = std::move(all);
}

// Rows that an earlier run finished, with their identities.
class Kept {
 public:
  explicit Kept(std::string file) : file_(std::move(file)) {
    if (file_.empty()) return;
    const auto text = read_file(file_);
    if (!text) return;  // none was finished yet
    for (const std::string& line : split(*text, '\n'))
      // A line that a kill cut short is computed again.
      if (auto row = parse_json(line)) rows_.push_back(std::move(*row));
    whole_ = text->empty() || text->ends_with('\n');
  }
  std::optional<Json> find(const Json& identity) const {
    const auto found =
        std::ranges::find_if(rows_, [&](const Json& row) { return holds(row, identity); });
    return found == rows_.end() ? std::nullopt : std::optional(*found);
  }
  Status add(const Json& row) {
    if (file_.empty()) return {};
    std::ofstream out(file_, std::ios::app);
    if (!whole_) out << '\n';  // what a kill cut short stays a line of its own
    whole_ = true;
    out << row.dump() << std::endl;
    return out ? Status{}
               : fail_at(file_, ErrorKind::kIo,
                         "the row cannot be written; give another file with --rows");
  }

 private:
  static bool holds(const Json& row, const Json& identity) {
    for (const auto& [key, value] : identity.items())
      if (!row.contains(key) || row[key] != value) return false;
    return true;
  }

  const std::string file_;
  bool whole_ = true;  // the file ends with the end of a line
  std::vector<Json> rows_;
};

std::string text_of(const Json& value) {
  return value.is_null() ? "-" : fmt::format("{:.0f}", value.get<double>());
}

void print_row(const Json& row) {
  fmt::print("{:16} {:24} {:>6} {:>6} {:>6}   {:>6} {:>6} {:>6}\n", row["space"].get<std::string>(),
             row["arm"].get<std::string>(), text_of(row["quartile1_trials_95"]),
             text_of(row["median_trials_95"]), text_of(row["quartile3_trials_95"]),
             text_of(row["quartile1_trials_99"]), text_of(row["median_trials_99"]),
             text_of(row["quartile3_trials_99"]));
  std::fflush(stdout);
}

std::vector<double> trials_95(const Json& row) {
  std::vector<double> out;
  for (const Json& value : row["trials_95"])
    out.push_back(value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>());
  return out;
}

// Tells whether the arms of one space differ from its first arm.
Json comparisons(const std::vector<Json>& rows) {
  Json out = Json::array();
  for (std::size_t i = 1; i < rows.size(); ++i)
    out.push_back({{"space", rows[i]["space"]},
                   {"arm", rows[0]["arm"]},
                   {"against", rows[i]["arm"]},
                   {"p", mann_whitney(trials_95(rows[0]), trials_95(rows[i]))}});
  return out;
}

Result<std::vector<Json>> rows_of(const std::string& path, const std::vector<Arm>& arms,
                                  const Words& words, const Sources& sources, Kept& kept) {
  const std::string bytes = LATHE_TRY(read_file(path));
  const auto recording = LATHE_TRY(recorded::load(path));
  std::vector<Json> rows;
  for (const Arm& arm : arms) {
    if (arm.transfers && !experiment::can_transfer(recording, sources.pointers())) {
      fmt::print(stderr,
                 "bench_search: {} on {} is left out: --from names nothing of another shape\n",
                 arm.name, recording.name);
      continue;
    }
    Json row = identity(bytes, recording.name, arm, words, sources);
    if (const auto before = kept.find(row)) {
      row = *before;
    } else {
      const auto curves = LATHE_TRY(curves_of(recording, arm, words, sources));
      add_column(row, "trials_95", curves, recording.best_seconds(), 0.95);
      add_column(row, "trials_99", curves, recording.best_seconds(), 0.99);
      LATHE_TRY_STATUS(kept.add(row));
    }
    if (!words.json) print_row(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

Status perform(Words words) {
  if (words.arms.empty() && words.shuffled) words.arms = {"xgb-rank", "random"};
  if (words.arms.empty())
    for (const Arm& arm : known_arms())
      if (!arm.transfers || !words.sources.empty()) words.arms.push_back(arm.name);
  const auto arms = LATHE_TRY(arms_named(words.arms));
  const auto recordings = LATHE_TRY(recordings_of(words));
  const Sources sources = LATHE_TRY(load_sources(words.sources));
  Kept kept(words.rows);
  Json out = {{"rows", Json::array()}};
  if (!words.json) fmt::print("{:41} trials to 95 % (quartiles)   to 99 %\n", "");
  for (const std::string& path : recordings) {
    const auto rows = LATHE_TRY(rows_of(path, arms, words, sources, kept));
    for (const Json& row : rows) out["rows"].push_back(row);
    for (const Json& comparison : comparisons(rows)) {
      if (!words.json && words.shuffled) fmt::print("{}\n", comparison.dump());
      out["comparisons"].push_back(comparison);
    }
  }
  if (words.json) fmt::print("{}\n", out.dump(1));
  return {};
}

}  // namespace

int replay(const std::vector<std::string>& given) {
  const auto words = read(given);
  if (!words) {
    fmt::print(stderr, "bench_search: {}\n{}", words.error().text(), kUsage);
    return 2;
  }
  const auto status = perform(*words);
  if (status) return 0;
  fmt::print(stderr, "bench_search: {}\n", status.error().text());
  return status.error().kind == ErrorKind::kInvalidArgument ? 2 : 1;
}

}  // namespace lathe::bench
