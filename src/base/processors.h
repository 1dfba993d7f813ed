// How many threads a process should use, and why: one for each physical core among the processors
// that it may run on, of one NUMA node, and fewer where OMP_NUM_THREADS or the quota of its control
// group says less. Files of the system that are missing or make no sense say nothing, so that a
// number comes out on any machine: without them each processor is a core, and all are one node.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lathe {

// What the number follows from. Tests make up all of it.
struct Surroundings {
  std::vector<int> allowed;               // processors, by the mask
  std::string omp_num_threads;            // as the variable says it; empty: not set
  std::string sys = "/sys";               // where sysfs is mounted,
  std::string proc = "/proc";             // procfs,
  std::string cgroup = "/sys/fs/cgroup";  // and control groups
};
// Those of the calling thread.
Surroundings own_surroundings();

// The processors that the calling thread may run on, in order; one at least.
std::vector<int> allowed_processors();

// Keeps the calling thread, and those that it starts, to these; of none: where it is. A container
// may refuse; then nothing changes.
void keep_to(std::span<const int> processors);

// How many processors' time the quotas of the process's control groups allow; infinity without any.
double processor_quota(const Surroundings& surroundings = own_surroundings());

struct ReasonedCount {
  int number = 1;
  std::string why;       // "this process may use 4 physical cores"
  bool ignores = false;  // OMP_NUM_THREADS, which is no number of threads, as `why` says
};
// Threads of a program.
ReasonedCount usual_threads(const Surroundings& surroundings = own_surroundings());
// Processes or threads that build programs or train models: they may share cores and nodes, so each
// allowed processor counts. The variable and the quota limit them, too.
ReasonedCount usual_jobs(const Surroundings& surroundings = own_surroundings());

// Processors for so many threads whose programs are timed, and those that may work beside them. The
// timed ones are the last cores of the node with most, for the first serve most interrupts: one
// processor each, and nothing runs on the other processors of their cores. Where there are too few
// cores, any processors; none where these are too few.
struct Places {
  std::vector<int> timed, others;  // in order
};
Places places_for(int threads, const Surroundings& surroundings = own_surroundings());

// "4 threads: this process may use 4 physical cores".
std::string threads_text(const ReasonedCount& threads);

}  // namespace lathe
