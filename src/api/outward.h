// What the sources of include/lathe share: the outer form of results, and what options mean inside.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "api/checked.h"
#include "base/cache_mode.h"
#include "base/result.h"
#include "compiler/te/workload.h"
#include "lathe/lathe.h"
#include "tuner/tune/options.h"

namespace lathe {

struct Workload::Impl {
  te::Workload definition;
  std::string key;
};
Workload workload_from(te::Workload definition);

inline std::unexpected<Failure> failure(const Error& error) {
  return std::unexpected(Failure{std::string(name_of(error.kind)), error.message, error.place});
}
template <class T>
Expected<T> outward(Result<T> result) {
  if (!result) return failure(result.error());
  if constexpr (std::is_void_v<T>) return {};
  else return std::move(*result);
}

// What escapes as an exception inside is an error outside.
template <class Work>
auto guarded(Work&& work) -> decltype(work()) {
  const auto broken = [](ErrorKind kind, std::string what) {
    return failure(Error{kind, std::move(what), {}});
  };
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return broken(ErrorKind::kOutOfMemory, "there is not enough memory; use smaller shapes");
  } catch (const std::system_error& refused) {
    return broken(ErrorKind::kIo, fmt::format("the system refused what is needed ({}); end other "
                                              "programs or raise its limits",
                                              refused.what()));
  } catch (const std::exception& bug) {
    return broken(ErrorKind::kInternal,
                  fmt::format("a bug of Lathe: {}; please report it", bug.what()));
  }
}

// The user's where none is named.
std::string database_of(const Machine& machine);
CacheMode cache_of(const Machine& machine);
inline api::Checking checking_of(Check check) {
  return check == Check::kOnce ? api::Checking::kOnce : api::Checking::kSkip;
}
int jobs_of(int wanted);  // 0: usual_jobs()
Result<tune::Options> options_of(const TuneOptions& options);

}  // namespace lathe
