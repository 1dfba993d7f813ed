// lathe model: trains global models on records, and judges them by records.
#include <cmath>
#include <memory>

#include "api/learning.h"
#include "base/processors.h"
#include "cli/application.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/results.h"

namespace lathe::cli {
namespace {

struct Flags {
  api::JudgeRequest judge;
  std::string database, output;
  std::vector<std::string> unrelated;
  int train_rows = -1;
  bool json = false;
  api::LearnRequest& learn() { return judge.learn; }
};

void add_learning_flags(FlagSet& set, Flags& flags) {
  tune::Options& options = flags.learn().options;
  options.run.jobs = usual_jobs().number;
  set.repeated("--from", flags.learn().databases, "DB", "database of records; once for each");
  add_database_flag(set, flags.database);
  set.text("--target", flags.learn().target, "TARGET",
           "target whose records to learn from; needed if the databases hold several");
  set.choice("--model", options.model.name, tune::known_models(), "what learns");
  set.choice("--features", options.model.features, tune::known_features(),
             "what the model sees of a program; treegru models see its tree of loops");
  set.whole("--seed", options.run.seed, "seed of all random numbers");
  set.whole("--jobs", options.run.jobs, 1, 1024, "threads that may work at once");
  set.flag("--json", flags.json, "one JSON object on standard output");
}

void choose_databases(Flags& flags) {
  if (flags.learn().databases.empty()) flags.learn().databases = {flags.database};
}

// Some records may be left out without an error; this tells which, so that nobody wonders where
// they are.
void print_left_out(std::int64_t skipped, std::int64_t copies) {
  if (copies > 0)
    fmt::print("{} left out: several databases have them\n", counted(copies, "record"));
  if (skipped > 0)
    fmt::print("{} left out: their schedules do not apply any more\n", counted(skipped, "record"));
}

Result<int> train(Flags& flags) {
  choose_databases(flags);
  const auto trained = LATHE_TRY(api::train_global_model(flags.learn(), flags.output));
  const model::GlobalModel& model = trained.model;
  if (flags.json) {
    fmt::print("{}\n", dump({{"file", flags.output},
                             {"records", model.records},
                             {"skipped", trained.skipped},
                             {"copies", trained.copies},
                             {"workloads", model.workloads},
                             {"target", model.target_class.text()},
                             {"features", model.features},
                             {"objective", model::name_of(model.objective)}}));
    return kDone;
  }
  fmt::print("{}: learned from {} of {}, for {}\n", flags.output, counted(model.records, "record"),
             counted(static_cast<std::int64_t>(model.workloads.size()), "workload"),
             model.target_class.text());
  print_left_out(trained.skipped, trained.copies);
  return kDone;
}

Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json quality_json(const model::Quality& q, bool regression) {
  Json json = {{"pairwise_accuracy", finite(q.pairwise_accuracy)},
               {"pairwise_accuracy_fastest_tenth", finite(q.fast_pairwise_accuracy)},
               {"rank_correlation", finite(q.spearman)},
               {"recall_at_8", finite(q.top_8_recall)},
               {"peak_at_1", finite(q.top_1_peak)},
               {"peak_at_4", finite(q.top_4_peak)},
               {"peak_at_16", finite(q.top_16_peak)}};
  if (regression) json["rmse"] = finite(q.rmse);
  return json;
}

Json judgement_json(const api::Judgement& judgement, bool regression) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < judgement.judged.size(); ++i) {
    const learn::Judged& j = judgement.judged[i];
    Json row = {{"workload", j.group.workload},   {"target", j.group.target},
                {"cache", j.group.cache_mode},    {"trained_on", j.trained_on},
                {"judged_on", j.judged_on},       {"global_trained_on", j.global_trained_on},
                {"seen", bool(judgement.seen[i])}};
    row.update(quality_json(j.quality, regression));
    rows.push_back(std::move(row));
  }
  return {{"rows", std::move(rows)},
          {"mean", quality_json(learn::mean_of(judgement.judged), regression)},
          {"skipped", judgement.skipped},
          {"copies", judgement.copies}};
}

std::string cell(double x) { return std::isfinite(x) ? fmt::format("{:6.3f}", x) : "     -"; }

void print_quality(const model::Quality& q, bool regression, const std::string& what) {
  fmt::print("{} {} {} {} {} {} {} {} {}\n", cell(q.pairwise_accuracy),
             cell(q.fast_pairwise_accuracy), cell(q.spearman), cell(q.top_8_recall),
             cell(q.top_1_peak), cell(q.top_4_peak), cell(q.top_16_peak),
             regression ? cell(q.rmse) : "     -", what);
}

void print_judgement(const api::Judgement& judgement, bool regression) {
  fmt::print(
      " pairs   fast   rank  top-8 peak@1 peak@4 pk@16   rmse  judged on (trained on), workload\n");
  bool seen = false;
  for (std::size_t i = 0; i < judgement.judged.size(); ++i) {
    const learn::Judged& j = judgement.judged[i];
    seen = seen || judgement.seen[i];
    print_quality(j.quality, regression,
                  fmt::format(" {:>5} ({}){} {}", j.judged_on, j.trained_on,
                              judgement.seen[i] ? " *" : "", j.group.workload));
  }
  print_quality(learn::mean_of(judgement.judged), regression, " mean");
  if (seen) fmt::print("* the model of the file was trained on this workload\n");
  print_left_out(judgement.skipped, judgement.copies);
}

constexpr const char* kColumns =
    "Columns, of programs that the model has not learnt from; higher is better, but for rmse (more "
    "in docs/reading.md):\n"
    "  pairs           share of pairs of programs in the right order; 0.5 is chance\n"
    "  fast            the same among the fastest tenth\n"
    "  rank            rank correlation of scores and speeds; 0 is chance\n"
    "  top-8           share of the 8 fastest among the 8 best scored\n"
    "  peak@1          speed of the best scored, of the fastest of all\n"
    "  peak@4, pk@16   speed of the fastest of the 4, and of the 16, best scored\n"
    "  rmse            error of predicted speeds, as a share of the fastest\n"
    "  judged on (trained on)  how many programs; * where the file's model was trained on the "
    "workload\n";

Status choose_unrelated(Flags& flags) {
  constexpr const char* kFlag = "--unrelated";
  for (const std::string& name : flags.unrelated) {
    const auto relation = learn::relation_named(name);
    if (!relation)
      return fail_at(kFlag, ErrorKind::kInvalidArgument, "{}", relation.error().message);
    flags.judge.unrelated.push_back(*relation);
  }
  if (!flags.unrelated.empty() && (flags.judge.held_out.empty() || !flags.judge.model_file.empty()))
    return fail_at(
        kFlag, ErrorKind::kInvalidArgument,
        "it says what a model must not learn from that is trained here: give --held-out, "
        "and no --global-model");
  return {};
}

Result<int> judge(Flags& flags) {
  choose_databases(flags);
  LATHE_TRY_STATUS(choose_unrelated(flags));
  if (flags.train_rows >= 0) flags.judge.train_rows = flags.train_rows;
  const auto judgement = LATHE_TRY(api::judge_model(flags.judge));
  const bool regression =
      tune::objective_of(flags.learn().options) == model::Objective::kRegression;
  if (flags.json) fmt::print("{}\n", dump(judgement_json(judgement, regression)));
  else print_judgement(judgement, regression);
  return kDone;
}

Command train_command() {
  return {"train", "train a global model from records, for lathe tune --global-model",
          [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_learning_flags(set, *flags);
            set.repeated("--without", flags->learn().without, "WORKLOAD",
                         "workload to leave out, in any layout and on any threads; once for each");
            set.required_text("-o,--output", flags->output, "FILE", "where to write the model");
            return [flags] { return train(*flags); };
          }};
}

Command eval_command() {
  return {"eval", "judge a model by records it was not trained on", [](FlagSet& set) -> Work {
            auto flags = std::make_shared<Flags>();
            add_learning_flags(set, *flags);
            set.choice("--acquisition", flags->learn().options.model.acquisition,
                       tune::known_acquisitions(), "how xgb-ensemble uses its uncertainty");
            set.repeated(
                "--held-out", flags->judge.held_out, "WORKLOAD",
                "workload on which a model of the others is judged; once for each, or "
                "\"each\" for all in turn. Without it, configurations of each workload are "
                "held out");
            set.repeated("--unrelated", flags->unrelated, "RELATION",
                         "with --held-out, learn from none that is related to what is judged: of "
                         "the same operator (numbers aside), image (last two extents of the "
                         "output), or family (sums of products, other reductions, maps); once for "
                         "each");
            set.whole("--train-rows", flags->train_rows, 0, 10'000'000,
                      "rows of the judged workload to learn from, three quarters at most (default "
                      "512, with --held-out or --global-model 0)");
            set.text("--global-model", flags->judge.model_file, "FILE",
                     "what lathe model train wrote, to judge or to begin from");
            set.footer(kColumns);
            return [flags] { return judge(*flags); };
          }};
}

}  // namespace

Command model_command() {
  return {"model", "train and judge models from records", {}, {train_command(), eval_command()}};
}

}  // namespace lathe::cli
