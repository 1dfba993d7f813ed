#include "cli/floor_text.h"

#include "cli/results.h"

namespace lathe::cli {

std::string floor_title() { return fmt::format("{:>10}  {:<10}", "floor", "of"); }

std::string floor_text(const api::NodeFloor& floor) {
  return fmt::format("{:>10}  {:<10}", time_text(floor.seconds()),
                     floor.arithmetic > floor.memory ? "arithmetic" : "memory");
}

}  // namespace lathe::cli
