// Records of programs that nobody measured, for tests of what is chosen by records.
#pragma once

#include <string>

#include "api/workload.h"
#include "tuner/measure/device.h"
#include "tuner/store/store.h"

namespace lathe::api {

// The loops of a workload as written, as if a call took so long on this machine. Its run is in the
// store; the record is for the caller to change and to add.
inline store::Record naive_record(store::Store& store, const std::string& key, const Target& target,
                                  double seconds, CacheMode cache = CacheMode::kWarm) {
  store::Record record;
  record.run =
      store
          .open_run(
              {.workload = key, .target = target.text(), .cache_mode = cache, .space = "default"})
          ->id;
  record.workload = key;
  record.target = target.text();
  record.cache_mode = cache;
  record.cpu = record.fingerprint = measure::machine_for(target).cpu();
  record.codegen_version = *codegen_version(target);
  record.config = Json::object();
  record.trace = Json::array();
  record.seconds = seconds;
  record.program_hash = "naive";
  return record;
}

}  // namespace lathe::api
