#include "tuner/measure/session.h"

#include <algorithm>

#include "base/processors.h"
#include "base/temporary_folder.h"

namespace lathe::measure {
std::vector<BuilderClient*> Session::all_builders() const {
  std::vector<BuilderClient*> all;
  for (const auto& builder : builders) all.push_back(builder.get());
  if (guest) all.push_back(guest.get());
  return all;
}

std::vector<RunnerClient*> Session::all_runners() const {
  std::vector<RunnerClient*> all;
  for (const auto& station : stations) all.push_back(station->runner.get());
  if (own_host) all.push_back(own_host.get());
  return all;
}

// Also removes what killed builders left: its own, and those of tuners killed shortly before it
// began.
Session::~Session() {
  for (Helper* helper : helpers()) helper->stop();
  remove_abandoned_folders();
}

std::vector<Helper*> Session::helpers() const {
  std::vector<Helper*> all;
  for (RunnerClient* runner : all_runners()) all.push_back(&runner->helper());
  for (BuilderClient* builder : all_builders()) all.push_back(&builder->helper());
  return all;
}

void Task::take_helpers() {
  for (BuilderClient* builder : session->all_builders()) builder->take(building);
  for (RunnerClient* runner : session->all_runners()) runner->take(running);
}

Task::~Task() {
  if (!session) return;
  for (BuilderClient* builder : session->all_builders()) builder->leave(building);
  for (RunnerClient* runner : session->all_runners()) runner->leave(running);
}

KeepOff::KeepOff(const Gate& gate) {
  if (!gate.overlap || gate.others.empty()) return;
  before_ = allowed_processors();
  keep_to(gate.others);
}
KeepOff::~KeepOff() { keep_to(before_); }

}  // namespace lathe::measure
