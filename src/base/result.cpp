#include "base/result.h"

#include <array>
#include <utility>

namespace lathe {
namespace {

constexpr std::array<std::pair<ErrorKind, std::string_view>, 13> kNames{{
    {ErrorKind::kInvalidArgument, "invalid-argument"},
    {ErrorKind::kNotFound, "not-found"},
    {ErrorKind::kUnsupported, "unsupported"},
    {ErrorKind::kIllegalSchedule, "illegal-schedule"},
    {ErrorKind::kIo, "io"},
    {ErrorKind::kBusy, "busy"},
    {ErrorKind::kDataLoss, "data-loss"},
    {ErrorKind::kBuild, "build"},
    {ErrorKind::kRun, "run"},
    {ErrorKind::kTimeout, "timeout"},
    {ErrorKind::kOutOfMemory, "out-of-memory"},
    {ErrorKind::kWrongAnswer, "wrong-answer"},
    {ErrorKind::kInternal, "internal"},
}};

}  // namespace

std::string_view name_of(ErrorKind kind) {
  for (const auto& [k, name] : kNames)
    if (k == kind) return name;
  return "internal";
}

ErrorKind error_kind_from_name(std::string_view name) {
  for (const auto& [kind, n] : kNames)
    if (n == name) return kind;
  return ErrorKind::kInternal;
}

void broken_invariant(const char* file, int line, const std::string& what) {
  throw InvariantError(fmt::format("{}:{}: {}", file, line, what));
}

}  // namespace lathe
