// `lathe-runner` loads, runs, times and checks candidates for the tuner that started it. It is not
// for people: it speaks binary messages over an inherited descriptor.
#include "runtime/runner/cpu_engine.h"
#include "runtime/runner/server.h"

int main() { return lathe::runner::serve_with("lathe-runner", lathe::runner::make_cpu_engine); }
