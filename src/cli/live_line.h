// A line that shows progress while something takes time. On a terminal it is redrawn in place;
// elsewhere it is printed now and then.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace lathe::cli {

// Cuts a text to `columns`, between whole UTF-8 characters.
std::string cut(const std::string& text, std::size_t columns);

class LiveLine {
 public:
  // Returns what to show in this many columns; the line's own thread calls it.
  using Text = std::function<std::string(std::size_t columns)>;
  // Prints from a thread of its own, so that the line goes on whatever the caller does.
  LiveLine(std::FILE* out, Text text);
  ~LiveLine() { finish(); }
  // Prints a line above it, which stays.
  void above(const std::string& line);
  // Removes the line; nothing is printed afterwards.
  void finish();

 private:
  void loop();
  void show();

  std::FILE* out_;
  const Text text_;
  const bool terminal_;
  std::mutex printing_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace lathe::cli
