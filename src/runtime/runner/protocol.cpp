#include "runtime/runner/protocol.h"

#include <csignal>
#include <cstring>

#include "runtime/runner/wire.h"

namespace lathe::runner {
namespace {

template <class T>
Result<T> checked(const Reader& reader, T message) {
  if (!reader.complete())
    return fail(ErrorKind::kDataLoss, "the other process sent a damaged message");
  return message;
}

}  // namespace

std::vector<std::int64_t> file_offsets(const std::vector<tensor::Border>& borders) {
  std::vector<std::int64_t> offsets{0};
  for (const auto& border : borders)
    offsets.push_back(offsets.back() + (border.elements() * size_of(border.dtype) + 63) / 64 * 64);
  return offsets;
}

std::string encode(const Workload& m) {
  return Writer()
      .borders(m.inputs)
      .borders(m.outputs)
      .put(m.threads)
      .list(m.cpus)
      .put(m.memory_bytes)
      .take();
}
template <>
Result<Workload> decode(std::string_view body) {
  Reader r(body);
  Workload m;
  m.inputs = r.borders();
  m.outputs = r.borders();
  m.threads = r.get<int>();
  m.cpus = r.list<int>();
  m.memory_bytes = r.get<std::int64_t>();
  return checked(r, std::move(m));
}

std::string encode(const ReferenceInfo& m) { return Writer().put(m.max_error).take(); }
template <>
Result<ReferenceInfo> decode(std::string_view body) {
  Reader r(body);
  const ReferenceInfo m{r.get<double>()};
  return checked(r, m);
}

std::string encode(const Load& m) {
  return Writer()
      .put(m.id)
      .borders(m.inputs)
      .borders(m.outputs)
      .put(static_cast<std::uint8_t>(m.check))
      .list(m.drop)
      .take();
}
template <>
Result<Load> decode(std::string_view body) {
  Reader r(body);
  Load m;
  m.id = r.get<std::int64_t>();
  m.inputs = r.borders();
  m.outputs = r.borders();
  m.check = r.flag();
  m.drop = r.list<std::int64_t>();
  return checked(r, std::move(m));
}

std::string encode(const Loaded& m) {
  return Writer()
      .put(m.prepare_seconds)
      .put(m.first_seconds)
      .put(m.resident_bytes)
      .put(m.max_error)
      .put(static_cast<std::uint8_t>(m.wrong))
      .put(m.output)
      .put(m.index)
      .put(m.got)
      .put(m.want)
      .put(m.bound)
      .take();
}
template <>
Result<Loaded> decode(std::string_view body) {
  Reader r(body);
  Loaded m;
  m.prepare_seconds = r.get<double>();
  m.first_seconds = r.get<double>();
  m.resident_bytes = r.get<std::int64_t>();
  m.max_error = r.get<double>();
  m.wrong = r.flag();
  m.output = r.get<int>();
  m.index = r.get<std::int64_t>();
  m.got = r.get<double>();
  m.want = r.get<double>();
  m.bound = r.get<double>();
  return checked(r, m);
}

std::string encode(const Visit& m) {
  return Writer()
      .put(m.id)
      .put(m.min_seconds)
      .put(m.min_sample_seconds)
      .put(m.drop_above)
      .put(static_cast<std::uint8_t>(m.cold))
      .take();
}
template <>
Result<Visit> decode(std::string_view body) {
  Reader r(body);
  Visit m;
  m.id = r.get<std::int64_t>();
  m.min_seconds = r.get<double>();
  m.min_sample_seconds = r.get<double>();
  m.drop_above = r.get<double>();
  m.cold = r.flag();
  return checked(r, m);
}

std::string encode(const Visited& m) {
  return Writer()
      .list(m.seconds)
      .list(m.disturbed)
      .put(m.calls)
      .put(m.sentinel_before)
      .put(m.sentinel_after)
      .take();
}
template <>
Result<Visited> decode(std::string_view body) {
  Reader r(body);
  Visited m;
  m.seconds = r.list<double>();
  m.disturbed = r.list<double>();
  m.calls = r.get<int>();
  m.sentinel_before = r.get<double>();
  m.sentinel_after = r.get<double>();
  return checked(r, std::move(m));
}

std::string encode(const Execute& m) {
  return Writer()
      .borders(m.inputs)
      .borders(m.outputs)
      .put(m.repeats)
      .put(m.min_sample_seconds)
      .put(static_cast<std::uint8_t>(m.cold))
      .take();
}
template <>
Result<Execute> decode(std::string_view body) {
  Reader r(body);
  Execute m;
  m.inputs = r.borders();
  m.outputs = r.borders();
  m.repeats = r.get<int>();
  m.min_sample_seconds = r.get<double>();
  m.cold = r.flag();
  return checked(r, std::move(m));
}

std::string encode(const Executed& m) { return Writer().list(m.seconds).take(); }
template <>
Result<Executed> decode(std::string_view body) {
  Reader r(body);
  Executed m{r.list<double>()};
  return checked(r, std::move(m));
}

std::string encode(const Error& m) { return Writer().error(m).take(); }
template <>
Result<Error> decode(std::string_view body) {
  Reader r(body);
  Error m = r.error();
  return checked(r, std::move(m));
}
template <>
Result<Crash> decode(std::string_view body) {
  Crash crash;
  if (body.size() != sizeof crash)
    return fail(ErrorKind::kDataLoss, "the other process sent a damaged message");
  std::memcpy(&crash, body.data(), sizeof crash);
  crash.buffer[sizeof crash.buffer - 1] = 0;
  return crash;
}

Error Crash::error() const {
  const char* name = ::sigabbrev_np(signal);
  Error error{ErrorKind::kRun,
              fmt::format("the candidate crashed with SIG{}", name != nullptr ? name : "?"),
              {}};
  if (signal != SIGSEGV && signal != SIGBUS) return error;
  const char* verb = access == 1 ? "read" : access == 2 ? "wrote" : "touched memory";
  const std::string name_of_buffer = buffer;
  error.place = name_of_buffer;
  switch (region) {
    case 1:
      error.message +=
          fmt::format(": it {} {} bytes before the start of {}", verb, distance, name_of_buffer);
      break;
    case 2:
      error.message += fmt::format(": it {} {} bytes inside {}, which is not writable", verb,
                                   distance, name_of_buffer);
      break;
    case 3:
      error.message +=
          fmt::format(": it {} {} bytes after the end of {}", verb, distance, name_of_buffer);
      break;
    default: error.message += fmt::format(": it {} at address {:#x}", verb, address); break;
  }
  return error;
}

}  // namespace lathe::runner
