// Puts workloads into words. Internal to this room.
#pragma once

#include <map>
#include <string>

#include "api/report/report.h"

namespace lathe::report {

class Describer {
 public:
  Describer();
  // Fills title, expression, shapes and work from the key, whatever its text is.
  void describe(WorkloadReport& workload) const;

 private:
  std::map<std::string, std::string> paper_names_;  // by learn::shape_of
};

}  // namespace lathe::report
