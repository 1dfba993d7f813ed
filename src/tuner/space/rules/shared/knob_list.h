// Knobs of a rule, appended to those of before.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tuner/space/rules/rule.h"

namespace lathe::space {

class KnobList {
 public:
  // All names begin with `prefix`.
  explicit KnobList(std::vector<Knob>& knobs, std::string prefix = "")
      : knobs_(knobs), prefix_(std::move(prefix)) {}

  // Each returns the number of the knob that it adds.
  int size(const std::string& name, std::vector<std::int64_t> values) {
    return add({prefix_ + name, std::move(values), {}, false});
  }
  int choice(const std::string& name, std::vector<std::string> labels) {
    Knob knob{prefix_ + name, {}, std::move(labels), true};
    while (knob.values.size() < knob.labels.size()) knob.values.push_back(std::ssize(knob.values));
    return add(std::move(knob));
  }
  template <class Choice>
  int choice(const std::string& name, const std::vector<Choice>& choices) {
    std::vector<std::string> labels;
    for (const Choice& each : choices) labels.push_back(label_of(each));
    return choice(name, std::move(labels));
  }

 private:
  int add(Knob knob) {
    knobs_.push_back(std::move(knob));
    return static_cast<int>(knobs_.size()) - 1;
  }

  std::vector<Knob>& knobs_;
  std::string prefix_;
};

}  // namespace lathe::space
