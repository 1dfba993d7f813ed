// A candidate's fatal signal becomes the reply to whatever was asked, with the buffer it hit; then
// the process ends.
#pragma once

namespace lathe::runner {

// Replies go to `channel_fd`.
void install_crash_handlers(int channel_fd);

}  // namespace lathe::runner
