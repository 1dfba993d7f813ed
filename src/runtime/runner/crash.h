// Answers the pending request when a candidate gets a fatal signal, and names the buffer it hit;
// then the process ends.
#pragma once

namespace lathe::runner {

// The answer goes to `channel_fd`.
void install_crash_handlers(int channel_fd);

}  // namespace lathe::runner
