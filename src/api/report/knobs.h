// Tells which knob values the fast programs share. Internal to this room.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/report/trial.h"
#include "base/json.h"

namespace lathe::report {

// Gives every pair of a knob and a value a number.
class SettingTable {
 public:
  // Takes {"tile.p": 14, "order": "VPK.pv"}; anything but an object has no settings.
  std::vector<int> ids_of(const Json& config);

  struct Setting {
    int knob = 0;
    Json value;
  };
  const std::vector<Setting>& settings() const { return settings_; }
  const std::vector<std::string>& knobs() const { return knobs_; }

 private:
  std::map<std::string, int, std::less<>> knob_ids_;
  std::vector<std::string> knobs_;
  std::map<std::pair<int, std::string>, int> setting_ids_;
  std::vector<Setting> settings_;
};

// Compares the fastest twentieth of the different configurations with all of them.
Knobs shared_knobs(Trials trials, const SettingTable& table);

}  // namespace lathe::report
