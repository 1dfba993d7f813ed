#include "api/views.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "api/borders.h"
#include "api/knob_meaning.h"
#include "base/hash.h"
#include "compiler/codegen/llvm/codegen.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/lower/lower.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "tuner/feature/feature.h"

namespace lathe::api {
namespace {

Result<ir::Nest> scheduled_nest(const te::Program& program, const schedule::Trace& trace) {
  ir::Nest nest = te::naive_nest(te::canonical(program));
  const auto applied = schedule::apply(nest, trace, program.contract.free_layout);
  if (!applied)
    return fail_at(fmt::format("step {}", applied.error().step), ErrorKind::kIllegalSchedule, "{}",
                   applied.error().text());
  return nest;
}

Result<ir::Nest> scheduled_nest(const ViewRequest& request) {
  return scheduled_nest(request.program, request.trace);
}

Result<flat::Program> flat_program(const ViewRequest& request) {
  return api::flat_program(request.program, request.trace, request.target);
}

Result<std::string> show_expression(const ViewRequest& request) {
  return fmt::format("{}# {:.4g} GFLOP, {:.4g} MB of inputs and outputs\n# key: {}\n",
                     te::print_program(request.program), te::flops(request.program) / 1e9,
                     te::io_bytes(request.program) / 1e6, te::workload_key(request.program));
}

std::string values_of(const space::Knob& knob) {
  constexpr std::size_t kShown = 24;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < knob.values.size() && i < kShown; ++i)
    words.push_back(i < knob.labels.size() ? knob.labels[i] : std::to_string(knob.values[i]));
  if (knob.values.size() > kShown) words.push_back(fmt::format("... {}", knob.values.back()));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string programs_of(const space::Space& space) {
  const space::ProgramCount count = space::count_programs(space);
  if (count.samples == 0) return fmt::format("{:.0f} different programs\n", count.programs);
  if (count.programs == 0)
    return fmt::format("few different programs: none among {} samples\n", count.samples);
  return fmt::format(
      "about {:.2g} different programs, estimated from {} samples to within {:.0f} %\n",
      count.programs, count.samples, std::ceil(100 * count.uncertainty));
}

Result<std::string> show_space(const ViewRequest& request) {
  const auto space = LATHE_TRY(
      space::derive_space(te::canonical(request.program), request.target, request.flavour));
  std::string out = fmt::format("{:.4g} configurations before constraints, {} knobs, hash {}\n",
                                space->size(), space->knobs(), hex(space->hash()));
  out += programs_of(*space);
  std::size_t widest = 0;
  for (const auto& knob : space->knob_list()) widest = std::max(widest, knob.name.size());
  for (const auto& knob : space->knob_list()) {
    out += fmt::format("  {:<{}} {:>4} values: {}\n", knob.name, widest, knob.values.size(),
                       values_of(knob));
    if (const auto meaning = knob_meaning(knob.name); !meaning.empty())
      out += fmt::format("  {:<{}}   {}\n", "", widest, meaning);
  }
  return out + "default: " + space->describe(space->default_config()) + "\n";
}

Result<std::string> show_nest(const ViewRequest& request) {
  const ir::Nest nest = te::naive_nest(te::canonical(request.program));
  return ir::print(ir::SizedNest(nest, {}));
}

Result<std::string> show_scheduled(const ViewRequest& request) {
  const ir::Nest nest = LATHE_TRY(scheduled_nest(request));
  return ir::print(ir::SizedNest(nest, {}));
}

Result<std::string> show_trace(const ViewRequest& request) {
  return schedule::print(request.trace);
}

Result<std::string> show_flat(const ViewRequest& request) {
  return flat::print(LATHE_TRY(flat_program(request)));
}

Result<std::string> show_llvm(const ViewRequest& request) {
  return codegen::llvm_ir(LATHE_TRY(flat_program(request)), request.target);
}

Result<std::string> show_assembly(const ViewRequest& request) {
  return codegen::assembly(LATHE_TRY(flat_program(request)), request.target);
}

Result<std::string> show_features(const ViewRequest& request) {
  const ir::Nest nest = LATHE_TRY(scheduled_nest(request));
  return feature::context_table(ir::SizedNest(nest, {}));
}

struct View {
  const char* name;
  bool scheduled;
  Result<std::string> (*show)(const ViewRequest&);
};

constexpr View kViews[] = {
    {"expression", false, show_expression},
    {"space", false, show_space},
    {"nest", false, show_nest},
    {"scheduled", true, show_scheduled},
    {"trace", true, show_trace},
    {"flat", true, show_flat},
    {"llvm", true, show_llvm},
    {"asm", true, show_assembly},
    {"features", true, show_features},
};

}  // namespace

Result<flat::Program> flat_program(const te::Program& program, const schedule::Trace& trace,
                                   const Target& target) {
  const ir::Nest nest = LATHE_TRY(scheduled_nest(program, trace));
  flat::Program flat = LATHE_TRY(lower::lower(ir::SizedNest(nest, {}), target));
  // Borders get the names of the expression as written, and the dimensions that its callers see.
  const auto rename = [&](std::vector<flat::Border>& borders, const std::vector<int>& tensors) {
    for (std::size_t i = 0; i < borders.size() && i < tensors.size(); ++i) {
      const te::Tensor& tensor = program.tensors[static_cast<std::size_t>(tensors[i])];
      borders[i].name = tensor.name;
      merge_dimensions(borders[i], tensor);
    }
  };
  rename(flat.inputs, program.inputs());
  rename(flat.outputs, program.outputs());
  return flat;
}

std::string known_views() {
  std::vector<std::string> names;
  for (const auto& view : kViews) names.push_back(view.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool needs_schedule(const std::string& what) {
  return std::ranges::any_of(kViews,
                             [&](const View& view) { return view.name == what && view.scheduled; });
}

Result<std::string> view(const ViewRequest& request) {
  for (const auto& view : kViews)
    if (view.name == request.what) return view.show(request);
  return fail_at("--what", ErrorKind::kInvalidArgument, "unknown view \"{}\"; known are {}",
                 request.what, known_views());
}

}  // namespace lathe::api
