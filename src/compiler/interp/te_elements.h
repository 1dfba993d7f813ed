// Computes single elements of a workload's tensors at full size, when they are asked for, with all
// that they depend on; and remembers them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/interp/scalar.h"
#include "compiler/te/recurrence.h"
#include "compiler/te/scan.h"
#include "compiler/te/workload.h"

namespace lathe::interp {

class Elements {
 public:
  // `inputs` have the order of program.inputs(), their elements are rounded to their types. They
  // and `program` must outlive this object. All calls together evaluate bodies of stages at most
  // `most_terms` times.
  Elements(const te::Workload& workload, std::vector<std::span<const double>> inputs,
           std::int64_t most_terms);

  // The element of `tensor` at the row-major `offset`, as scalar.h defines it; none if it takes
  // more terms than are left, or is too far along a scan.
  std::optional<Value> at(int tensor, std::int64_t offset);
  std::int64_t terms() const { return terms_; }

 private:
  struct Points;
  struct Address {                      // of a read
    std::vector<std::int64_t> factors;  // by iterator: its factor in the row-major offset
    std::int64_t offset = 0;
  };
  using Lanes = std::vector<Value>;

  // Each of these works on a few hundred elements or positions at a time: lanes.
  Lanes read(int tensor, const std::vector<std::int64_t>& offsets);
  Lanes element_wise(const te::Stage& stage, const std::vector<std::int64_t>& offsets);
  void know_line(const te::Stage& stage, const te::Scan& scan, std::int64_t offset);
  Value reduced(const te::Stage& stage, std::int64_t offset);
  Lanes evaluate(const ir::Expr& e, const Points& points);
  Lanes evaluate(const ir::Read& read, const Points& points);
  Lanes evaluate(const ir::Lookup& lookup, const Points& points);
  Lanes evaluate(const ir::Select& select, const Points& points);
  const Address& address(const ir::Read& read, std::size_t iterators);
  void count(std::size_t terms);

  const te::Workload& workload_;
  std::vector<std::span<const double>> values_;  // by tensor: values of inputs and literals
  std::vector<const te::Stage*> writers_;        // by tensor
  std::vector<std::unordered_map<std::int64_t, Value>> known_;  // by tensor
  // By tensor: the axis along which its elements need those before them.
  std::vector<std::optional<te::Scan>> lines_;
  std::vector<bool> scanning_;  // by tensor: an element is computed after those before it
  int depth_ = 0;               // of evaluations of such elements in one another
  std::unordered_map<const ir::Read*, Address> addresses_;
  std::int64_t most_terms_, terms_ = 0;
};

}  // namespace lathe::interp
