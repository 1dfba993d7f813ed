#include "api/views.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "api/borders.h"
#include "api/sharing_view.h"
#include "api/workload.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/known_names.h"
#include "base/split.h"
#include "compiler/algebra/algebra.h"
#include "compiler/backends/backends.h"
#include "compiler/ir/nest/nest.h"
#include "compiler/sharing/sharing.h"
#include "compiler/te/naive_nest.h"
#include "compiler/te/parse.h"
#include "compiler/te/work.h"
#include "tuner/feature/feature.h"
#include "tuner/space/knob_meaning.h"

namespace lathe::api {
namespace {

Result<ir::Nest> scheduled_nest(const ViewRequest& request) {
  return driver::scheduled(te::canonical(request.workload), request.trace);
}

Result<flat::Program> flat_program(const ViewRequest& request) {
  return api::flat_program(request.workload, request.trace, request.target);
}

// What a schedule may compute again instead, where it has the choice.
std::string kept_text(const te::Workload& workload, const te::Workload& rewritten) {
  const te::Workload again = algebra::rewritten(workload, algebra::Repeated::kAgain).workload;
  std::vector<std::string> names;
  for (const te::Stage& stage : rewritten.stages) {
    const std::string& name = rewritten.tensors[static_cast<std::size_t>(stage.tensor)].name;
    if (std::ranges::find(again.tensors, name, &te::Tensor::name) == again.tensors.end())
      names.push_back(name);
  }
  if (names.empty()) return "";
  return fmt::format("# kept, or computed again where the knob algebra.kept says so: {}\n",
                     fmt::join(names, ", "));
}

// The stages as algebra rewrites them, where it does, a comment each.
std::string rewritten_text(const te::Workload& workload) {
  const auto [rewritten, steps] = algebra::rewritten(workload);
  if (steps.empty()) return "";
  std::string out = "# computed as\n";
  for (const std::string& line : split(te::print_workload(rewritten), '\n'))
    if (line.find(" = ") != line.npos) out += fmt::format("#   {}\n", line);
  return out + kept_text(workload, rewritten);
}

Result<std::string> show_expression(const ViewRequest& request) {
  return fmt::format("{}{}# {:.4g} GFLOP, {:.4g} MB of inputs and outputs\n# key: {}\n",
                     te::print_workload(request.workload), rewritten_text(request.workload),
                     te::flops(request.workload) / 1e9, te::io_bytes(request.workload) / 1e6,
                     te::workload_key(request.workload));
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
  const auto space = LATHE_TRY(space_of_key(request.workload, request.target, request.flavour));
  std::string out = fmt::format("{:.4g} configurations before constraints, {} knobs, hash {}\n",
                                space->size(), space->knobs(), hex(space->hash()));
  out += programs_of(*space);
  std::size_t widest = 0;
  for (const auto& knob : space->knob_list()) widest = std::max(widest, knob.name.size());
  for (const auto& knob : space->knob_list()) {
    out += fmt::format("  {:<{}} {:>4} values: {}\n", knob.name, widest, knob.values.size(),
                       values_of(knob));
    if (const auto meaning = space::knob_meaning(knob.name); !meaning.empty())
      out += fmt::format("  {:<{}}   {}\n", "", widest, meaning);
  }
  return out + "default: " + space->describe(space->default_config()) + "\n";
}

Result<std::string> show_nest(const ViewRequest& request) {
  const ir::Nest nest = te::naive_nest(te::canonical(request.workload));
  return ir::print(ir::SizedNest(nest, {}));
}

Result<std::string> show_scheduled(const ViewRequest& request) {
  const ir::Nest nest = LATHE_TRY(scheduled_nest(request));
  return ir::print(ir::SizedNest(nest, {}));
}

Result<std::string> show_trace(const ViewRequest& request) {
  return schedule::print(request.trace);
}

// As --trace reads it, a step a line.
Result<std::string> show_steps(const ViewRequest& request) {
  std::vector<std::string> lines;
  for (const Json& step : schedule::to_json(request.trace)) lines.push_back(step.dump());
  return fmt::format("[{}]\n", fmt::join(lines, ",\n "));
}

Result<std::string> show_flat(const ViewRequest& request) {
  return flat::print(LATHE_TRY(flat_program(request)));
}

Result<std::string> show_sharing(const ViewRequest& request) {
  const Target& target = request.target;
  const auto sharing = LATHE_TRY(
      sharing::sharing_of(LATHE_TRY(flat_program(request)), target.threads(), target.lanes(1)));
  if (!request.json) return sharing_text(sharing);
  Json json = {{"workload", te::workload_key(request.workload)},
               {"target", request.target.text()},
               {"flops", te::flops(request.workload)},
               {"done_flops", te::done_flops(request.workload)}};
  json.update(sharing_json(sharing));
  return dump(json);
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

// What the back ends show of their code comes after "flat".
constexpr View kViews[] = {
    {"expression", false, show_expression},
    {"space", false, show_space},
    {"nest", false, show_nest},
    {"scheduled", true, show_scheduled},
    {"trace", true, show_trace},
    {"steps", true, show_steps},
    {"flat", true, show_flat},
    {"sharing", true, show_sharing},
    {"features", true, show_features},
};

const codegen::Listing* listing_of(const codegen::Backend& backend, const std::string& name) {
  const auto found = std::ranges::find(backend.listings, name, &codegen::Listing::name);
  return found == backend.listings.end() ? nullptr : &*found;
}

bool is_listing(const std::string& name) {
  return std::ranges::any_of(backends(), [&](const codegen::Backend* backend) {
    return listing_of(*backend, name) != nullptr;
  });
}

Result<std::string> show_listing(const ViewRequest& request) {
  const codegen::Backend& backend = *LATHE_TRY(driver::backend_for(request.target, backends()));
  const codegen::Listing* listing = listing_of(backend, request.what);
  if (listing == nullptr) {
    std::vector<std::string> names;
    for (const codegen::Listing& known : backend.listings) names.emplace_back(known.name);
    return fail_at("--what", ErrorKind::kInvalidArgument,
                   "the code for {} cannot be shown as {}, but as {}", request.target.text(),
                   request.what, fmt::join(names, " and "));
  }
  return listing->text(LATHE_TRY(flat_program(request)), request.target);
}

}  // namespace

Result<flat::Program> flat_program(const te::Workload& workload, const schedule::Trace& trace,
                                   const Target& target) {
  flat::Program flat = LATHE_TRY(driver::lowered(te::canonical(workload), trace, target));
  // The borders have the names of the expression as written, and the dimensions that its callers
  // see.
  const auto rename = [&](std::vector<flat::Border>& borders, const std::vector<int>& tensors) {
    for (std::size_t i = 0; i < borders.size() && i < tensors.size(); ++i) {
      const te::Tensor& tensor = workload.tensors[static_cast<std::size_t>(tensors[i])];
      borders[i].name = tensor.name;
      merge_dimensions(borders[i], tensor);
    }
  };
  rename(flat.inputs, workload.inputs());
  rename(flat.outputs, workload.outputs());
  return flat;
}

std::string known_views() {
  std::vector<std::string> names;
  const auto add = [&](const char* name) {
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  for (const auto& view : kViews) add(view.name);
  for (const codegen::Backend* backend : backends())
    for (const codegen::Listing& listing : backend->listings) add(listing.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool needs_schedule(const std::string& what) {
  return is_listing(what) || std::ranges::any_of(kViews, [&](const View& view) {
           return view.name == what && view.scheduled;
         });
}

bool has_json(const std::string& what) { return what == "sharing"; }

Result<std::string> view(const ViewRequest& request) {
  const bool known = is_listing(request.what) || std::ranges::any_of(kViews, [&](const View& view) {
                       return view.name == request.what;
                     });
  if (known && request.json && !has_json(request.what))
    return fail_at("--json", ErrorKind::kInvalidArgument,
                   "--what {} is a text; --what sharing can be had as JSON", request.what);
  for (const auto& view : kViews)
    if (view.name == request.what) return view.show(request);
  if (is_listing(request.what)) return show_listing(request);
  return fail_at("--what", ErrorKind::kInvalidArgument, "unknown view \"{}\"; known are {}",
                 request.what, known_names(known_views(), request.what));
}

}  // namespace lathe::api
