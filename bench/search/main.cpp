// bench_search: how fast the search itself is. docs/benchmarks.md tells what each probe measures.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/json.h"
#include "search/probe.h"
#include "search/replay.h"

namespace {

using namespace lathe;
using namespace lathe::bench;

struct Named {
  const char* name;
  Probe probe;
  const char* help;
};
constexpr Named kProbes[] = {
    {"propose", propose, "configurations to features and to scores, a second"},
    {"treegru", treegru, "what TreeGRU costs: features, training, prediction, planning a round"},
    {"build", build, "lowering, code generation and linking of a candidate"},
    {"lookup", lookup, "best record among 100,000"},
    {"store", storing, "size of a database of 306,000 trials, adding to it, reading runs from it"},
    {"tuning", tuning, "trials a second, time to the first trial, where the time goes"},
    {"memory", memory, "peak of the tuner's, builders' and runner's memory during a run"},
    {"constants", constants, "fits the analytic model's constants to recorded spaces"},
    {"cards", cards, "how well programs for cards are ordered before any is measured"},
    {"card-trials", card_trials, "trials that searches need among sampled programs for cards"},
    {"card-records", card_records, "writes these samples into a database, to train models on"},
};

int usage(const std::string& wrong) {
  std::fprintf(stderr,
               "bench_search: %s\nusage: bench_search PROBE [--json] [--configs N] [--jobs N] "
               "[--rounds N] [--lathe FILE] [--db FILE]"
               " [-- WORDS OF LATHE TUNE...]\n",
               wrong.c_str());
  for (const auto& probe : kProbes) std::fprintf(stderr, "  %-12s %s\n", probe.name, probe.help);
  std::fprintf(stderr,
               "or: bench_search --replay ...: trials that each search needs on recorded spaces\n");
  return 2;
}

bool whole(std::string_view text, int& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ptr ==
             text.data() + text.size() &&
         value > 0;
}

// Tells what is wrong with the words; empty: nothing.
std::string read(const std::vector<std::string>& words, Settings& settings, bool& json) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      settings.tune.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      return settings.tune.empty() ? "nothing follows --" : "";
    }
    if (word == "--json") {
      json = true;
      continue;
    }
    const std::string value = i + 1 < words.size() ? words[++i] : "";
    int* number = word == "--configs"  ? &settings.configs
                  : word == "--jobs"   ? &settings.jobs
                  : word == "--rounds" ? &settings.rounds
                                       : nullptr;
    if (word == "--lathe" && !value.empty()) settings.lathe = value;
    else if (word == "--db" && !value.empty()) settings.database = value;
    else if (number == nullptr) return fmt::format("nothing here is called {}", word);
    else if (!whole(value, *number))
      return fmt::format("{}: must be a whole number above 0, not \"{}\"", word, value);
  }
  return "";
}

void print_table(const std::vector<Row>& rows) {
  std::size_t workload = 0, what = 0;
  for (const auto& row : rows) {
    workload = std::max(workload, row.workload.size());
    what = std::max(what, row.what.size());
  }
  for (const auto& row : rows) {
    const std::string value =
        row.value >= 1000 ? fmt::format("{:.0f}", row.value) : fmt::format("{:.4g}", row.value);
    fmt::print("{:{}}  {:{}}  {:>10} {}\n", row.workload, workload, row.what, what, value,
               row.unit);
  }
}

void print_json(const std::string& probe, const std::vector<Row>& rows) {
  Json out = {{"probe", probe}, {"rows", Json::array()}};
  for (const auto& row : rows)
    out["rows"].push_back(
        {{"workload", row.workload}, {"what", row.what}, {"value", row.value}, {"unit", row.unit}});
  fmt::print("{}\n", out.dump(2));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return usage("which probe?");
  if (words.front() == "--replay") return replay({words.begin() + 1, words.end()});
  Settings settings;
  settings.lathe = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lathe";
  bool json = false;
  const std::string wrong = read({words.begin() + 1, words.end()}, settings, json);
  for (const auto& known : kProbes) {
    if (words.front() != known.name) continue;
    if (!wrong.empty()) return usage(wrong);
    const auto rows = known.probe(settings);
    if (!rows) {
      fmt::print(stderr, "bench_search: {}\n", rows.error().text());
      return 1;
    }
    if (json) print_json(known.name, *rows);
    else print_table(*rows);
    return 0;
  }
  return usage("there is no probe " + words.front());
}
