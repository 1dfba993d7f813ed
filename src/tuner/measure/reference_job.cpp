#include <unistd.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/log.h"
#include "compiler/te/parse.h"
#include "tuner/measure/inputs.h"
#include "tuner/measure/reference.h"
#include "tuner/measure/reference_check.h"
#include "tuner/measure/reproducer.h"
#include "tuner/measure/session.h"

namespace lathe::measure {
namespace {

constexpr double kReferenceSeconds = 600;  // a limit against hanging; nothing should take so long

Result<std::vector<double>> read_output(const Built& built, const runner::Fd& file,
                                        const std::string& name) {
  const auto offsets = runner::file_offsets(built.outputs);
  for (std::size_t o = 0; o < built.outputs.size(); ++o) {
    const tensor::Border& border = built.outputs[o];
    if (border.name != name) continue;
    const auto step = static_cast<std::size_t>(size_of(border.dtype));
    std::vector<std::byte> raw(static_cast<std::size_t>(border.elements()) * step);
    for (std::size_t done = 0; done < raw.size();) {  // one call reads 2 GiB at most
      const ssize_t got = ::pread(file.get(), raw.data() + done, raw.size() - done,
                                  offsets[o] + static_cast<std::int64_t>(done));
      if (got <= 0) return fail(ErrorKind::kInternal, "the reference of {} is incomplete", name);
      done += static_cast<std::size_t>(got);
    }
    std::vector<double> values(raw.size() / step);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = load_element(border.dtype, raw.data() + i * step);
    return values;
  }
  return fail(ErrorKind::kInternal, "the reference program has no output {}", name);
}

Result<Reference> read_reference(const std::vector<ReferenceNames>& outputs, const Built& built,
                                 const runner::Fd& file) {
  Reference reference;
  for (const ReferenceNames& names : outputs) {
    reference.values.push_back(LATHE_TRY(read_output(built, file, names.value)));
    std::vector<double> bounds(reference.values.back().size(), 0);
    if (!names.bound.empty()) bounds = LATHE_TRY(read_output(built, file, names.bound));
    for (double& bound : bounds)
      if (std::isnan(bound)) bound = std::numeric_limits<double>::infinity();
    reference.bounds.push_back(std::move(bounds));
  }
  return reference;
}

}  // namespace

struct ReferenceJob::State {
  ReferenceWorkload reference;
  Built built;
  runner::Fd inputs, outputs;
};

ReferenceJob::ReferenceJob(Task& task) : task_(task) {
  task_.awaits_reference = true;
  if (task.running.reference) finish({});
  else start();
}

void ReferenceJob::start() {
  Task& task = task_;
  const ReferenceCache cache(task.session->options.cache_folder);
  if (const auto cached = cache.load(task.workload, task.session->options.seed))
    return finish(tell(*cached));
  ReferenceWorkload reference = reference_workload(task.workload);
  auto inputs = inputs_file(plain_inputs(reference.workload), task.inputs);
  auto outputs = runner::make_memory_file(
      "lathe-outputs", runner::file_offsets(plain_outputs(reference.workload)).back());
  if (!inputs) return finish(std::unexpected(inputs.error()));
  if (!outputs) return finish(std::unexpected(outputs.error()));
  state_ = std::make_unique<State>(std::move(reference), Built{}, std::move(*inputs),
                                   std::move(*outputs));
  task.session->builders[0]->build_reference(
      te::print_workload(state_->reference.workload), kReferenceSeconds,
      [this](Result<Built> built) { on_built(std::move(built)); });
}

ReferenceJob::~ReferenceJob() = default;

// As for candidates, the death of a helper counts the second time.
bool ReferenceJob::may_try_again(Helper& helper, const Error& error) {
  return !helper.running() && error.kind != ErrorKind::kTimeout && deaths_++ == 0;
}

void ReferenceJob::on_built(Result<Built> built) {
  if (!built && may_try_again(task_.session->builders[0]->helper(), built.error())) return start();
  if (!built) return finish(std::unexpected(built.error()));
  state_->built = std::move(*built);
  execute();
}

void ReferenceJob::execute() {
  task_.session->host().execute(
      state_->built, state_->inputs, state_->outputs, {}, kReferenceSeconds,
      [this](Result<runner::Executed> executed) { on_executed(std::move(executed)); });
}

void ReferenceJob::on_executed(Result<runner::Executed> executed) {
  if (!executed && may_try_again(task_.session->host().helper(), executed.error()))
    return execute();
  if (!executed) return finish(std::unexpected(executed.error()));
  log(LogLevel::kDebug, "reference computed in {:.6f} s",
      executed->seconds.empty() ? 0.0 : executed->seconds[0]);
  const auto reference = read_reference(state_->reference.names, state_->built, state_->outputs);
  if (!reference) return finish(std::unexpected(reference.error()));
  if (const Status right = check(*reference); !right) return end(right);
  ReferenceCache(task_.session->options.cache_folder)
      .save(task_.workload, task_.session->options.seed, *reference);
  finish(tell(*reference));
}

// The reference and candidates go through one compiler. So before the reference judges candidates,
// some of it is computed without that compiler.
Status ReferenceJob::check(const Reference& reference) {
  const auto wrong =
      check_reference(task_.workload, task_.inputs, reference, task_.session->options.seed);
  if (!wrong) return {};
  const auto folder = save_reference_reproducer(
      task_.session->options.reproducer_folder, task_.workload, task_.session->target,
      state_->reference.workload, state_->built, task_.session->options.seed, *wrong);
  const std::string element = element_text(task_.workload, wrong->output, wrong->index);
  constexpr const char* kAsk =
      "a bug of Lathe's compiler; please report it with the folder named here";
  if (wrong->blind)
    return fail_at(folder.value_or(""), ErrorKind::kWrongAnswer,
                   "the program that candidates are compared with would let any error of {} pass, "
                   "where the expression "
                   "evaluator allows {:.2g}: {}",
                   element, wrong->bound, kAsk);
  return fail_at(folder.value_or(""), ErrorKind::kWrongAnswer,
                 "the program that candidates are compared with computed {:.7g} for {} where the "
                 "expression evaluator "
                 "says {:.7g} (within {:.2g}): {}",
                 wrong->got, element, wrong->want, wrong->bound, kAsk);
}

Status ReferenceJob::tell(const Reference& reference) {
  const bool jumps = reference_workload(task_.workload).jumps;
  const Reference wide = with_room_for_algorithms(task_.workload, reference);
  task_.running.max_error = allowed_error(task_.workload, jumps, reference);
  task_.running.reference = LATHE_TRY(Asset::of(LATHE_TRY(reference_file(wide))));
  task_.inputs = {};
  return {};
}

void ReferenceJob::finish(Status result) {
  if (!result)
    result.error().message = "the reference could not be computed: " + result.error().message;
  end(std::move(result));
}

void ReferenceJob::end(Status result) {
  finished_ = true;
  task_.awaits_reference = false;
  result_ = std::move(result);
  state_.reset();
}

Result<bool> ensure_reference(Task& task, const std::function<bool()>& stop) {
  const ReferenceJob job(task);
  EventLoop loop = task.loop();
  while (!job.finished()) {
    if (stop && stop()) {
      for (Helper* helper : task.session->helpers())
        if (helper->busy()) helper->stop();
      return false;
    }
    loop.wait(0.1);
  }
  LATHE_TRY_STATUS(job.result());
  return true;
}

}  // namespace lathe::measure
