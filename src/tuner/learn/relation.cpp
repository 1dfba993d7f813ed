#include "tuner/learn/relation.h"

#include <algorithm>
#include <variant>

#include <fmt/ranges.h>

#include "base/known_names.h"
#include "compiler/te/parse.h"
#include "compiler/te/workload.h"

namespace lathe::learn {
namespace {

constexpr std::pair<const char*, Relation> kRelations[] = {
    {"operator", Relation::kOperator}, {"image", Relation::kImage}, {"family", Relation::kFamily}};

// Those that belong to a name, as of a type, stay.
std::string without_numbers(const std::string& shape) {
  std::string out;
  bool in_name = false;
  for (const char c : shape) {
    const bool digit = c >= '0' && c <= '9';
    in_name = (in_name && digit) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!digit || in_name) out += c;
  }
  return out;
}

std::string image_of(const te::Workload& workload) {
  const auto& shape = workload.tensors[workload.outputs().front()].shape;
  const std::size_t known = std::min<std::size_t>(shape.size(), 2);
  return fmt::format("{}",
                     fmt::join(shape.end() - static_cast<std::ptrdiff_t>(known), shape.end(), "x"));
}

bool reads(const ir::Expr& expr) {
  bool found = false;
  ir::for_each_node(expr, [&](const ir::Expr& e) {
    found = found || std::holds_alternative<ir::Read>(e->value);
  });
  return found;
}

bool sums_products(const te::Stage& stage) {
  if (stage.reduce != ir::ReduceOp::kSum) return false;
  bool found = false;
  ir::for_each_node(stage.body, [&](const ir::Expr& e) {
    const auto* binary = std::get_if<ir::Binary>(&e->value);
    found = found || (binary != nullptr && binary->op == ir::BinaryOp::kMul && reads(binary->a) &&
                      reads(binary->b));
  });
  return found;
}

std::string family_of(const te::Workload& workload) {
  if (std::ranges::any_of(workload.stages, sums_products)) return kProducts;
  const bool reduces = std::ranges::any_of(
      workload.stages, [](const te::Stage& stage) { return stage.reduce != ir::ReduceOp::kNone; });
  return reduces ? "reductions" : "maps";
}

}  // namespace

std::vector<std::string> known_relations() {
  std::vector<std::string> names;
  for (const auto& [name, relation] : kRelations) names.emplace_back(name);
  return names;
}

Result<Relation> relation_named(const std::string& name) {
  for (const auto& [known, relation] : kRelations)
    if (name == known) return relation;
  return fail(ErrorKind::kInvalidArgument, "unknown relation \"{}\"; known are {}", name,
              known_names(known_relations(), name));
}

std::string relatives_of(const std::string& workload, Relation relation) {
  if (relation == Relation::kOperator) return without_numbers(shape_of(workload));
  const auto parsed = te::parse_workload(workload);
  if (!parsed) return workload;
  return relation == Relation::kImage ? image_of(*parsed) : family_of(*parsed);
}

std::string shape_of(const std::string& workload) {
  auto parsed = te::parse_workload(workload);
  if (!parsed) return workload;
  parsed->contract = {};
  for (te::Tensor& tensor : parsed->tensors) tensor.constant = false, tensor.range.reset();
  return te::workload_key(*parsed);
}

}  // namespace lathe::learn
