#include "tuner/measure/build_protocol.h"

#include <cstring>
#include <span>

#include "runtime/runner/wire.h"

namespace lathe::measure {
namespace {

template <class T>
Result<T> checked(const runner::Reader& reader, T message) {
  if (!reader.complete())
    return fail(ErrorKind::kDataLoss, "the other process sent a damaged message");
  return message;
}

}  // namespace

std::string encode(const Setup& m) {
  return runner::Writer()
      .text(m.workload)
      .text(m.target)
      .put(static_cast<std::uint8_t>(m.free_layout))
      .put(m.memory_bytes)
      .list(m.cpus)
      .take();
}
Result<Setup> decode_setup(std::string_view body) {
  runner::Reader r(body);
  Setup m;
  m.workload = r.text();
  m.target = r.text();
  m.free_layout = r.flag();
  m.memory_bytes = r.get<std::int64_t>();
  m.cpus = r.list<int>();
  return checked(r, std::move(m));
}

std::string encode(const BuildRequest& m) {
  runner::Writer w;
  w.text(m.trace)
      .put(static_cast<std::uint8_t>(m.anew))
      .put(static_cast<std::uint64_t>(m.known.size()));
  for (const auto& hash : m.known) w.text(hash);
  return w.take();
}
Result<BuildRequest> decode_build(std::string_view body) {
  runner::Reader r(body);
  BuildRequest m;
  m.trace = r.text();
  m.anew = r.flag();
  const auto count = r.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && i < body.size(); ++i) m.known.push_back(r.text());
  return checked(r, std::move(m));
}

std::string encode(const BuildProgram& m) { return runner::Writer().text(m.text).take(); }
Result<BuildProgram> decode_program(std::string_view body) {
  runner::Reader r(body);
  BuildProgram m{r.text()};
  return checked(r, std::move(m));
}

std::string encode(const BuildStream& m) {
  return runner::Writer().put(m.read).put(m.written).take();
}
Result<BuildStream> decode_stream(std::string_view body) {
  runner::Reader r(body);
  const auto read = r.get<std::int64_t>();
  return checked(r, BuildStream{read, r.get<std::int64_t>()});
}

std::string encode(const Built& m) {
  const std::string_view library(reinterpret_cast<const char*>(m.library.data()), m.library.size());
  return runner::Writer()
      .text(library)
      .put(static_cast<std::uint8_t>(m.known))
      .text(m.program_hash)
      .put(m.spills)
      .put(m.loads_per_multiply)
      .put(m.code_bytes)
      .put(m.lower_seconds)
      .put(m.codegen_seconds)
      .put(m.link_seconds)
      .borders(m.inputs)
      .borders(m.outputs)
      .take();
}
Result<Built> decode_built(std::string_view body) {
  runner::Reader r(body);
  Built m;
  const std::string library = r.text();
  const auto bytes = std::as_bytes(std::span(library));
  m.library.assign(bytes.begin(), bytes.end());
  m.known = r.flag();
  m.program_hash = r.text();
  m.spills = r.get<int>();
  m.loads_per_multiply = r.get<double>();
  m.code_bytes = r.get<std::int64_t>();
  m.lower_seconds = r.get<double>();
  m.codegen_seconds = r.get<double>();
  m.link_seconds = r.get<double>();
  m.inputs = r.borders();
  m.outputs = r.borders();
  return checked(r, std::move(m));
}

std::string encode(const BuiltPeak& m) {
  return runner::Writer().text(encode(m.built)).put(m.flops).take();
}
Result<BuiltPeak> decode_peak(std::string_view body) {
  runner::Reader r(body);
  BuiltPeak m;
  m.built = LATHE_TRY(decode_built(r.text()));
  m.flops = r.get<double>();
  return checked(r, std::move(m));
}

}  // namespace lathe::measure
