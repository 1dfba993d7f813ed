// In which order the factors of a sum of products are multiplied and summed up.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace lathe::algebra {

// Costs, in operations on registers.
inline constexpr double kPerValueKept = 2;  // it is stored and loaded
inline constexpr double kPerPass = 2000;    // loops, calls, and threads that wait for each other

// A sum over products of factors, each of which depends on some iterators.
struct FactorSum {
  struct Factor {
    std::set<int> iters;
    double operations = 0;    // to compute one of its values; 0: it is a read
    double values = 0;        // how many it has, where they are computed once
    bool is_worth_it = true;  // false: it may not be computed once and kept by itself
  };
  std::vector<Factor> factors;
  std::vector<double> extents;  // by iterator
  std::set<int> results;        // the iterators of the result; the others are summed up
  // How many values the product of some factors has, summed up over these iterators, where that is
  // less than all values of its other iterators: neighbours share them. Empty: it never is.
  std::function<double(const std::set<int>& factors, const std::set<int>& summed)> values;
};

// Parts are computed first, and their results are factors of what is above them.
struct ContractionPart {
  std::vector<int> factors;            // numbers of those that are multiplied as they are
  std::vector<ContractionPart> parts;  // multiplied by these
  bool is_kept = false;                // one factor, whose values are computed once, without a sum

  std::set<int> all_factors() const;
};

// The order with the least cost; a part without parts, with all factors, where no other one is
// worth its passes over memory. The number of factors is at most kMostFactors.
inline constexpr std::size_t kMostFactors = 6;
ContractionPart contraction_order(const FactorSum& sum);

}  // namespace lathe::algebra
