// The statements of a kernel in C: what the dialects for devices share. A dialect derives from it
// and says how types, operations and accesses are written.
//
// An expression's text can stand anywhere without brackets. What a statement uses more than once,
// and what is long, gets a name: `const float t3 = ...;`. Bools are ints; a lane of a vector of
// bools is 0 or -1.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/dtype.h"
#include "compiler/codegen/c_source/names.h"
#include "compiler/ir/flat/flat.h"

namespace lathe::codegen::c_source {

// The text without the brackets around all of it, for where nothing can tear it apart.
std::string bare(const std::string& text);

// Thrown for what the dialect cannot do: a sentence.
struct Refused {
  std::string message;
};

class KernelWriter {
 public:
  KernelWriter(const flat::Program& program, const flat::Kernel& kernel, Names names);
  virtual ~KernelWriter() = default;

 protected:
  // The dialect's part. Operands are texts; their types are those of the flat expression `e`.
  virtual std::string type(flat::Type type) const = 0;
  virtual std::string unary(const flat::Unary& n, const flat::Expr& e, const std::string& x) = 0;
  virtual std::string binary(const flat::Binary& n, const flat::Expr& e, const std::string& a,
                             const std::string& b) = 0;
  virtual std::string fma(const flat::Expr& e, const std::string& a, const std::string& b,
                          const std::string& c) = 0;
  virtual std::string select(const flat::Select& n, const flat::Expr& e,
                             const std::string& condition, const std::string& then,
                             const std::string& otherwise) = 0;
  virtual std::string cast(const flat::Cast& n, const flat::Expr& e) = 0;
  virtual std::string bitcast(const flat::Bitcast& n, const flat::Expr& e,
                              const std::string& x) = 0;
  virtual std::string ramp(const flat::Ramp& n, const flat::Expr& e, const std::string& base) = 0;
  virtual std::string broadcast(const flat::Expr& e, const std::string& x) = 0;
  // Of a vector that has a name: one lane as a number; one half, the low one first.
  virtual std::string lane(const std::string& vector, flat::Type type, int number) const = 0;
  virtual std::string half(const std::string& vector, int which) const = 0;
  virtual std::string combine(flat::BinaryOp op, flat::Type type, const std::string& a,
                              const std::string& b) = 0;
  virtual std::string load(const flat::Load& n, const flat::Expr& e) = 0;
  virtual void store(const flat::Store& n) = 0;
  virtual void barrier() = 0;

  // What dialects use.
  std::string value(const flat::Expr& e);
  std::string whole(const flat::Expr& e);  // of a statement: it needs no name, however long it is
  std::string named(const flat::Expr& e);  // an identifier or a number
  std::string name_it(flat::Type type, const std::string& text);
  void line(const std::string& text);
  void begin_statement(const std::vector<flat::Expr>& expressions);
  const std::string& buffer_name(int buffer) const {
    return buffers_[static_cast<std::size_t>(buffer)];
  }
  const std::string& var_name(int var) const { return vars_[static_cast<std::size_t>(var)]; }
  std::vector<char> regs_used() const { return regs_used_; }

  // The kernel's statements; lines end in a newline.
  std::string statements();

  const flat::Program& program_;
  const flat::Kernel& kernel_;

 private:
  void count(const flat::Expr& e);
  std::string text_of(const flat::Expr& e);
  std::string reduce(const flat::Reduce& n);
  std::string slide(const flat::Slide& n, flat::Type type);
  void statement(const flat::Stmt& s);
  void block(const flat::Stmt& s);
  void write(const flat::Seq& n);
  void write(const flat::For& n);
  void write(const flat::Region& n);
  void write(const flat::If& n);
  void write(const flat::Let& n);
  void write(const flat::Store& n);
  void write(const flat::RegWrite& n);
  void write(const flat::PrefetchAt&) {}
  void write(const flat::Barrier&) { barrier(); }
  void write(const flat::AsyncCopy& n);
  void write(const flat::CommitCopies& n);
  void write(const flat::AwaitCopies& n);
  void write(const flat::Exchange& n);

  std::vector<std::string> vars_, buffers_;
  std::vector<char> regs_used_;
  std::string out_;
  int depth_ = 1, temporaries_ = 0;
  // Of the statement that is being written, by hash.
  std::unordered_map<std::uint64_t, int> uses_;
  std::unordered_map<std::uint64_t, std::string> known_;
};

}  // namespace lathe::codegen::c_source
