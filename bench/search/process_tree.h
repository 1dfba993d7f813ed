// Memory of a process and all it started.
#pragma once

#include <map>
#include <string>

#include <sys/types.h>

namespace lathe::bench {

// Proportional set sizes in bytes, by program ("lathe-runner"), summed over the tree below and with
// `root`. A process that ends meanwhile counts as nothing.
std::map<std::string, double> tree_memory(pid_t root);

}  // namespace lathe::bench
