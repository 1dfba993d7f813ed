#include "graph/import/import.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/ranges.h>

#include "base/split.h"
#include "graph/import/site.h"

namespace lathe::graph {
namespace {

constexpr int kMostBodies = 20'000;         // loops in loops multiply
constexpr int kAbsent = -1, kUnknown = -2;  // left out; made by a node that is not supported

class Importer {
 public:
  Importer(const onnx::Model& model, const ImportOptions& options)
      : model_(model),
        options_(options),
        make_body_([this](const onnx::Model& body, const std::vector<int>& inputs) {
          return made_body(body, inputs);
        }) {}

  Result<Imported> run() {
    out_.graph.name = model_.name;
    LATHE_TRY_STATUS(add_initializers());
    LATHE_TRY_STATUS(add_inputs());
    const auto order = LATHE_TRY(order_of_nodes());
    for (const std::size_t n : order) LATHE_TRY_STATUS(add_node(model_.nodes[n]));
    LATHE_TRY_STATUS(add_outputs());
    if (!out_.unsupported.empty()) return std::move(out_);
    drop_unused(out_.graph);
    LATHE_TRY_STATUS(verify(out_.graph));
    return std::move(out_);
  }

 private:
  Status define(const std::string& name, int id, const std::string& place) {
    if (!scopes_.back().emplace(name, id).second)
      return fail_at(place, ErrorKind::kInvalidArgument, "the value '{}' is made twice", name);
    return {};
  }

  bool in_body() const { return scopes_.size() > 1; }

  // The value of a name, as the graph that is being made sees it: its own, and those around it.
  const int* find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return &found->second;
    return nullptr;
  }

  int add(Value value) {
    out_.graph.values.push_back(std::move(value));
    return static_cast<int>(out_.graph.values.size()) - 1;
  }

  Status add_constant(const std::string& name, const onnx::Tensor& tensor) {
    const auto dtype = onnx::dtype_of(tensor.type);
    if (!dtype) {
      unknown_types_[name] = onnx::type_name(tensor.type);
      return define(name, kUnknown, "the initializers");
    }
    const std::string own = in_body() ? fmt::format("{}#{}", name, out_.graph.values.size()) : name;
    return define(name, add({own, *dtype, tensor.shape, tensor.data, {}}), "the initializers");
  }

  Status add_initializers() {
    for (const auto& tensor : model_.initializers)
      LATHE_TRY_STATUS(add_constant(tensor.name, tensor));
    for (const auto& [name, tensor] : options_.constants)
      LATHE_TRY_STATUS(add_constant(name, tensor));
    return {};
  }

  // Initializers may stand among the inputs, too: they are constants here.
  Status add_inputs() {
    std::set<std::string, std::less<>> open, names;
    for (const auto& info : model_.inputs) {
      if (!names.insert(info.name).second)
        return fail_at("the inputs", ErrorKind::kInvalidArgument, "two are named '{}'", info.name);
      if (find(info.name)) continue;
      LATHE_TRY_STATUS(add_input(info, open));
    }
    for (const auto& [name, shape] : options_.shapes)
      if (!used_.contains(name) && dims_.contains(name))
        return fail_at("--shape", ErrorKind::kInvalidArgument,
                       "'{}' names a dimension: give it one size, and none where an input's whole "
                       "shape has it",
                       name);
      else if (!used_.contains(name))
        return fail_at("--shape", ErrorKind::kInvalidArgument,
                       "'{}' is no input of the model and no name of a dimension of one; there are "
                       "{}",
                       name, fmt::join(names_, ", "));
    if (!open.empty())
      return fail_at("the inputs", ErrorKind::kInvalidArgument,
                     "the model leaves sizes open; fix them, as with {}", fmt::join(open, " "));
    return {};
  }

  Status add_input(const onnx::ValueInfo& info, std::set<std::string, std::less<>>& open) {
    const std::string place = fmt::format("input '{}'", info.name);
    const auto dtype = onnx::dtype_of(info.type);
    if (!dtype) {
      unknown_types_[info.name] = onnx::type_name(info.type);
      return define(info.name, kUnknown, place);
    }
    names_.insert(info.name);
    const auto whole = options_.shapes.find(info.name);
    Value value{info.name, *dtype, {}, {}, {}};
    if (whole != options_.shapes.end()) {
      used_.insert(info.name);
      LATHE_TRY_STATUS(agree(info, whole->second));
      value.shape = whole->second;
      for (const onnx::Dim& dim : info.shape.value_or(std::vector<onnx::Dim>()))
        if (!dim.name.empty()) dims_.insert(dim.name);
    } else if (!info.shape) {
      open.insert(fmt::format("--shape {}=1,3,224,224", info.name));
    } else {
      for (const onnx::Dim& dim : *info.shape) value.shape.push_back(size_of_dim(dim, info, open));
    }
    if (elements_of(value.shape) == 0)
      return fail_at(place, ErrorKind::kUnsupported,
                     "its shape {} has no elements; give its sizes by --shape {}=...",
                     typed(*dtype, value.shape), info.name);
    if (value.elements() > std::int64_t{1} << 40)
      return fail_at(place, ErrorKind::kUnsupported, "its shape {} has more than 2^40 elements",
                     typed(*dtype, value.shape));
    out_.graph.inputs.push_back(add(std::move(value)));
    return define(info.name, out_.graph.inputs.back(), place);
  }

  // A shape given as a whole must have the model's rank and fixed sizes.
  static Status agree(const onnx::ValueInfo& info, const Shape& shape) {
    if (!info.shape) return {};
    bool same = info.shape->size() == shape.size();
    for (std::size_t d = 0; same && d < shape.size(); ++d)
      same = (*info.shape)[d].size.value_or(shape[d]) == shape[d];
    if (same) return {};
    std::vector<std::string> sizes;
    for (const auto& dim : *info.shape)
      sizes.push_back(dim.size ? std::to_string(*dim.size) : dim.name.empty() ? "?" : dim.name);
    return fail_at("--shape", ErrorKind::kInvalidArgument,
                   "[{}] is no shape of the input '{}', which is [{}] in the model",
                   fmt::join(shape, ","), info.name, fmt::join(sizes, ","));
  }

  std::int64_t size_of_dim(const onnx::Dim& dim, const onnx::ValueInfo& info,
                           std::set<std::string, std::less<>>& open) {
    if (dim.size) return *dim.size;
    if (!dim.name.empty()) names_.insert(dim.name), dims_.insert(dim.name);
    const auto given = options_.shapes.find(dim.name);
    if (!dim.name.empty() && given != options_.shapes.end() && given->second.size() == 1) {
      used_.insert(dim.name);
      return given->second[0];
    }
    std::vector<std::string> sizes;
    for (const auto& each : *info.shape) sizes.push_back(std::to_string(each.size.value_or(1)));
    open.insert(dim.name.empty() ? fmt::format("--shape {}={}", info.name, fmt::join(sizes, ","))
                                 : fmt::format("--shape {}=1", dim.name));
    return 1;
  }

  // An order in which each node comes after those whose outputs it reads.
  Result<std::vector<std::size_t>> order_of_nodes() {
    std::map<std::string, std::size_t, std::less<>> makers;
    for (std::size_t n = 0; n < model_.nodes.size(); ++n)
      for (const auto& name : model_.nodes[n].outputs) {
        if (name.empty()) continue;
        if (find(name) || !makers.emplace(name, n).second)
          return fail_at(model_.nodes[n].label(), ErrorKind::kInvalidArgument,
                         "the value '{}' is made twice", name);
      }
    std::vector<std::size_t> order, waits(model_.nodes.size(), 0);
    std::vector<std::vector<std::size_t>> readers(model_.nodes.size());
    for (std::size_t n = 0; n < model_.nodes.size(); ++n)
      for (const auto& name : needs_of(model_.nodes[n])) {
        if (find(name)) continue;
        const auto maker = makers.find(name);
        if (maker == makers.end())
          return fail_at(model_.nodes[n].label(), ErrorKind::kInvalidArgument,
                         "nothing makes its input '{}'", name);
        readers[maker->second].push_back(n);
        ++waits[n];
      }
    for (std::size_t n = 0; n < waits.size(); ++n)
      if (waits[n] == 0) order.push_back(n);
    for (std::size_t at = 0; at < order.size(); ++at)
      for (const std::size_t reader : readers[order[at]])
        if (--waits[reader] == 0) order.push_back(reader);
    for (std::size_t n = 0; n < waits.size() && order.size() < waits.size(); ++n)
      if (waits[n] > 0) return circle_at(n);
    // As the file has them, where that is such an order.
    std::vector<std::size_t> place(order.size());
    for (std::size_t at = 0; at < order.size(); ++at) place[order[at]] = at;
    bool sorted = true;
    for (std::size_t n = 0; n < readers.size(); ++n)
      for (const std::size_t reader : readers[n]) sorted &= n < reader;
    if (sorted) std::ranges::sort(order);
    return order;
  }

  // What a node reads, also in graphs that are its attributes.
  static std::set<std::string> needs_of(const onnx::Node& node) {
    std::set<std::string> needs(node.inputs.begin(), node.inputs.end());
    for (const auto& [name, attribute] : node.attributes) {
      if (!attribute.graph) continue;
      const onnx::Model& body = *attribute.graph;
      std::set<std::string> inner, own;
      for (const auto& each : body.nodes) {
        inner.merge(needs_of(each));
        own.insert(each.outputs.begin(), each.outputs.end());
      }
      for (const auto& info : body.outputs) inner.insert(info.name);
      for (const auto& info : body.inputs) own.insert(info.name);
      for (const auto& tensor : body.initializers) own.insert(tensor.name);
      for (const auto& each : inner)
        if (!own.contains(each)) needs.insert(each);
    }
    needs.erase("");
    return needs;
  }

  // The nodes of a graph that is an attribute, in the order of the file.
  Made made_body(const onnx::Model& body, const std::vector<int>& inputs) {
    const std::string place = fmt::format("the graph '{}'", body.name);
    if (inputs.size() != body.inputs.size())
      return fail_at(place, ErrorKind::kInvalidArgument, "it has {} inputs, and {} are given",
                     body.inputs.size(), inputs.size());
    if (++bodies_ > kMostBodies)
      return fail_at(place, ErrorKind::kUnsupported,
                     "graphs in the model are made more than {} times", kMostBodies);
    scopes_.emplace_back();
    auto made = inside_body(body, inputs, place);
    scopes_.pop_back();
    return made;
  }
  Made inside_body(const onnx::Model& body, const std::vector<int>& inputs,
                   const std::string& place) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      LATHE_TRY_STATUS(define(body.inputs[i].name, inputs[i], place));
    for (const auto& tensor : body.initializers)
      LATHE_TRY_STATUS(add_constant(tensor.name, tensor));
    for (const auto& node : body.nodes) LATHE_TRY_STATUS(add_node(node));
    std::vector<int> ids;
    for (const auto& info : body.outputs) {
      const int* id = find(info.name);
      if (!id)
        return fail_at(place, ErrorKind::kInvalidArgument, "nothing makes its output '{}'",
                       info.name);
      if (*id < 0)
        return fail_at(place, ErrorKind::kUnsupported, "its output '{}' cannot be made", info.name);
      ids.push_back(*id);
    }
    return ids;
  }

  std::unexpected<Error> circle_at(std::size_t n) const {
    return fail_at(model_.nodes[n].label(), ErrorKind::kInvalidArgument,
                   "it is in a circle of nodes, or behind one: its input '{}' needs what it makes",
                   fmt::join(model_.nodes[n].inputs, "', '"));
  }

  std::int64_t version_of(const std::string& domain) const {
    const auto found = model_.opsets.find(domain);
    return found == model_.opsets.end() ? 0 : found->second;
  }

  Status refuse(const onnx::Node& node, const std::string& reason) {
    const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
    out_.unsupported.push_back({op, version_of(node.domain), reason, node.label()});
    return leave(node);
  }

  Status leave(const onnx::Node& node) {
    for (const auto& name : node.outputs)
      if (!name.empty()) LATHE_TRY_STATUS(define(name, kUnknown, node.label()));
    return {};
  }

  Status add_node(const onnx::Node& node) {
    if (std::ranges::all_of(node.outputs, [](const auto& out) { return out.empty(); }))
      return fail_at(node.label(), ErrorKind::kInvalidArgument, "it has no output");
    const Row* row = row_of(node);
    if (!row) return refuse(node, "there is no such operator here");
    if (version_of("") < row->since)
      return refuse(node, fmt::format("it is known here from opset {} on; convert the model, as "
                                      "with onnx.version_converter",
                                      row->since));
    std::vector<int> inputs;
    for (const auto& name : node.inputs) {
      const int* id = find(name);
      if (!name.empty() && !id)
        return fail_at(node.label(), ErrorKind::kInvalidArgument, "nothing makes its input '{}'",
                       name);
      inputs.push_back(name.empty() ? kAbsent : *id);
      if (inputs.back() != kUnknown) continue;
      const auto type = unknown_types_.find(name);
      if (type == unknown_types_.end()) return leave(node);
      return refuse(node, fmt::format("its input '{}' is of {}, which the language does not have",
                                      name, type->second));
    }
    for (std::size_t i = 0; i < row->least_inputs; ++i)
      if (i >= inputs.size() || inputs[i] == kAbsent)
        return fail_at(node.label(), ErrorKind::kInvalidArgument, "it has {} inputs, and needs {}",
                       inputs.size(), row->least_inputs);
    return made(node, *row, std::move(inputs));
  }

  Status made(const onnx::Node& node, const Row& row, std::vector<int> inputs) {
    const std::size_t nodes = out_.graph.nodes.size(), values = out_.graph.values.size();
    Site site(out_.graph, node, version_of(node.domain), std::move(inputs), make_body_);
    Made ids = row.make(site);
    if (!ids && ids.error().kind != ErrorKind::kUnsupported) return std::unexpected(ids.error());
    if (!ids) {
      out_.graph.nodes.resize(nodes);
      out_.graph.values.resize(values);
      return refuse(node, ids.error().message);
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].empty()) continue;
      if (o >= ids->size()) return refuse_rest(node, o);
      LATHE_TRY_STATUS(
          define(node.outputs[o], named((*ids)[o], node.outputs[o], values), node.label()));
    }
    return {};
  }

  Status refuse_rest(const onnx::Node& node, std::size_t from) {
    out_.unsupported.push_back({node.op, version_of(node.domain),
                                fmt::format("its output {} is not made here", from + 1),
                                node.label()});
    for (std::size_t o = from; o < node.outputs.size(); ++o)
      if (!node.outputs[o].empty())
        LATHE_TRY_STATUS(define(node.outputs[o], kUnknown, node.label()));
    return {};
  }

  // The value, by the name that the model has for it. One that was there before is seen under
  // another name.
  int named(int id, const std::string& name, std::size_t fresh_from) {
    if (in_body()) return id;  // it may be made again
    auto& values = out_.graph.values;
    const auto at = static_cast<std::size_t>(id);
    if (at >= fresh_from && !named_.contains(id)) {
      named_.insert(id);
      values[at].name = name;
      return id;
    }
    Value same = values[at];
    same.name = name;
    if (!same.constant) same.view_of = id, same.begin = 0;
    return add(std::move(same));
  }

  static const Row* row_of(const onnx::Node& node) {
    if (!node.domain.empty()) return nullptr;
    const auto found = std::ranges::find(rows(), node.op, &Row::name);
    return found == rows().end() ? nullptr : &*found;
  }

  Status add_outputs() {
    for (const auto& info : model_.outputs) {
      const int* found = find(info.name);
      if (!found)
        return fail_at("the outputs", ErrorKind::kInvalidArgument, "nothing makes the output '{}'",
                       info.name);
      if (*found == kUnknown && out_.unsupported.empty())
        out_.unsupported.push_back({"output", version_of(""), "its type is not in the language",
                                    fmt::format("the output '{}'", info.name)});
      if (*found >= 0) out_.graph.outputs.push_back(*found);
    }
    if (model_.outputs.empty())
      return fail_at("the outputs", ErrorKind::kInvalidArgument, "the model has none");
    return {};
  }

  const onnx::Model& model_;
  const ImportOptions& options_;
  Imported out_;
  MakeBody make_body_;
  int bodies_ = 0;  // how many were made so far
  // Values by name: those of the model, and of each graph in it that is being made.
  std::vector<std::map<std::string, int, std::less<>>> scopes_{1};
  std::map<std::string, std::string, std::less<>> unknown_types_;
  std::set<std::string, std::less<>> used_;   // of the names in options_.shapes
  std::set<std::string, std::less<>> names_;  // that --shape may have
  std::set<std::string, std::less<>> dims_;   // of these, those of dimensions
  std::set<int> named_;
};

}  // namespace

Result<std::map<std::string, Shape, std::less<>>> parse_shapes(
    const std::vector<std::string>& texts) {
  std::map<std::string, Shape, std::less<>> shapes;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      return fail_at("--shape", ErrorKind::kInvalidArgument,
                     "\"{}\" is not NAME=SIZES; write, for example, --shape batch=1", text);
    Shape shape;
    for (const std::string& part : split(text.substr(equals + 1), ',')) {
      std::int64_t size = 0;
      const auto [stop, code] = std::from_chars(part.data(), part.data() + part.size(), size);
      if (code != std::errc() || stop != part.data() + part.size() || size < 1)
        return fail_at("--shape", ErrorKind::kInvalidArgument,
                       "\"{}\" in \"{}\" is no size; sizes are numbers from 1", part, text);
      shape.push_back(size);
    }
    if (!shapes.emplace(text.substr(0, equals), std::move(shape)).second)
      return fail_at("--shape", ErrorKind::kInvalidArgument, "{} is given twice",
                     text.substr(0, equals));
  }
  return shapes;
}

Result<Imported> import(const onnx::Model& model, const ImportOptions& options) {
  return Importer(model, options).run();
}

std::string print(const std::vector<Unsupported>& unsupported) {
  std::vector<std::pair<Unsupported, int>> kinds;
  for (const Unsupported& each : unsupported) {
    const auto found = std::ranges::find_if(kinds, [&](const auto& kind) {
      return kind.first.op == each.op && kind.first.reason == each.reason;
    });
    if (found == kinds.end()) kinds.emplace_back(each, 1);
    else ++found->second;
  }
  std::string text;
  for (const auto& [kind, count] : kinds)
    text += fmt::format("  {} x {}{}: {}; {}{}\n", count, kind.op,
                        kind.version > 0 ? fmt::format(" (opset {})", kind.version) : "",
                        kind.reason, count > 1 ? "first " : "", kind.node);
  return text;
}

std::vector<std::string> imported_operators() {
  std::vector<std::string> names;
  for (const Row& row : rows()) names.push_back(row.name);
  return names;
}

}  // namespace lathe::graph
