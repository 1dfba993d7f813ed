// Tells which XGBoost trains the models.
#pragma once

#include <string>

namespace lathe::model {

std::string xgboost_version();  // of the library that is loaded, "1.7.4"

}  // namespace lathe::model
