#include "api/paper/raw_rows.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

namespace lathe::paper {
namespace {

constexpr std::string_view kHeader = "space,recording,arm,settings,trials,seed,curve\n";
constexpr std::size_t kColumns = 7;

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    out.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

template <class Number>
bool whole(const std::string& text, Number& value) {
  return !text.empty() && std::from_chars(text.data(), text.data() + text.size(), value).ptr == text.data() + text.size();
}

std::string line_of(const RunKey& key, const experiment::Curve& curve) {
  return fmt::format("{},{},{},{},{},{},{}\n", key.space, key.recording, key.arm, key.settings, key.trials, key.seed,
                     experiment::text_of(curve));
}

// One write at the file's end: a kill leaves all of it or a beginning without its newline.
Status append(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const bool done = file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  const int why = errno;
  if (file >= 0) ::close(file);
  if (done) return {};
  return fail_at(path, ErrorKind::kIo, "the row cannot be written ({}); give another folder with -o", std::strerror(why));
}

}  // namespace

Result<RawRows> RawRows::open(const std::string& path) {
  RawRows rows(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    LATHE_TRY_STATUS(append(path, kHeader));
    return rows;
  }
  const std::string text = LATHE_TRY(read_file(path));
  const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none
  if (whole < text.size()) std::filesystem::resize_file(path, whole, error);
  if (error) return fail_at(path, ErrorKind::kIo, "the last line is cut short and cannot be taken away: {}", error.message());
  if (whole == 0) LATHE_TRY_STATUS(append(path, kHeader));
  else LATHE_TRY_STATUS(rows.read(text.substr(0, whole)));
  return rows;
}

Status RawRows::read(const std::string& text) {
  const auto damaged = [&](int number) {
    return fail_at(path_, ErrorKind::kDataLoss, "line {} is no run of lathe paper; take it away, or give another folder with -o", number);
  };
  if (!text.starts_with(kHeader)) return damaged(1);
  int number = 1;
  for (std::size_t begin = kHeader.size(); begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const auto columns = split(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (columns.size() != kColumns) return damaged(number);
    RunKey key{columns[0], columns[1], columns[2], columns[3]};
    const auto curve = experiment::parse_curve(columns[6]);
    if (!whole(columns[4], key.trials) || !whole(columns[5], key.seed) || !curve) return damaged(number);
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
