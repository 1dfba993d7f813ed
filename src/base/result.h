// Expected failures. Every function that can fail for a reason outside Lathe (input, files,
// machine, an illegal schedule) returns Result<T>. A broken invariant is a bug: it throws
// InvariantError and never blames the user.
#pragma once

#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lathe {

enum class ErrorKind {
  kInvalidArgument,  // a value the caller passed is wrong: flag, shape, expression text
  kNotFound,         // a file, record, name or device that does not exist
  kUnsupported,      // legal, but this build, target or back end cannot do it
  kIllegalSchedule,  // a schedule step or trace that cannot be applied
  kIo,               // the operating system refused: read-only, full, locked
  kBusy,             // another process or thread is at it: try again later
  kDataLoss,         // a file or database is damaged or of another version
  kBuild,            // code generation or linking of a candidate failed
  kRun,              // a candidate crashed, or wrote where it must not
  kTimeout,          // a candidate or helper process took too long
  kOutOfMemory,      // a candidate or helper process wanted more than its limit
  kWrongAnswer,      // a candidate computed something else than the reference: a compiler bug
  kInternal,         // a helper process broke in a way that is our fault
};

// The kind's stable name, as stored in records: "invalid-argument", "timeout" ...
std::string_view name_of(ErrorKind kind);
// The inverse; kInternal for a name that is not known.
ErrorKind error_kind_from_name(std::string_view name);

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;  // one sentence: what is wrong and what to do
  std::string place;    // where: "column 12", "step 3", a file name; may be empty

  std::string text() const { return place.empty() ? message : place + ": " + message; }
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

template <class... Args>
std::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{kind, fmt::format(format, std::forward<Args>(args)...), {}});
}
template <class... Args>
std::unexpected<Error> fail_at(std::string place, ErrorKind kind,
                               fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(
      Error{kind, fmt::format(format, std::forward<Args>(args)...), std::move(place)});
}

class InvariantError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};
[[noreturn]] void broken_invariant(const char* file, int line, const std::string& what);

}  // namespace lathe

// Checks internal consistency, always: the check is cheap, and a wrong program is worse than a
// stopped one.
#define LATHE_CHECK(condition, ...)                                                              \
  do {                                                                                           \
    if (!(condition))                                                                            \
      ::lathe::broken_invariant(__FILE__, __LINE__,                                              \
                                std::string(#condition) + ": " + ::fmt::format("" __VA_ARGS__)); \
  } while (false)

// auto value = LATHE_TRY(expression) returns the error to the caller, else yields the value (by a
// statement expression of GNU C).
#define LATHE_TRY(...)                                                                  \
  ({                                                                                    \
    auto lathe_try_result = (__VA_ARGS__);                                              \
    if (!lathe_try_result) return std::unexpected(std::move(lathe_try_result).error()); \
    std::move(*lathe_try_result);                                                       \
  })
#define LATHE_TRY_STATUS(...)                                      \
  do {                                                             \
    if (auto lathe_try_status = (__VA_ARGS__); !lathe_try_status)  \
      return std::unexpected(std::move(lathe_try_status).error()); \
  } while (false)
