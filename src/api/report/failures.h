// Failed trials by reason. Internal to this room.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/report/report.h"

namespace lathe::report {

class FailureTable {
 public:
  void add(const store::Record& record);
  // Most frequent first.
  std::vector<Failure> summary() const;

 private:
  struct Kind {
    int count = 0;
    std::map<std::string, Reason> reasons;  // by message
  };
  std::map<std::string, Kind> kinds_;
};

}  // namespace lathe::report
