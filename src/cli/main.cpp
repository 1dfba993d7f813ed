#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "cli/application.h"

namespace {

// Idle OpenMP threads of XGBoost would spin beside what is being measured. Their runtime reads its
// policy when it is loaded, so it must be in the environment before that.
void make_openmp_passive(char** argv) {
  if (getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  std::error_code unknown;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  execv(self.c_str(), argv);  // where this fails, threads spin a little
}

}  // namespace

int main(int argc, char** argv) {
  make_openmp_passive(argv);
  // Writing more than a file may hold then is an error, for which there is a sentence.
  std::signal(SIGXFSZ, SIG_IGN);
  // Who started this may ignore it, and then nobody could be told how a helper ended.
  std::signal(SIGCHLD, SIG_DFL);
  return lathe::cli::run(argc, argv);
}
