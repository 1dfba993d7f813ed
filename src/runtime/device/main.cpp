#include "runtime/device/main.h"

#include <cstdio>
#include <string>
#include <string_view>

#include "base/file.h"
#include "runtime/runner/server.h"

namespace lathe::device {
namespace {

Status tell_devices(const Json& devices, const char* file) {
  const std::string text = dump(devices, 2) + "\n";
  if (file != nullptr) return write_whole(file, text);
  std::fputs(text.c_str(), stdout);
  return {};
}

}  // namespace

int run_helper(int count, char** words, const char* name,
               const std::function<Result<Json>()>& list_devices,
               const std::function<std::unique_ptr<runner::Engine>()>& make_engine) {
  if (count < 2 || count > 3 || std::string_view(words[1]) != "--devices")
    return runner::serve_with(name, make_engine);
  const auto devices = list_devices();
  const Status told = devices ? tell_devices(*devices, count == 3 ? words[2] : nullptr)
                              : std::unexpected(devices.error());
  if (!told) std::fprintf(stderr, "%s\n", told.error().text().c_str());
  return told ? 0 : 1;
}

}  // namespace lathe::device
