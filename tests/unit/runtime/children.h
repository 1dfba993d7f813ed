// Work in forked children.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace lathe::pool {

// What ended a forked child that does `work`: 0 if it returned true. It is killed where it hangs.
inline int in_a_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace lathe::pool
