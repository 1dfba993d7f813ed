// Ctrl-C ends a run cleanly; a second one ends it at once.
#pragma once

namespace lathe::cli {

// From now on SIGINT and SIGTERM only set a flag; the next one has its usual effect.
void catch_interrupts();
bool interrupted();

}  // namespace lathe::cli
