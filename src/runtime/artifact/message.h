// A message of bounded length that allocates no memory.
#pragma once

#include <cstdint>

namespace lathe::artifact {

class Message {
 public:
  void clear() { text_[length_ = 0] = '\0'; }
  Message& add(const char* text) {
    while (*text != '\0' && length_ + 1 < kSize) text_[length_++] = *text++;
    text_[length_] = '\0';
    return *this;
  }
  Message& add(std::int64_t number) {
    char digits[24];
    int at = sizeof digits;
    digits[--at] = '\0';
    // Negative numbers keep their sign through the division, so that the lowest one works too.
    const bool negative = number < 0;
    do {
      const auto digit = static_cast<int>(number % 10);
      digits[--at] = static_cast<char>('0' + (negative ? -digit : digit));
      number /= 10;
    } while (number != 0);
    if (negative) digits[--at] = '-';
    return add(digits + at);
  }
  const char* text() const { return text_; }

 private:
  static constexpr int kSize = 256;
  char text_[kSize] = {};
  int length_ = 0;
};

}  // namespace lathe::artifact
