// `lathe-replay FOLDER`: measures the candidate of a wrong answer again. Exit status 0: right now; 1: still wrong or
// failed; 2: the folder cannot be replayed.
#include <cstdio>

#include "tuner/measure/replay.h"

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: lathe-replay FOLDER, the folder that a wrong answer left behind\n", stderr);
    return 2;
  }
  const auto outcome = lathe::measure::replay(arguments[1], {.cache_folder = "-"});
  if (!outcome) {                    // the reference may be what is wrong
    std::fprintf(stderr, "%s\n", outcome.error().text().c_str());
    return outcome.error().kind == lathe::ErrorKind::kWrongAnswer ? 1 : 2;
  }
  if (outcome->error) {
    std::printf("%s\n", outcome->error->text().c_str());
    return 1;
  }
  std::printf("right: error %.3g of the largest output, %.6g ms\n", outcome->numerical_error, 1e3 * outcome->seconds);
  return 0;
}
