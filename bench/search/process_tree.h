// Memory of a process and of all that it started.
#pragma once

#include <map>
#include <string>

#include <sys/types.h>

namespace lathe::bench {

// Proportional set sizes in bytes, by executable ("lathe-runner"), summed over `root` and the tree
// below it. A process that ends meanwhile counts as nothing.
std::map<std::string, double> tree_memory(pid_t root);

}  // namespace lathe::bench
