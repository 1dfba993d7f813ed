#include "api/targets.h"

#include <fmt/format.h>

#include "base/processors.h"
#include "compiler/backends/backends.h"
#include "compiler/driver/driver.h"

namespace lathe::api {
namespace {

bool gives_threads(const std::string& text) { return text.find("threads=") != std::string::npos; }

}  // namespace

Result<Target> make_target(const std::string& text, int threads) {
  Target target = LATHE_TRY(parse_target(text));
  const int own = target.threads();
  if (threads > 0 && gives_threads(text) && own != threads)
    return fail_at("--threads", ErrorKind::kInvalidArgument,
                   "{} here, {} in the target; give one of them", threads, own);
  if (threads < 0 || threads > kMostThreads)
    return fail_at("--threads", ErrorKind::kInvalidArgument, "from 1 to {} threads, not {}",
                   kMostThreads, threads);
  if (threads > 0 && !target.has_threads())
    return fail_at("--threads", ErrorKind::kInvalidArgument,
                   "only a processor's programs have threads, and the target is {}; leave the flag "
                   "out",
                   text);
  if (threads > 0) target.set_threads(threads);
  else if (target.is_host() && !gives_threads(text)) target.set_threads(usual_threads().number);
  return driver::resolve_target(target, backends());
}

std::string threads_sentence(const std::string& text, int threads, const Target& made) {
  if (!made.has_threads()) return fmt::format("programs run on {}", made.text());
  const int number = made.threads();
  const auto because = [number](const char* why) { return threads_text({number, why}); };
  if (threads > 0) return because("as --threads says");
  if (gives_threads(text)) return because("as the target says");
  const auto asked = parse_target(text);
  if (asked && asked->is_host()) return because(usual_threads().why.c_str());
  return because("as usual for a target that is named; --threads gives another number");
}

Result<int> codegen_version(const Target& target) {
  return LATHE_TRY(driver::backend_for(target, backends()))->version;
}

Status check_runs_here(const Target& target) {
  // The machine's device of this kind: "cpu:host".
  const std::string text = target.text();
  const Target machine = LATHE_TRY(make_target(text.substr(0, text.find(':')) + ":host", 0));
  const char* lacks = target.lacking_on(machine);
  if (lacks == nullptr) return {};
  return fail_at("--target", ErrorKind::kInvalidArgument,
                 "programs for {} cannot be timed on this machine, which {}; lathe show and lathe "
                 "compile --schedule default work",
                 target.text(), lacks);
}

Status check_timed_here(const Target& target) {
  LATHE_TRY_STATUS(check_runs_here(target));
  const auto processors = static_cast<int>(allowed_processors().size());
  const int threads = target.threads();
  if (threads <= processors) return {};
  return fail_at("--threads", ErrorKind::kInvalidArgument,
                 "{} threads cannot be timed on the {} that this process may use; give at most {} "
                 "(lathe show, lathe compile and lathe bench --in-turns take more)",
                 threads, processors == 1 ? "processor" : fmt::format("{} processors", processors),
                 processors);
}

}  // namespace lathe::api
