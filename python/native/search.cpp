// include/lathe/search.h for Python: the search alone, and recordings.
#include "search.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>

#include "lathe/search.h"
#include "outside.h"

namespace nb = nanobind;

namespace lathe::python {
namespace {

// Numbers that Python views as an array.
template <class Number>
nb::bytes bytes_of(const std::vector<Number>& numbers) {
  return nb::bytes(numbers.data(), numbers.size() * sizeof(Number));
}

nb::list knobs_of(const std::vector<Knob>& knobs) {
  nb::list out;
  for (const Knob& knob : knobs)
    out.append(nb::make_tuple(knob.name, nb::cast(knob.values), nb::cast(knob.labels), knob.under,
                              nb::cast(knob.under_values)));
  return out;
}

// A search that several threads of Python may use. The lock is never held while the GIL is waited
// for.
class SharedSearch {
 public:
  explicit SharedSearch(Search search) : search_(std::move(search)) {}
  template <class Work>
  auto with(Work&& work) {
    return released([&] {
      const std::scoped_lock lock(mutex_);
      return work(search_);
    });
  }
  const std::vector<Knob>& knobs() const { return search_.knobs(); }

 private:
  std::mutex mutex_;
  Search search_;
};

template <class Subject>
std::unique_ptr<SharedSearch> search_of(const Subject& subject, const TuneOptions& options) {
  return std::make_unique<SharedSearch>(released([&] { return Search::make(subject, options); }));
}

nb::list ask(SharedSearch& shared, int wanted) {
  nb::list out;
  for (const Proposal& p : shared.with([&](Search& search) { return search.ask(wanted); }))
    out.append(nb::make_tuple(p.id, p.config));
  return out;
}

nb::object propose(SharedSearch& shared, const std::string& config) {
  const auto proposal = shared.with([&](Search& search) { return search.propose(config); });
  if (!proposal) return nb::none();
  return nb::make_tuple(proposal->id, proposal->config);
}

void bind_search(nb::module_& module) {
  nb::class_<SharedSearch>(module, "Search")
      .def_static("of_workload", search_of<Workload>)
      .def_static("of_recording", search_of<Recording>)
      .def_prop_ro("knobs", [](const SharedSearch& shared) { return knobs_of(shared.knobs()); })
      .def("ask", ask)
      .def("propose", propose)
      .def("trace",
           [](SharedSearch& shared, const std::string& config) {
             return shared.with([&](Search& search) { return search.trace(config); });
           })
      .def("tell", [](SharedSearch& shared, std::int64_t id, double seconds) {
        shared.with([&](Search& search) { return search.tell(id, seconds); });
      });
}

void bind_recording(nb::module_& module) {
  nb::class_<Recording>(module, "Recording")
      .def_static(
          "load",
          [](const std::string& path) { return released([&] { return Recording::load(path); }); })
      .def_prop_ro("name", &Recording::name)
      .def_prop_ro("workload", &Recording::workload)
      .def_prop_ro("target", &Recording::target)
      .def_prop_ro("threads", &Recording::threads)
      .def_prop_ro("machine", &Recording::machine)
      .def_prop_ro("cold_cache", &Recording::cold_cache)
      .def_prop_ro("peak_flops", &Recording::peak_flops)
      .def_prop_ro("knobs", [](const Recording& r) { return knobs_of(r.knobs()); })
      .def_prop_ro("positions", [](const Recording& r) { return bytes_of(r.positions()); })
      .def_prop_ro("seconds", [](const Recording& r) { return bytes_of(r.seconds()); })
      .def_prop_ro("failures", &Recording::failures)
      .def_prop_ro("best_seconds", &Recording::best_seconds)
      .def("config",
           [](const Recording& r, std::size_t place) { return value_of(r.config(place)); })
      .def("find",
           [](const Recording& r, const std::string& config) { return value_of(r.find(config)); })
      .def("features", [](const Recording& r, const std::string& kind, int jobs) {
        const Features found = released([&] { return r.features(kind, jobs); });
        return nb::make_tuple(nb::cast(found.names), bytes_of(found.rows));
      });
}

}  // namespace

void bind_searches(nb::module_& module) {
  bind_recording(module);
  bind_search(module);
}

}  // namespace lathe::python
