#include "base/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "base/helper_path.h"

extern char** environ;

namespace lathe {
namespace {

constexpr int kNoSuchProgram = 127;  // the status of a child that could not become the executable

std::unexpected<Error> not_found(const std::string& program) {
  return fail(ErrorKind::kNotFound, "there is no program {}", program);
}

// This process's environment without what a linker would write into what it links.
std::vector<char*> environment_of_child() {
  std::vector<char*> out;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("LD_RUN_PATH=")) out.push_back(*entry);
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<Finished> run_to_end(std::vector<std::string> command, const std::string& errors) {
  if (!command[0].contains('/')) command[0] = LATHE_TRY(find_on_path(command[0]));
  LATHE_TRY_STATUS(write_whole(errors, ""));
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_TRUNC, 0);
  pid_t child = 0;
  const int refused =
      posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environment_of_child().data());
  posix_spawn_file_actions_destroy(&actions);
  if (refused == ENOENT) return not_found(command[0]);
  if (refused != 0)
    return fail_at(command[0], ErrorKind::kIo, "it cannot be started: {}", std::strerror(refused));
  Finished finished;
  while (waitpid(child, &finished.status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(finished.status) && WEXITSTATUS(finished.status) == kNoSuchProgram)
    return not_found(command[0]);
  finished.errors = read_file(errors).value_or("");
  return finished;
}

}  // namespace lathe
