// Ctrl-C ends a run cleanly; a second Ctrl-C ends it at once.
#pragma once

namespace lathe::cli {

// From now on SIGINT, SIGTERM and SIGHUP only set a flag; the next one has its usual effect. A
// signal that is ignored (nohup) stays ignored.
void catch_interrupts();
bool interrupted();
// The exit code of a command: 128 and the number of the signal that ended it, as shells do it;
// `otherwise` if none came.
int interrupted_code(int otherwise);

}  // namespace lathe::cli
