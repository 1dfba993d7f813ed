// Ctrl-C ends a run cleanly; a second one ends it at once.
#pragma once

namespace lathe::cli {

// From now on SIGINT, SIGTERM and SIGHUP only set a flag; the next one has its usual effect. One
// that is ignored (nohup) stays so.
void catch_interrupts();
bool interrupted();
// Of a command that one of them ended: 128 and the signal, as a shell has it; `otherwise` where
// none came.
int interrupted_code(int otherwise);

}  // namespace lathe::cli
