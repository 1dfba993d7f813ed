#include "tuner/measure/session.h"

#include <sched.h>

#include <algorithm>

#include "base/processors.h"

namespace lathe::measure {
namespace {

void set_cpus(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::vector<BuilderClient*> Session::all_builders() const {
  std::vector<BuilderClient*> all;
  for (const auto& builder : builders) all.push_back(builder.get());
  if (guest) all.push_back(guest.get());
  return all;
}

std::vector<Helper*> Session::helpers() const {
  std::vector<Helper*> all{&runner->helper()};
  for (BuilderClient* builder : all_builders()) all.push_back(&builder->helper());
  return all;
}

bool is_of_environment(const Error& error) {
  return error.kind == ErrorKind::kIo || error.kind == ErrorKind::kNotFound ||
         error.kind == ErrorKind::kDataLoss;
}

KeepOff::KeepOff(const Session& session) {
  if (!session.gate.overlap || session.gate.others.empty()) return;
  before_ = allowed_processors();
  set_cpus(session.gate.others);
}
KeepOff::~KeepOff() { set_cpus(before_); }

}  // namespace lathe::measure
