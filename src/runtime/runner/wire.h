// Structs to bytes and back. Each struct that travels has one list of its members, kFields, from
// which both directions follow; a member that the list forgets is an error of compilation.
//
// Numbers are little-endian on every machine; a text or list is its length, as 64 bits, and its
// elements; a struct is its members, in the order of the list. So the bytes of a value are unique.
// A reader takes no more memory than a small multiple of the bytes it was given, whatever lengths
// they claim, and tells at the end whether they were damaged.
//
// It is our own because the structs belong to several rooms: classes that protoc or flatc make
// would be copied from and to them by hand, member by member. Of the libraries that take a list of
// members, cereal allocates 2 GiB for 9 damaged bytes, and MessagePack takes a struct that lacks
// its last member.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/runner/members.h"

namespace lathe::runner {

// The members of a T in the order in which they travel:
//   template <> inline constexpr auto kFields<T> = fields<T>(&T::a, &T::b, stays(&T::c));
template <class T>
inline constexpr auto kFields = nullptr;
// The last value of an enum that travels; others are damage.
template <class E>
inline constexpr auto kLastOf = nullptr;

// A member that does not travel.
struct Stays {};
template <class T, class M>
constexpr Stays stays(M T::*) {
  return {};
}

template <class T, class... Fields>
constexpr auto fields(Fields... list) {
  static_assert(sizeof...(Fields) == count_members<T>(), "a member is missing in the list");
  return std::tuple(list...);
}

template <class T>
concept Struct = !std::is_same_v<std::remove_cv_t<decltype(kFields<T>)>, std::nullptr_t>;
template <class T>
concept Number = std::is_arithmetic_v<T> && sizeof(T) <= 8;
template <class T>
concept Name = std::is_same_v<T, std::array<char, sizeof(T)>>;  // of a fixed length

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <std::size_t kSize>
using Bits =
    std::tuple_element_t<std::bit_width(kSize) - 1,
                         std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;

template <class T, class Do>
constexpr void each_field(Do&& act) {
  std::apply(
      [&](auto... field) {
        [[maybe_unused]] const auto one = [&](auto f) {
          if constexpr (!std::is_same_v<decltype(f), Stays>) act(f);
        };
        (one(field), ...);
      },
      kFields<T>);
}

template <class T, class M>
std::type_identity<M> type_of_member(M T::*);

// The fewest bytes that a T takes.
template <class T>
consteval std::size_t least_bytes() {
  if constexpr (Struct<T>) {
    std::size_t sum = 0;
    each_field<T>([&]<class Field>(Field f) {
      sum += least_bytes<typename decltype(type_of_member(f))::type>();
    });
    return sum;
  } else if constexpr (std::is_same_v<T, std::string> || kIsList<T>) {
    return sizeof(std::uint64_t);
  } else {
    return sizeof(T);
  }
}

// Whether every T takes as many bytes.
template <class T>
consteval bool has_fixed_size() {
  bool fixed = !std::is_same_v<T, std::string> && !kIsList<T>;
  if constexpr (Struct<T>)
    each_field<T>([&]<class Field>(Field f) {
      fixed = fixed && has_fixed_size<typename decltype(type_of_member(f))::type>();
    });
  return fixed;
}

// Sink: has append(const char*, std::size_t).
template <class T, class Sink>
void write(Sink& out, const T& value) {
  if constexpr (Struct<T>) {
    each_field<T>([&](auto field) { write(out, value.*field); });
  } else if constexpr (std::is_enum_v<T>) {
    write(out, std::to_underlying(value));
  } else if constexpr (Number<T>) {
    const auto bits = std::bit_cast<Bits<sizeof(T)>>(value);
    char bytes[sizeof bits];
    for (std::size_t i = 0; i < sizeof bits; ++i) bytes[i] = static_cast<char>(bits >> (8 * i));
    out.append(bytes, sizeof bytes);
  } else if constexpr (Name<T>) {
    out.append(value.data(), value.size());
  } else {
    write(out, static_cast<std::uint64_t>(value.size()));
    if constexpr (sizeof(value[0]) == 1)
      out.append(reinterpret_cast<const char*>(value.data()), value.size());
    else
      for (const auto& element : value) write(out, element);
  }
}

// The bytes of a value whose size is fixed. It allocates nothing, so a signal handler may call it.
template <class T>
auto bytes_of(const T& value) {
  static_assert(has_fixed_size<T>());
  struct {
    std::array<char, least_bytes<T>()> bytes;
    std::size_t size = 0;
    void append(const char* from, std::size_t count) {
      std::memcpy(bytes.data() + size, from, count);
      size += count;
    }
  } out;
  write(out, value);
  return out.bytes;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void read(T& value) {
    if constexpr (Struct<T>) {
      each_field<T>([&](auto field) { read(value.*field); });
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number{};
      read(number);
      if (number < 0 || number > std::to_underlying(kLastOf<T>)) return refuse();
      value = static_cast<T>(number);
    } else if constexpr (Number<T>) {
      read_number(value);
    } else if constexpr (Name<T>) {
      std::ranges::copy(take(value.size()), value.data());
    } else {
      read_list(value);
    }
  }
  // True if everything was there and nothing is left.
  bool complete() const { return !damaged_ && bytes_.empty(); }

 private:
  template <Number T>
  void read_number(T& value) {
    const auto raw = take(sizeof(T));
    Bits<sizeof(T)> bits = 0;
    for (std::size_t i = 0; i < raw.size(); ++i)
      bits |=
          static_cast<decltype(bits)>(decltype(bits){static_cast<std::uint8_t>(raw[i])} << (8 * i));
    if constexpr (std::is_same_v<T, bool>) {
      if (bits > 1) refuse();
      value = bits == 1;
    } else {
      value = std::bit_cast<T>(bits);
    }
  }
  template <class List>
  void read_list(List& list) {
    using Element = List::value_type;
    static_assert(least_bytes<Element>() > 0);
    std::uint64_t count = 0;
    read(count);
    if (count > bytes_.size() / least_bytes<Element>()) return refuse();
    if constexpr (sizeof(Element) == 1) {
      const auto raw = take(count);
      const auto* first = reinterpret_cast<const Element*>(raw.data());
      list.assign(first, first + raw.size());
    } else {
      list.resize(count);
      for (Element& element : list) read(element);
    }
  }
  // The next bytes; none where fewer are left.
  std::string_view take(std::size_t size) {
    if (size > bytes_.size()) refuse();
    const auto raw = bytes_.substr(0, damaged_ ? 0 : size);
    bytes_.remove_prefix(raw.size());
    return raw;
  }
  void refuse() {
    damaged_ = true;
    bytes_ = {};
  }

  std::string_view bytes_;
  bool damaged_ = false;
};

}  // namespace lathe::runner
