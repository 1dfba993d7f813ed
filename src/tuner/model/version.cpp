#include "tuner/model/version.h"

#include <xgboost/c_api.h>

#include <fmt/format.h>

namespace lathe::model {

std::string xgboost_version() {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace lathe::model
