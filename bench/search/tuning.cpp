// A tuning run of the command as a user starts it, watched from outside: when the first trial is
// recorded, where the time goes, and what memory its processes take. There are two probes, so that
// looking at the memory does not change the times.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "search/folder.h"
#include "search/probe.h"
#include "search/process_tree.h"
#include "tuner/store/store.h"

namespace lathe::bench {
namespace {

const std::vector<std::string> kUsual = {"C6", "--layout", "free", "--trials", "500"};

using Clock = std::chrono::steady_clock;

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Ended {
  Json result;
  double seconds = 0;
};

// `lathe tune` in a process, with its caches and database in `folder`.
class Tuning {
 public:
  Tuning(const Settings& settings, const Folder& folder, const std::vector<std::string>& more)
      : database_(folder.file("records.db")), out_(folder.file("out")), error_(folder.file("err")) {
    std::vector<std::string> words = {settings.lathe, "tune"};
    const auto& chosen = settings.tune.empty() ? kUsual : settings.tune;
    words.insert(words.end(), chosen.begin(), chosen.end());
    const auto says_threads = [](const std::string& word) { return word.contains("threads"); };
    if (std::ranges::none_of(chosen, says_threads)) words.insert(words.end(), {"--threads", "1"});
    words.insert(words.end(), {"--json", "--db", database_});
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string cache = folder.file("");
    start_ = Clock::now();
    child_ = fork();
    if (child_ != 0) return;
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    dup2(open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(error_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Tuning() {
    if (over_) return;
    kill(child_, SIGTERM);
    waitpid(child_, nullptr, 0);
  }
  Tuning(const Tuning&) = delete;

  pid_t process() const { return child_; }
  const std::string& database() const { return database_; }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool over() {
    if (!over_ && waitpid(child_, &status_, WNOHANG) == child_) {
      over_ = true;
      seconds_ = elapsed();
    }
    return over_;
  }
  Result<Ended> end() {
    while (!over()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0)
      return fail(ErrorKind::kInternal, "the command failed: {}", content(error_));
    return Ended{LATHE_TRY(parse_json(content(out_))), seconds_};
  }

 private:
  const std::string database_, out_, error_;
  Clock::time_point start_;
  pid_t child_ = -1;
  int status_ = 0;
  bool over_ = false;
  double seconds_ = 0;
};

// Waits until the database has more than `before` records, and looks every 5 ms.
Result<double> first_record(Tuning& tuning, std::int64_t before) {
  while (!std::filesystem::exists(tuning.database()) && !tuning.over())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto store = LATHE_TRY(store::open_sqlite(tuning.database()));
  while (LATHE_TRY(store->count({})) <= before && !tuning.over())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return tuning.elapsed();
}

void add_shares(std::vector<Row>& rows, const std::string& name, const Ended& ended) {
  double inside = 0;
  const double percent = 100 / ended.seconds;
  for (const auto& [phase, seconds] : ended.result["phases"].items()) {
    rows.push_back({name, "of the wall time: " + phase, seconds.get<double>() * percent, "%"});
    inside += seconds.get<double>();
  }
  rows.push_back({name, "of the wall time: before and after the loop",
                  (ended.seconds - inside) * percent, "%"});
  // Builders and runner work beside each other and beside the search, so these need not sum up to
  // 100.
  for (const auto& [part, seconds] : ended.result["spent"].items())
    rows.push_back(
        {name, "processes' time of the wall time: " + part, seconds.get<double>() * percent, "%"});
}

std::string name_of(const Settings& settings) {
  return (settings.tune.empty() ? kUsual : settings.tune).front();
}

}  // namespace

Result<std::vector<Row>> tuning(const Settings& settings) {
  const Folder folder;
  const std::string name = name_of(settings);
  std::vector<Row> rows;
  Tuning run(settings, folder, {});
  const double cold = LATHE_TRY(first_record(run, 0));
  const Ended ended = LATHE_TRY(run.end());
  const auto trials = ended.result["trials"].get<double>();
  rows.push_back({name, "trials", trials, ""});
  rows.push_back({name, "failed", ended.result["failed"].get<double>(), ""});
  rows.push_back({name, "wrong answers", ended.result["wrong"].get<double>(), ""});
  rows.push_back({name, "wall time of the command", ended.seconds, "s"});
  rows.push_back({name, "trials a second, from the start of the command to its end",
                  trials / ended.seconds, "/s"});
  rows.push_back({name, "trials a second, tuning loop with its race",
                  trials / ended.result["seconds"].get<double>(), "/s"});
  rows.push_back({name, "start to the first recorded trial, nothing cached", cold, "s"});
  Tuning again(settings, folder, {"--seed", "1", "--trials", "1"});
  rows.push_back({name, "start to the first recorded trial, reference cached",
                  LATHE_TRY(first_record(again, static_cast<std::int64_t>(trials))), "s"});
  LATHE_TRY(again.end());
  add_shares(rows, name, ended);
  if (ended.result["best"].is_object())
    rows.push_back({name, "best", ended.result["best"]["gflops"].get<double>(), "GFLOP/s"});
  return rows;
}

Result<std::vector<Row>> memory(const Settings& settings) {
  const Folder folder;
  Tuning run(settings, folder, {});
  double peak = 0;
  int samples = 0;
  std::map<std::string, double> at_peak, peaks;
  for (; !run.over(); ++samples) {
    const auto now = tree_memory(run.process());
    double sum = 0;
    for (const auto& [program, bytes] : now) {
      sum += bytes;
      peaks[program] = std::max(peaks[program], bytes);
    }
    if (sum > peak) {
      peak = sum;
      at_peak = now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  LATHE_TRY(run.end());
  const std::string name = name_of(settings);
  std::vector<Row> rows = {
      {name, fmt::format("peak memory, all processes ({} samples)", samples), peak / 1e6, "MB"}};
  for (const auto& [program, bytes] : at_peak)
    rows.push_back({name, "of which " + program, bytes / 1e6, "MB"});
  for (const auto& [program, bytes] : peaks)
    rows.push_back({name, "peak of " + program, bytes / 1e6, "MB"});
  return rows;
}

}  // namespace lathe::bench
