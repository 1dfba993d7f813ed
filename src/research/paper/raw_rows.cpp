#include "research/paper/raw_rows.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/split.h"

namespace lathe::paper {
namespace {

constexpr std::string_view kHeader = "space,recording,arm,settings,trials,seed,curve\n";
constexpr std::size_t kColumns = 7;

template <class Number>
bool whole(const std::string& text, Number& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

std::string line_of(const RunKey& key, const experiment::Curve& curve) {
  return fmt::format("{},{},{},{},{},{},{}\n", key.space, key.recording, key.arm, key.settings,
                     key.trials, key.seed, experiment::text_of(curve));
}

// Writes once, at the file's end: a kill leaves all of it, or a beginning without its newline.
Status append(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const bool done =
      file >= 0 &&
      ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      ::fdatasync(file) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  if (done) return {};
  return fail_at(path, ErrorKind::kIo,
                 "the row cannot be written ({}); give another folder with -o", std::strerror(why));
}

std::unexpected<Error> damaged(const std::string& path, int line) {
  return fail_at(path, ErrorKind::kDataLoss,
                 "line {} is no run of lathe paper; take it away, or give another folder with -o",
                 line);
}

}  // namespace

Result<RawRows> RawRows::open(const std::string& path) {
  RawRows rows(path);
  LATHE_TRY_STATUS(rows.lock());
  std::error_code none;
  if (std::filesystem::exists(path, none)) LATHE_TRY_STATUS(rows.keep_whole_lines());
  else LATHE_TRY_STATUS(append(path, kHeader));
  return rows;
}

// Locks the folder, because two processes would undo each other's sort().
Status RawRows::lock() {
  const std::string folder = std::filesystem::absolute(path_).parent_path().string();
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0)
    return fail_at(folder, ErrorKind::kIo, "the folder cannot be opened ({}); give another with -o",
                   std::strerror(errno));
  folder_ = std::shared_ptr<const int>(new int(file), [](const int* held) {
    ::close(*held);
    delete held;
  });
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return {};
  return fail_at(
      folder, ErrorKind::kIo,
      "another lathe paper writes here; wait for its end, or give another folder with -o");
}

// Drops a line that was cut short, once everything before it is known to be a file of raw rows.
Status RawRows::keep_whole_lines() {
  const std::string text = LATHE_TRY(read_file(path_));
  const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none
  if (whole > 0) LATHE_TRY_STATUS(read(text.substr(0, whole)));
  else if (!kHeader.starts_with(text)) return damaged(path_, 1);
  std::error_code error;
  if (whole < text.size()) std::filesystem::resize_file(path_, whole, error);
  if (error)
    return fail_at(path_, ErrorKind::kIo, "the last line is cut short and cannot be taken away: {}",
                   error.message());
  return whole == 0 ? append(path_, kHeader) : Status{};
}

Status RawRows::read(const std::string& text) {
  if (!text.starts_with(kHeader)) return damaged(path_, 1);
  int number = 1;
  for (std::size_t begin = kHeader.size(); begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const auto columns = split(std::string_view(text).substr(begin, end - begin), ',');
    begin = end + 1;
    ++number;
    if (columns.size() != kColumns) return damaged(path_, number);
    RunKey key{columns[0], columns[1], columns[2], columns[3]};
    const auto curve = experiment::parse_curve(columns[6]);
    if (!whole(columns[4], key.trials) || !whole(columns[5], key.seed) || !curve)
      return damaged(path_, number);
    rows_[key] = *curve;
  }
  return {};
}

const experiment::Curve* RawRows::find(const RunKey& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

Status RawRows::add(const RunKey& key, const experiment::Curve& curve) {
  LATHE_TRY_STATUS(append(path_, line_of(key, curve)));
  rows_[key] = curve;
  return {};
}

Status RawRows::sort() const {
  std::string text(kHeader);
  for (const auto& [key, curve] : rows_) text += line_of(key, curve);
  return write_whole(path_, text);
}

}  // namespace lathe::paper
