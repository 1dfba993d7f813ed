#include "api/model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "api/loaded_program.h"
#include "api/targets.h"
#include "api/views.h"
#include "compiler/sequence/apart.h"
#include "compiler/sequence/one_region.h"
#include "compiler/sequence/sequence.h"
#include "compiler/te/parse.h"
#include "graph/import/import.h"
#include "graph/passes/passes.h"

namespace lathe::api {
namespace {

// A name of the model for comments of C and for kernels.
std::string plain_name(const std::string& name, bool identifier) {
  std::string out = name;
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' &&
        (identifier || !std::string_view("./:-").contains(c)))
      c = '_';
  return out;
}

// Programs of nodes, each made once for all nodes that compute the same.
class NodePrograms {
 public:
  NodePrograms(const ScheduleSource& source, const Target& target, Checking checking)
      : source_(else_default(source)), target_(target), checking_(checking) {}

  Result<const flat::Program*> of(const te::Workload& workload) {
    const std::string key = te::workload_key(workload);
    const auto known = programs_.find(key);
    if (known != programs_.end()) return &known->second;
    const Chosen chosen = LATHE_TRY(source_(workload, target_));
    const te::Workload made = scheduled_workload(workload, chosen);
    auto checked = LATHE_TRY(check_program(made, chosen.trace, chosen.target, checking_));
    if (!checked_ || (checked_->done && !checked.done)) checked_ = std::move(checked);
    recorded_ += chosen.record ? 1 : 0;
    if (!chosen.note.empty()) notes_.insert(chosen.note);
    auto program = LATHE_TRY(flat_program(made, chosen.trace, chosen.target));
    return &programs_.emplace(key, std::move(program)).first->second;
  }

  int programs() const { return static_cast<int>(programs_.size()); }
  int recorded() const { return recorded_; }
  const Checked& checked() const { return *checked_; }
  const std::set<std::string>& notes() const { return notes_; }

 private:
  const ScheduleSource source_;
  const Target& target_;
  Checking checking_;
  std::map<std::string, flat::Program> programs_;
  std::optional<Checked> checked_;  // of a node that was not, where there is one
  int recorded_ = 0;
  std::set<std::string> notes_;
};

class ModelMaker {
 public:
  ModelMaker(const graph::Graph& graph, const ScheduleSource& source, const Target& target,
             Checking checking, const ModelProgress& progress)
      : graph_(graph), target_(target), programs_(source, target, checking), progress_(progress) {}

  Result<ModelProgram> run() {
    for (std::size_t v = 0; v < graph_.values.size(); ++v) add_value(static_cast<int>(v));
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      progress_(fmt::format("node {} of {}", n + 1, graph_.nodes.size()));
      LATHE_TRY_STATUS(add_node(graph_.nodes[n]));
    }
    for (const int output : graph_.outputs) LATHE_TRY_STATUS(add_output(output));
    add_inputs();
    tell_names_apart();
    auto joined = LATHE_TRY(sequence::join(sequence_));
    out_.target = target_;
    out_.nodes = static_cast<int>(graph_.nodes.size());
    out_.programs = programs_.programs();
    out_.recorded = programs_.recorded();
    out_.arena_bytes = joined.arena_bytes;
    out_.unshared_bytes = joined.unshared_bytes;
    out_.constant_bytes = joined.kept_constant_bytes;
    out_.checked = programs_.checked();
    out_.notes = programs_.notes();
    out_.program = target_.threads() > 1 ? sequence::in_one_region(std::move(joined.program))
                                         : std::move(joined.program);
    return std::move(out_);
  }

 private:
  void add_value(int id) {
    const graph::Value& value = graph_.value(id);
    sequence::Value made{plain_name(value.name, false)};
    if (value.constant) made.data = *value.constant;
    if (const graph::Range range = graph_.range_of(id); !graph_.is_whole(range))
      made.within = {range.storage, range.begin};
    sequence_.values.push_back(std::move(made));
  }

  // As the sequence has it: itself where it is a piece of another, else what it is a view of.
  int in_sequence(int id) const {
    return sequence_.values[graph::place(id)].within ? id : graph_.storage_of(id);
  }

  Status add_node(const graph::Node& node) {
    sequence::Part part{plain_name(node.name, true), {}, {}, {}};
    for (const int input : node.inputs) part.inputs.push_back(in_sequence(input));
    for (const int output : node.outputs) part.outputs.push_back(in_sequence(output));
    return add_part(std::move(part), node.expression);
  }

  Status add_part(sequence::Part part, const te::Workload& workload) {
    auto program = programs_.of(workload);
    if (!program) {
      program.error().place =
          part.name + (program.error().place.empty() ? "" : ", ") + program.error().place;
      return std::unexpected(std::move(program).error());
    }
    part.program = **program;
    for (const int value : part.inputs) read_.insert(whole_of(value));
    for (const int value : part.outputs) made_.insert(whole_of(value));
    sequence_.parts.push_back(std::move(part));
    return {};
  }

  int whole_of(int value) const {
    const auto& within = sequence_.values[graph::place(value)].within;
    return within ? within->value : value;
  }

  // What no node makes, is a piece of another value, or is an output already, is copied.
  Status add_output(int output) {
    int value = in_sequence(output);
    const graph::Value& seen = graph_.value(output);
    if (!made_.contains(value) || std::ranges::count(sequence_.outputs, value) > 0) {
      const std::string text = fmt::format("X: {}[{}]; Y[i] = X[i]", name_of(seen.dtype),
                                           graph_.value(output).elements());
      const auto copy = LATHE_TRY(te::parse_workload(text));
      const auto copied = static_cast<int>(sequence_.values.size());
      sequence_.values.push_back({plain_name(seen.name, false)});
      LATHE_TRY_STATUS(
          add_part({plain_name("copy_" + seen.name, true), {}, {value}, {copied}}, copy));
      value = copied;
    }
    sequence_.values[graph::place(value)].name = plain_name(seen.name, false);
    sequence_.values[graph::place(value)].shape = seen.shape;
    sequence_.outputs.push_back(value);
    return {};
  }

  void add_inputs() {
    for (const int input : graph_.inputs) {
      sequence_.values[graph::place(input)].shape = graph_.value(input).shape;
      if (read_.contains(input)) sequence_.inputs.push_back(input);
      else out_.left_out.push_back(graph_.value(input).name);
    }
  }

  // Those that keep the model's name come first.
  void tell_names_apart() {
    struct Border {
      std::string what, original;
      int value;
    };
    std::vector<Border> borders;
    const auto add = [&](const char* what, const std::vector<int>& values, const auto& name) {
      for (std::size_t i = 0; i < values.size(); ++i)
        borders.push_back({fmt::format("{}s[{}]", what, i), name(i), values[i]});
    };
    add("input", sequence_.inputs,
        [&](std::size_t i) { return graph_.value(sequence_.inputs[i]).name; });
    add("output", sequence_.outputs,
        [&](std::size_t i) { return graph_.value(graph_.outputs[i]).name; });
    const auto name_of = [&](const Border& border) -> std::string& {
      return sequence_.values[graph::place(border.value)].name;
    };
    const auto changed = [&](const Border& border) { return name_of(border) != border.original; };
    std::ranges::stable_partition(borders, std::not_fn(changed));
    std::set<std::string> taken;
    for (const Border& border : borders) {
      std::string& name = name_of(border);
      const std::string wanted = name;
      for (int number = 2; !taken.insert(name).second; ++number)
        name = fmt::format("{}_{}", wanted, number);
      if (name != wanted)
        out_.renamed.push_back(fmt::format("{} is called {} here: {} is another one's name.",
                                           border.what, name, wanted));
    }
  }

  const graph::Graph& graph_;
  const Target& target_;
  NodePrograms programs_;
  const ModelProgress& progress_;
  sequence::Sequence sequence_;
  std::set<int> read_, made_;
  ModelProgram out_;
};

}  // namespace

Result<graph::Graph> read_model(const std::string& path, const std::vector<std::string>& shapes,
                                const std::string& last_pass) {
  graph::ImportOptions options;
  options.shapes = LATHE_TRY(graph::parse_shapes(shapes));
  auto imported = graph::import(LATHE_TRY(onnx::read_model(path)), options);
  if (!imported) {
    imported.error().place = path + ", " + imported.error().place;
    return std::unexpected(std::move(imported).error());
  }
  const auto& missing = imported->unsupported;
  if (!missing.empty()) {
    std::string list = graph::print(missing);
    list.pop_back();  // the last line's end
    return fail_at(path, ErrorKind::kUnsupported, "{} node{} cannot be read yet:\n{}",
                   missing.size(), missing.size() == 1 ? "" : "s", list);
  }
  if (auto done = graph::run_passes(imported->graph, last_pass); !done) {
    done.error().place = done.error().place.empty() ? path : path + ", " + done.error().place;
    return std::unexpected(std::move(done).error());
  }
  return std::move(imported->graph);
}

std::string known_passes() {
  std::string names = "import";
  for (const graph::Pass& pass : graph::passes()) names += ", " + pass.name;
  return names;
}

Result<ModelProgram> model_program(const graph::Graph& graph, const ScheduleSource& source,
                                   const Target& target, Checking checking,
                                   const ModelProgress& progress) {
  if (target.kind() != DeviceKind::kCpu)
    return fail_at("--target", ErrorKind::kUnsupported,
                   "models become libraries for processors alone yet, not for {}", target.text());
  // Of a model without nodes, what it takes of its inputs is copied.
  if (graph.nodes.empty() && std::ranges::all_of(graph.outputs, [&](int id) {
        return graph.value(graph.storage_of(id)).constant.has_value();
      }))
    return fail(ErrorKind::kInvalidArgument,
                "the model computes nothing: all of its outputs are known");
  return ModelMaker(graph, source, target, checking, progress).run();
}

Status check_packs_here(const Target& target) {
  if (check_runs_here(target)) return {};
  return fail_at("--weights", ErrorKind::kInvalidArgument,
                 "weights for {} are packed by a program that cannot run on this machine; compile "
                 "there, or leave out --weights",
                 target.text());
}

Status take_weights_out(ModelProgram& made) {
  sequence::Apart apart = LATHE_TRY(sequence::apart(made.program));
  if (apart.run.constant_bytes == 0)
    return fail_at(
        "--weights", ErrorKind::kInvalidArgument,
        "the model has no weights of {} bytes or more, which a file could hold; leave it "
        "out",
        sequence::kLeastApart);
  std::vector<std::byte> weights(static_cast<std::size_t>(apart.run.constant_bytes));
  const auto maker = LATHE_TRY(LoadedProgram::make(apart.make, made.target));
  maker->set_constants({});
  const auto made_here = maker->constant_area();
  std::ranges::copy(made_here.first(std::min(made_here.size(), weights.size())), weights.begin());
  apart.copy_into(weights);
  made.weights = std::move(weights);
  made.program = std::move(apart.run);
  made.constant_bytes = made.program.constant_bytes;
  return {};
}

Result<ArtifactFiles> write_model(const graph::Graph& graph, const ModelProgram& made,
                                  const ArtifactRequest& request) {
  const ArtifactFiles files = LATHE_TRY(files_of(request));
  std::vector<std::string> remarks = {
      fmt::format("The model {} has {} nodes, computed by {} different programs; {} of these were "
                  "tuned.",
                  plain_name(graph.name, false), made.nodes, made.programs, made.recorded),
      fmt::format("Each of them {}.", made.checked.sentence)};
  remarks.insert(remarks.end(), made.renamed.begin(), made.renamed.end());
  return write_program(
      made.program, made.target, remarks, made.checked, files,
      made.weights ? std::span<const std::byte>(*made.weights) : std::span<const std::byte>());
}

}  // namespace lathe::api
