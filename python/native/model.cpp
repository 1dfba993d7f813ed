#include "model.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "failure.h"
#include "lathe/model.h"
#include "outside.h"
#include "running.h"
#include "workload.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

// `tune` takes a listener and what stops it.
template <class Tune>
nb::dict tuned_with(const nb::object& listener, const Tune& tune) {
  Running running(listener);
  auto result = outside([&] {
    return tune([&](const TuneProgress& progress) { running.hear(progress); },
                [&] { return running.stops(); });
  });
  running.raise_pending();
  const ModelTuneResult tuned = value_of(std::move(result));
  nb::dict out;
  out["seconds"] = tuned.seconds;
  out["interrupted"] = tuned.interrupted;
  out["signalled"] = running.was_signalled();
  nb::list tasks, keys;
  for (const ModelTask& task : tuned.tasks) {
    keys.append(task.key);
    tasks.append(nb::make_tuple(task.name, task.nodes, task.trials, task.failed,
                                task.default_seconds, task.best_seconds, task.problem));
  }
  out["tasks"] = tasks;
  out["keys"] = keys;
  return out;
}

nb::dict tune_model(const Model& model, const TuneOptions& options, const nb::object& listener) {
  return tuned_with(listener, [&](const auto& hear, const auto& stops) {
    return model.tune(options, hear, stops);
  });
}

nb::dict tune_several(const std::vector<std::pair<Workload, int>>& workloads,
                      const TuneOptions& options, const nb::object& listener) {
  std::vector<WorkloadCalls> calls;
  for (const auto& [workload, count] : workloads) calls.push_back({workload, count});
  return tuned_with(listener, [&](const auto& hear, const auto& stops) {
    return tune_together(calls, options, hear, stops);
  });
}

}  // namespace

void bind_models(nb::module_& module) {
  module.def("tune_together", tune_several, nb::arg("workloads"), nb::arg("options"),
             nb::arg("listener").none());
  nb::class_<Model>(module, "Model")
      .def_static(
          "open",
          [](const std::string& path,
             const std::map<std::string, std::vector<std::int64_t>>& shapes, double max_error,
             const std::string& weights_type) {
            return released([&] { return Model::open(path, shapes, {max_error, weights_type}); });
          })
      .def_prop_ro("flops", &Model::flops)
      .def_prop_ro("inputs", [](const Model& m) { return tensors_of(m.inputs()); })
      .def_prop_ro("outputs", [](const Model& m) { return tensors_of(m.outputs()); })
      .def("tune", tune_model, nb::arg("options"), nb::arg("listener").none())
      .def("write_library", [](const Model& m, const std::string& path, const std::string& schedule,
                               const Machine& machine, bool check) {
        released([&] {
          return m.write_library(path, schedule, machine, check ? Check::kOnce : Check::kSkip);
        });
      });
}

}  // namespace lathe::python
