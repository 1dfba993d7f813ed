// Answers the pending request when a candidate gets a fatal signal, and names the buffer it hit;
// then the process ends.
#pragma once

namespace lathe::runner {

// The answer goes to `channel_fd`.
void install_crash_handlers(int channel_fd);
// Call it before a candidate runs: a driver that compiles installs handlers of its own, which serve
// one thread of several that crash together. Does nothing where none were installed.
void renew_crash_handlers();

}  // namespace lathe::runner
