// A list that needs no memory of its own while it is short.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace lathe::python {

// Elements follow each other in memory.
template <class T>
class Few {
 public:
  Few() = default;
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;

  T& push_back(T value) {
    if (!more_.empty()) return more_.emplace_back(std::move(value));
    if (size_ < kFew) return few_[size_++] = std::move(value);
    for (T& each : few_) more_.push_back(std::move(each));
    return more_.emplace_back(std::move(value));
  }
  std::size_t size() const { return more_.empty() ? size_ : more_.size(); }
  T* data() { return more_.empty() ? few_ : more_.data(); }
  const T* data() const { return more_.empty() ? few_ : more_.data(); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size() - 1]; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

 private:
  static constexpr std::size_t kFew = 6;
  T few_[kFew] = {};
  std::size_t size_ = 0;
  std::vector<T> more_;  // all of them, once there are more
};

}  // namespace lathe::python
