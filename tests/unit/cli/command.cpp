#include "unit/cli/command.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe {

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Command::Command() {
  setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  setenv("LATHE_DB", folder_.at("records.db").c_str(), 1);
}

pid_t Command::start(std::vector<std::string> words, int terminal) {
  words.insert(words.begin(), LATHE_COMMAND);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string out = folder_.at("out");
  const std::string error = terminal < 0 ? folder_.at("err") : ptsname(terminal);
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
  dup2(open(error.c_str(), terminal < 0 ? O_WRONLY | O_CREAT | O_TRUNC : O_RDWR | O_NOCTTY, 0600),
       2);
  execv(LATHE_COMMAND, argv.data());
  _exit(127);
}

Outcome Command::finish(pid_t child) const {
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          content(folder_.at("out")), content(folder_.at("err"))};
}

std::vector<std::string> Command::with(std::vector<std::string> words,
                                       const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json Command::json_of(const Outcome& outcome) {
  const auto json = parse_json(outcome.out);
  EXPECT_TRUE(json.has_value()) << outcome.out << outcome.error;
  return json ? *json : Json();
}

std::vector<Json> Command::records() {
  std::istringstream lines(lathe({"export"}).out);
  std::set<Json> indices, configs;
  std::vector<Json> out;
  for (std::string line; std::getline(lines, line);) {
    out.push_back(*parse_json(line));
    EXPECT_TRUE(indices.insert(out.back()["index"]).second) << "trial repeated: " << line;
    EXPECT_TRUE(configs.insert(out.back()["config"]).second) << "trial repeated: " << line;
  }
  return out;
}

Terminal::Terminal(unsigned short columns) : end_(posix_openpt(O_RDWR | O_NOCTTY)) {
  EXPECT_TRUE(end_ >= 0 && grantpt(end_) == 0 && unlockpt(end_) == 0);
  const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(end_, TIOCSWINSZ, &size);
}

Terminal::~Terminal() { close(end_); }

void Terminal::listen(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                          until - std::chrono::steady_clock::now())
                          .count();
    pollfd end{end_, POLLIN, 0};
    if (poll(&end, 1, std::max(0, static_cast<int>(left))) <= 0) return;
    char bytes[4096];
    const auto count = read(end_, bytes, sizeof bytes);
    if (count > 0) shown_.append(bytes, static_cast<std::size_t>(count));
    else if (left <= 0) return;
    else usleep(1000);  // nobody has opened the other end yet, or nobody has it any more
  }
}

}  // namespace lathe
