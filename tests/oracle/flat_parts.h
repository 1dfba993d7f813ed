// What a part of a phase copies and computes, element by element, for flat_count.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/flat/flat.h"
#include "oracle/flat_count.h"
#include "oracle/flat_indices.h"

namespace lathe::interp {

class PartRecorder {
 public:
  PartRecorder(const flat::Program& program, Indices& indices)
      : program_(program), indices_(indices) {}

  void begin_phase(const flat::Stmt& body);
  void begin_part() { local_.clear(); }
  // A store or a write of a register, that takes so much work.
  void add(const flat::Stmt& s, const Counted& work, CountedPart& part);

 private:
  // Where a lane is taken from; no buffer: it is a constant, or the part wrote it.
  struct Origin {
    int buffer = -1;
    std::int64_t element = 0;
  };
  using Origins = std::vector<Origin>;
  // Of lanes that are computed alike from the same elements it is the same.
  using Numbers = std::vector<std::uint64_t>;

  void find_stored(const flat::Stmt& s);
  void find_computed(const flat::Stmt& s);
  void find_regs_of(int buffer, const flat::Stmt& body);
  bool computes(const flat::Expr& e);
  Origins origins(const flat::Expr& e);
  Numbers numbers(const flat::Expr& e);
  Numbers fresh_numbers(const flat::Expr& e);
  Numbers loaded(const flat::Expr& e, const flat::Load& load);
  void copy(const flat::Stmt& s, CountedPart& part);
  void compute(const flat::Stmt& s, const Counted& work, CountedPart& part);

  const flat::Program& program_;
  Indices& indices_;
  // Of the phase: what it stores to; registers that get something computed anywhere; the registers
  // that what is computed into a buffer goes through.
  std::set<int> stored_, computed_regs_;
  std::map<int, std::set<int>> computed_;
  std::map<int, Origins> regs_;
  std::map<int, Numbers> reg_numbers_;
  std::map<std::pair<int, std::int64_t>, std::uint64_t> local_;  // written by the part
  std::unordered_map<const flat::Node*, Numbers> known_;         // in the statement
};

}  // namespace lathe::interp
