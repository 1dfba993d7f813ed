// One line that stays alive while something takes its time: on a terminal it is redrawn in place,
// elsewhere it is a plain line now and then.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace lathe::cli {

// Cut to `columns`, whole UTF-8 characters.
std::string cut(const std::string& text, std::size_t columns);

class LiveLine {
 public:
  // What to show in so many columns; asked from the line's own thread.
  using Text = std::function<std::string(std::size_t columns)>;
  // Prints from a thread of its own, so that nothing the caller does makes it silent.
  LiveLine(std::FILE* out, Text text);
  ~LiveLine() { finish(); }
  // Takes the line away; nothing is printed after.
  void finish();

 private:
  void loop();
  void show() const;

  std::FILE* out_;
  const Text text_;
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace lathe::cli
