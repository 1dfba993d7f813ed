// What a run of a search found: the trials at which its best improved.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::experiment {

struct Improvement {
  int trial = 0;       // from 1, in the order of measurement
  double seconds = 0;  // of the best program until then
  friend bool operator==(const Improvement&, const Improvement&) = default;
};
using Curve = std::vector<Improvement>;  // trials do not fall, seconds do

// The trials until a program reached `share` of the speed of one that takes `best` seconds;
// infinity if none did.
double trials_to(const Curve& curve, double best, double share);
// The seconds of the best program after this many trials; infinity if none worked.
double best_after(const Curve& curve, double trials);

// "3:0.00125 17:0.0011". When it is read again, it is exactly the same curve.
std::string text_of(const Curve& curve);
Result<Curve> parse_curve(const std::string& text);

}  // namespace lathe::experiment
