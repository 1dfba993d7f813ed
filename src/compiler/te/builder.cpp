#include "compiler/te/builder.h"

#include <cmath>

#include "compiler/te/parse.h"

namespace lathe::te {
namespace {

std::string number_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", value);
}

// "i:4,j"
std::string declared(std::initializer_list<Iter> iters) {
  std::vector<std::string> out;
  for (const Iter& iter : iters) out.push_back(iter.declared());
  return fmt::format("{}", fmt::join(out, ","));
}

}  // namespace

std::string Iter::declared() const {
  return extent_ == 0 ? name_ : fmt::format("{}:{}", name_, extent_);
}

Index::Index(const Value& value) : text_(value.text()) {}

Index Index::joined(const Index& a, const char* op, const Index& b) {
  Index out(0);
  out.text_ = fmt::format("({}{}{})", a.text_, op, b.text_);
  return out;
}

Value::Value(double number) : text_(number_text(number)) {}

Value Value::from_text(std::string text) {
  Value out(0);
  out.text_ = std::move(text);
  return out;
}

Value Value::binary(const Value& a, const char* op, const Value& b) {
  return from_text(fmt::format("({} {} {})", a.text_, op, b.text_));
}

Value call(const std::string& function, std::initializer_list<Value> arguments) {
  std::vector<std::string> texts;
  for (const Value& argument : arguments) texts.push_back(argument.text());
  return Value::from_text(fmt::format("{}({})", function, fmt::join(texts, ", ")));
}

Value relu(const Value& x) { return call("relu", {x}); }
Value max(const Value& a, const Value& b) { return call("max", {a, b}); }
Value min(const Value& a, const Value& b) { return call("min", {a, b}); }
Value select(const Value& condition, const Value& then, const Value& otherwise) {
  return call("select", {condition, then, otherwise});
}
Value cast(Dtype dtype, const Value& x) { return call(std::string(name_of(dtype)), {x}); }

Value reduce(ir::ReduceOp op, std::initializer_list<Iter> iters, const Value& body) {
  return Value::from_text(
      fmt::format("({}({}) {})", ir::name_of(op), declared(iters), body.text()));
}
Value sum(std::initializer_list<Iter> iters, const Value& body) {
  return reduce(ir::ReduceOp::kSum, iters, body);
}

Value Input::read(std::initializer_list<Index> index, std::optional<double> pad) const {
  std::vector<std::string> texts;
  for (const Index& i : index) texts.push_back(i.text());
  return Value::from_text(fmt::format("{}[{}{}]", name_, fmt::join(texts, ","),
                                      pad ? " else " + number_text(*pad) : ""));
}

Input Builder::declare(const std::string& prefix, const std::string& name,
                       const std::vector<std::int64_t>& shape, Dtype dtype,
                       const std::string& suffix) {
  text_ +=
      fmt::format("{}{}: {}[{}]{}\n", prefix, name, name_of(dtype), fmt::join(shape, ","), suffix);
  return Input(name);
}

Input Builder::input(const std::string& name, const std::vector<std::int64_t>& shape, Dtype dtype) {
  return declare("", name, shape, dtype, "");
}
Input Builder::constant(const std::string& name, const std::vector<std::int64_t>& shape,
                        Dtype dtype) {
  return declare("const ", name, shape, dtype, "");
}
Input Builder::literal(const std::string& name, const std::vector<std::int64_t>& shape,
                       const std::vector<double>& elements, Dtype dtype) {
  std::vector<std::string> texts;
  for (const double element : elements) texts.push_back(number_text(element));
  return declare("", name, shape, dtype, fmt::format(" = {{{}}}", fmt::join(texts, ",")));
}
void Builder::output(const std::string& name, const std::vector<std::int64_t>& shape, Dtype dtype) {
  declare("output ", name, shape, dtype, "");
}

Input Builder::stage(const std::string& name, std::initializer_list<Iter> iters,
                     const Value& body) {
  text_ += fmt::format("{}[{}] = {}\n", name, declared(iters), body.text());
  return Input(name);
}

Result<Workload> Builder::build() const { return parse_workload(text_); }

}  // namespace lathe::te
