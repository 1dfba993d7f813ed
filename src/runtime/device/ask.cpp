#include "runtime/device/ask.h"

#include "base/file.h"
#include "base/helper_path.h"
#include "base/subprocess.h"
#include "base/temporary_folder.h"

namespace lathe::device {

Result<Json> ask_for_devices(const std::string& helper, const std::string& driver) {
  const std::string runner = LATHE_TRY(find_helper(helper));
  const TemporaryFolder folder;
  if (folder.path().empty()) return std::unexpected(no_temporary_folder());
  const std::string answer = folder.path() + "/devices.json";
  const Finished finished =
      LATHE_TRY(run_to_end({runner, "--devices", answer}, folder.path() + "/errors"));
  if (finished.status == 0) return parse_json(LATHE_TRY(read_file(answer)));
  std::string sentence = finished.errors.substr(0, finished.errors.find('\n'));
  if (sentence.empty()) sentence = driver + " crashed when it was asked for its devices";
  return fail(ErrorKind::kNotFound, "{}", sentence);
}

}  // namespace lathe::device
