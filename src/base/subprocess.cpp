#include "base/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"

extern char** environ;

namespace lathe {
namespace {

constexpr int kNoSuchProgram = 127;  // the status of a child that could not become the executable

Error not_found(const std::string& program) {
  return {ErrorKind::kNotFound, fmt::format("there is no program {}", program), {}};
}

}  // namespace

Result<Finished> run_to_end(std::vector<std::string> command, const std::string& errors) {
  LATHE_TRY_STATUS(write_whole(errors, ""));
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_TRUNC, 0);
  pid_t child = 0;
  const int refused = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (refused == ENOENT) return std::unexpected(not_found(command[0]));
  if (refused != 0)
    return fail_at(command[0], ErrorKind::kIo, "it cannot be started: {}", std::strerror(refused));
  Finished finished;
  while (waitpid(child, &finished.status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(finished.status) && WEXITSTATUS(finished.status) == kNoSuchProgram)
    return std::unexpected(not_found(command[0]));
  finished.errors = read_file(errors).value_or("");
  return finished;
}

}  // namespace lathe
