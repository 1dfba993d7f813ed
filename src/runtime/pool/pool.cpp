#include "runtime/pool/pool.h"

#include <sched.h>

#include "runtime/pool/crew.h"
#include "runtime/pool/one_crew.h"

namespace lathe::pool {
namespace {

void run_region_entry(void* self, const lathe_phase* phases, std::int64_t count, void* context) {
  static_cast<Pool*>(self)->run_region(phases, count, context);
}

}  // namespace

Pool::Pool(const Options& options)
    : threads_(options.threads < 1 ? 1 : options.threads), runtime_{run_region_entry, this} {
  if (threads_ > Crew::kMostThreads) threads_ = Crew::kMostThreads;
  if (threads_ == 1 || (options.cpus == nullptr && options.spin_ns < 0)) return;
  CrewOptions crew{.most_threads = threads_, .cpus = options.cpus, .spin_ns = options.spin_ns};
  if (crew.spin_ns < 0) crew.spin_ns = kSpin;
  const cpu_set_t processors = allowed_processors();
  if (crew.cpus == nullptr && threads_ > CPU_COUNT(&processors)) crew.spin_ns = 0;
  own_ = Crew::make(crew);
  if (own_ == nullptr) threads_ = 1;
  else own_->start(threads_);
}

Pool::~Pool() {
  if (own_ != nullptr) Crew::destroy(own_);
}

int Pool::threads_now() const {
  if (threads_ == 1) return 1;
  return own_ != nullptr ? own_->threads(threads_) : threads_of_the_crew(threads_);
}

void Pool::parallel_for(std::int64_t count, lathe_body body, void* context) {
  const lathe_phase phase{body, count};
  run_region(&phase, 1, context);
}

void Pool::run_region(const lathe_phase* phases, std::int64_t count, void* context) {
  if (threads_ == 1) run_alone(phases, count, context);
  else if (own_ != nullptr) own_->run(phases, count, context, threads_);
  else run_on_the_crew(phases, count, context, threads_);
}

}  // namespace lathe::pool
