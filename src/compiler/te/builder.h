// Writes index expressions in C++:
//
//   te::Builder b;
//   const te::Input A = b.input("A", {1024, 1024}), B = b.input("B", {1024, 1024});
//   const te::Iter i("i"), j("j"), k("k");
//   b.stage("C", {i, j}, te::sum({k}, A(k, i) * B(k, j)));
//   const Result<te::Workload> workload = b.build();
//
// It composes the text form. So both have the same rules for extents, types and reductions inside
// larger expressions (parse.h), and the same errors; an error's place is a place in text().
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "compiler/te/workload.h"

namespace lathe::te {

// An iterator. Its extent is inferred where none is given.
class Iter {
 public:
  explicit Iter(std::string name, std::int64_t extent = 0)
      : name_(std::move(name)), extent_(extent) {}
  const std::string& name() const { return name_; }
  std::string declared() const;  // "i:64", or "i"

 private:
  std::string name_;
  std::int64_t extent_;
};

class Value;

// An index: 2 * y + r - 1, y * 35 / 6, or any Value of integers, as I(n) and min(Value(i), 7).
class Index {
 public:
  Index(const Iter& iter) : text_(iter.name()) {}                    // NOLINT: reads like the text
  Index(std::integral auto value) : text_(std::to_string(value)) {}  // NOLINT
  Index(const Value& value);                                         // NOLINT
  const std::string& text() const { return text_; }

  friend Index operator+(const Index& a, const Index& b) { return joined(a, " + ", b); }
  friend Index operator-(const Index& a, const Index& b) { return joined(a, " - ", b); }
  friend Index operator*(const Index& a, const Index& b) { return joined(a, "*", b); }
  friend Index operator/(const Index& a, const Index& b) { return joined(a, "/", b); }
  friend Index operator%(const Index& a, const Index& b) { return joined(a, "%", b); }

 private:
  static Index joined(const Index& a, const char* op, const Index& b);
  std::string text_;
};

// An expression of one element.
class Value {
 public:
  Value(double number);  // NOLINT: takes the type of the other operand
  explicit Value(const Iter& iter) : text_(iter.name()) {}
  static Value from_text(std::string text);
  const std::string& text() const { return text_; }

  friend Value operator+(const Value& a, const Value& b) { return binary(a, "+", b); }
  friend Value operator-(const Value& a, const Value& b) { return binary(a, "-", b); }
  friend Value operator*(const Value& a, const Value& b) { return binary(a, "*", b); }
  friend Value operator/(const Value& a, const Value& b) { return binary(a, "/", b); }
  friend Value operator%(const Value& a, const Value& b) { return binary(a, "%", b); }
  friend Value operator<<(const Value& a, const Value& b) { return binary(a, "<<", b); }
  friend Value operator>>(const Value& a, const Value& b) { return binary(a, ">>", b); }
  friend Value operator&(const Value& a, const Value& b) { return binary(a, "&", b); }
  friend Value operator^(const Value& a, const Value& b) { return binary(a, "^", b); }
  friend Value operator|(const Value& a, const Value& b) { return binary(a, "|", b); }
  friend Value operator<(const Value& a, const Value& b) { return binary(a, "<", b); }
  friend Value operator<=(const Value& a, const Value& b) { return binary(a, "<=", b); }
  friend Value operator>(const Value& a, const Value& b) { return binary(a, ">", b); }
  friend Value operator>=(const Value& a, const Value& b) { return binary(a, ">=", b); }
  friend Value operator==(const Value& a, const Value& b) { return binary(a, "==", b); }
  friend Value operator!=(const Value& a, const Value& b) { return binary(a, "!=", b); }
  friend Value operator&&(const Value& a, const Value& b) { return binary(a, "&&", b); }
  friend Value operator||(const Value& a, const Value& b) { return binary(a, "||", b); }
  friend Value operator-(const Value& a) { return from_text("(-" + a.text_ + ")"); }
  friend Value operator~(const Value& a) { return from_text("(~" + a.text_ + ")"); }
  friend Value operator!(const Value& a) { return from_text("(!" + a.text_ + ")"); }

 private:
  static Value binary(const Value& a, const char* op, const Value& b);
  std::string text_;
};

// Any function of the text form: call("exp", x), call("pow", x, 2).
Value call(const std::string& function, std::initializer_list<Value> arguments);
template <std::convertible_to<Value>... Args>
Value call(const std::string& function, const Args&... arguments) {
  return call(function, {Value(arguments)...});
}
Value relu(const Value& x);
Value max(const Value& a, const Value& b);
Value min(const Value& a, const Value& b);
Value select(const Value& condition, const Value& then, const Value& otherwise);
Value cast(Dtype dtype, const Value& x);
// reduce(ir::ReduceOp::kMax, {r, s}, X(y + r, x + s))
Value reduce(ir::ReduceOp op, std::initializer_list<Iter> iters, const Value& body);
Value sum(std::initializer_list<Iter> iters, const Value& body);

// A tensor to read: an input, a literal, or what a stage wrote.
class Input {
 public:
  explicit Input(std::string name) : name_(std::move(name)) {}
  template <std::convertible_to<Index>... Indices>
  Value operator()(const Indices&... index) const {
    return read({Index(index)...}, {});
  }
  // Indices may leave the tensor, and read `pad` there.
  Value padded(double pad, std::initializer_list<Index> index) const { return read(index, pad); }

 private:
  Value read(std::initializer_list<Index> index, std::optional<double> pad) const;
  std::string name_;
};

class Builder {
 public:
  Input input(const std::string& name, const std::vector<std::int64_t>& shape,
              Dtype dtype = Dtype::kF32);
  Input constant(const std::string& name, const std::vector<std::int64_t>& shape,
                 Dtype dtype = Dtype::kF32);
  Input literal(const std::string& name, const std::vector<std::int64_t>& shape,
                const std::vector<double>& elements, Dtype dtype = Dtype::kF32);
  // Declares an output and its type. A tensor that no other stage reads is an output without this.
  void output(const std::string& name, const std::vector<std::int64_t>& shape,
              Dtype dtype = Dtype::kF32);
  Input stage(const std::string& name, std::initializer_list<Iter> iters, const Value& body);

  const std::string& text() const { return text_; }
  Result<Workload> build() const;

 private:
  Input declare(const std::string& prefix, const std::string& name,
                const std::vector<std::int64_t>& shape, Dtype dtype, const std::string& suffix);
  std::string text_;
};

}  // namespace lathe::te
