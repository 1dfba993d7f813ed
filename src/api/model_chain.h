// A model in this process, a program for each node, one called after the other: each can be timed
// and exchanged alone, while all others stay as they are.
#pragma once

#include <memory>
#include <vector>

#include "api/checked.h"
#include "api/schedules.h"
#include "graph/ir/graph.h"
#include "graph/ir/print.h"
#include "runtime/module/module.h"
#include "runtime/pool/pool.h"

namespace lathe::api {

class ModelChain {
 public:
  // What nodes of one task run: the code, and for each of them its packed constants.
  struct Programs {
    std::shared_ptr<module::Module> module;
    std::vector<std::shared_ptr<std::byte>> constants;  // by node of the task
  };

  // Without programs; the target must be this machine's. The graph must outlive the chain.
  static Result<std::unique_ptr<ModelChain>> make(const graph::Graph& graph, const Target& target);

  const std::vector<graph::Task>& tasks() const { return tasks_; }
  // Builds, checks and prepares programs of a task; nothing runs them until set() does.
  Result<Programs> build(std::size_t task, const schedule::Trace& trace, Checking checking);
  // Packs the constants of the task's nodes again, which changed.
  void prepare(std::size_t task);
  // Returns what the task's nodes ran before.
  Programs set(std::size_t task, Programs programs);

  // Fills the model's inputs with random numbers between -1 and 1 that every type of numbers has.
  void fill_random(std::uint64_t seed);
  // The elements of a value that is an input or a constant, or that nodes made.
  std::byte* elements(int value) const {
    const graph::Range range = graph_.range_of(value);
    return static_cast<std::byte*>(storage_[graph::place(range.storage)]) +
           range.begin * size_of(graph_.value(value).dtype);
  }
  // Every task must have programs.
  void call();
  void run_node(std::size_t node);
  // Seconds of a call: the lower quartile of calls for so long. It is three calls at least, fewer
  // where one takes much longer.
  double time(double seconds);
  // When a node began, after the first call did, and how long it took; seconds.
  struct Moment {
    std::size_t node;
    double begin, seconds;
  };
  // Of all nodes in so many calls, one after the other.
  std::vector<Moment> moments(int calls);
  // Seconds of each node within calls of the whole, medians.
  std::vector<double> node_times(double seconds);

 private:
  ModelChain(const graph::Graph& graph, Target target);
  void place_values();
  std::vector<void*> pointers_of(const graph::Node& node) const;
  void prepare(std::size_t task, const Programs& programs);
  void grow(std::shared_ptr<std::byte>& area, std::int64_t& size, std::int64_t wanted);

  const graph::Graph& graph_;
  const Target target_;
  const std::vector<graph::Task> tasks_;
  struct Place {
    std::size_t task, within;
  };
  std::vector<Place> place_of_;     // by node
  std::vector<Programs> programs_;  // by task
  pool::Pool pool_;
  std::vector<std::shared_ptr<std::byte>> areas_;  // the arena, inputs, constants
  std::vector<void*> storage_;                     // by value
  std::vector<std::vector<void*>> pointers_;       // by node
  std::shared_ptr<std::byte> workspace_, workers_;
  std::int64_t workspace_bytes_ = 0, worker_bytes_ = 0;
};

// With a program from the source for each task, else the default one.
Status fill(ModelChain& chain, const graph::Graph& graph, const ScheduleSource& source,
            const Target& target, Checking checking);

}  // namespace lathe::api
