// The checks of storage.
#include "oracle/flat_machine.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

namespace lathe::interp {
namespace {

template <class T>
T from_bytes(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}
template <class T>
void to_bytes(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof(T));
}

}  // namespace

Cell read_cell(Dtype dtype, const std::byte* address) {
  if (dtype == Dtype::kI64) return {.i = from_bytes<std::int64_t>(address)};
  const double value = load_element(dtype, address);
  if (is_float(dtype)) return {.f = value};
  return {.i = static_cast<std::int64_t>(value)};
}

void write_cell(Dtype dtype, std::byte* address, Cell value) {
  switch (dtype) {
    case Dtype::kI8:
    case Dtype::kU8:
    case Dtype::kBool: return to_bytes(address, static_cast<std::uint8_t>(value.i));
    case Dtype::kI16:
    case Dtype::kU16: return to_bytes(address, static_cast<std::uint16_t>(value.i));
    case Dtype::kI32:
    case Dtype::kU32: return to_bytes(address, static_cast<std::uint32_t>(value.i));
    case Dtype::kI64: return to_bytes(address, value.i);
    default: return store_element(dtype, address, value.f);
  }
}

double round_to(double value, Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32: return static_cast<float>(value);
    case Dtype::kF16: return f16_to_f32(f32_to_f16(static_cast<float>(value)));
    case Dtype::kBF16: return bf16_to_f32(f32_to_bf16(static_cast<float>(value)));
    default: return value;
  }
}

Machine::Machine(const flat::Program& p)
    : program(p), buffer_area(p.buffers.size(), -1), buffer_base(p.buffers.size()) {}

Place Machine::place_of(int id, std::int64_t index, const char* what) const {
  const flat::Buffer& b = program.buffers[static_cast<std::size_t>(id)];
  if (index < 0 || index >= b.size)
    throw Fault{fmt::format("{} {} at {}, outside its {} elements", what, b.name, index, b.size),
                FaultKind::kOutside, id, index};
  const int area = buffer_area[static_cast<std::size_t>(id)];
  const auto bytes = static_cast<std::size_t>(size_of(b.dtype));
  return {.area = area >= 0 ? area : worker_area[static_cast<std::size_t>(worker)],
          .begin = static_cast<std::size_t>(buffer_base[static_cast<std::size_t>(id)]) +
                   static_cast<std::size_t>(index) * bytes,
          .bytes = bytes};
}

void Machine::check_aligned(int id, std::int64_t index, int lanes, const char* what) const {
  const flat::Buffer& b = program.buffers[static_cast<std::size_t>(id)];
  const int bytes = lanes * size_of(b.dtype);
  const int wanted = std::min(bytes, kWidestAccess);
  const std::int64_t begin = buffer_base[static_cast<std::size_t>(id)] + index * size_of(b.dtype);
  if ((bytes & (bytes - 1)) != 0 || begin % wanted == 0) return;
  throw Fault{fmt::format("{} {} elements of {} at {}, which is no multiple of {} bytes", what,
                          lanes, b.name, index, wanted),
              FaultKind::kMisaligned, id, index};
}

Cell Machine::load(int id, std::int64_t index, Poison& poison) {
  if (in_grid)
    each_shared(id, index, "a load of", [&](int area, std::size_t granule, std::size_t granules) {
      return touches.load(area, granule, granules);
    });
  return peek(id, index, poison);
}

void Machine::store(int id, std::int64_t index, Cell value, Poison poison) {
  if (in_grid)
    each_shared(id, index, "a store to", [&](int area, std::size_t granule, std::size_t granules) {
      return touches.store(area, granule, granules);
    });
  poke(id, index, value, poison);
}

Cell Machine::peek(int id, std::int64_t index, Poison& poison) {
  const Place place = place_of(id, index, "a load of");
  Area& area = areas[static_cast<std::size_t>(place.area)];
  const auto none = [&](PoisonedLoad::Why why) {
    poisons.push_back({why, id, index, action->stmt});
    return static_cast<Poison>(poisons.size() - 1);
  };
  const auto granule = static_cast<std::size_t>(area.granule);
  if (!area.origins.empty())
    for (std::size_t g = place.begin / granule;
         g * granule < place.begin + place.bytes && poison == 0; ++g) {
      const Origin& t = area.origins[g];
      using enum PoisonedLoad::Why;
      if (t.writer == 0) poison = none(kUnwritten);
      else if (t.writer < area.since)
        poison = none(place.area == group_area ? kGroupEnded : kRegionEnded);
      else if (t.buffer != id) poison = none(kOverwritten);
      else if (!area.shared && t.writer != epoch) poison = none(kIterationEnded);
      else if (area.shared && loop_epoch != 0 && t.writer >= loop_epoch && t.writer != epoch)
        poison = none(kRace);
      else poison = t.poison;
    }
  return read_cell(program.buffers[static_cast<std::size_t>(id)].dtype, &area.bytes[place.begin]);
}

void Machine::poke(int id, std::int64_t index, Cell value, Poison poison) {
  const Place place = place_of(id, index, "a store to");
  Area& area = areas[static_cast<std::size_t>(place.area)];
  const flat::Buffer& b = program.buffers[static_cast<std::size_t>(id)];
  std::byte fresh[8];
  write_cell(b.dtype, fresh, value);
  const auto granule = static_cast<std::size_t>(area.granule);
  for (std::size_t g = place.begin / granule; g * granule < place.begin + place.bytes; ++g) {
    Origin& t = area.origins[g];
    const bool other =
        loop_epoch != 0 && area.shared && t.writer >= loop_epoch && t.writer != epoch;
    const bool proper = poison == 0 && t.poison == 0;
    if (other && proper)
      throw Fault{
          fmt::format(
              "a store to {} at {}, which another iteration of the parallel loop also writes",
              b.name, index),
          FaultKind::kRace, id, index};
    t = {.writer = epoch, .buffer = id, .poison = other && t.poison != 0 ? t.poison : poison};
  }
  std::memcpy(&area.bytes[place.begin], fresh, place.bytes);
}

std::string Machine::explain(Poison poison) const {
  const PoisonedLoad& load = poisons[poison];
  const auto why = [&] {
    switch (load.why) {
      case PoisonedLoad::Why::kUnwritten: return "nothing has written";
      case PoisonedLoad::Why::kOverwritten:
        return "another buffer in the same place has overwritten";
      case PoisonedLoad::Why::kRegionEnded:
        return "was written before the end of a parallel region or of prepare";
      case PoisonedLoad::Why::kGroupEnded: return "nothing in this group has written";
      case PoisonedLoad::Why::kIterationEnded:
        return "was written in another iteration of a parallel loop";
      case PoisonedLoad::Why::kRace: return "another iteration of the parallel loop writes";
    }
    return "";
  };
  return fmt::format("a load of {} at {}, which {}",
                     program.buffers[static_cast<std::size_t>(load.buffer)].name, load.index,
                     why());
}

void Machine::require_value(int cell, int lanes, const char* use) const {
  if (poison_of.empty()) return;
  for (int l = 0; l < lanes; ++l)
    if (const Poison poison = poison_of[static_cast<std::size_t>(cell + l)])
      throw fault_of(poison, fmt::format("{} depends on {}", use, explain(poison)));
}

Fault Machine::fault_of(Poison poison, std::string message) const {
  const PoisonedLoad& load = poisons[poison];
  const bool race = load.why == PoisonedLoad::Why::kRace;
  return {std::move(message), race ? FaultKind::kRace : FaultKind::kUnwritten, load.buffer,
          load.index, load.stmt};
}

namespace {

// Whether it gives a name to a part of an expression, as print() does: "t1 = ...".
bool names_a_part(std::string_view line) {
  const std::size_t end = line.find(" = ");
  return end != std::string_view::npos && line.starts_with('t') && end > 1 &&
         line.substr(1, end - 1).find_first_not_of("0123456789") == std::string_view::npos;
}

// The statement's text, without the body of a loop or if.
std::string first_line(const flat::Program& program, const flat::StmtNode& stmt) {
  if (std::holds_alternative<flat::Seq>(stmt.value)) return "";
  const flat::Stmt alias(std::shared_ptr<void>(), &stmt);  // does not own
  const std::string text = print(program, alias);
  std::string_view rest = text;
  while (names_a_part(rest)) rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
  return std::string(rest.substr(0, rest.find('\n')));
}

}  // namespace

FlatFault Machine::described(const Fault& fault) const {
  const flat::StmtNode* at = fault.stmt != nullptr ? fault.stmt : action->stmt;
  const auto buffer = static_cast<std::size_t>(fault.buffer);
  return {.kind = fault.kind,
          .place = first_line(program, *at),
          .buffer = fault.buffer < 0 ? "" : program.buffers[buffer].name,
          .index = fault.index,
          .message = fault.message};
}

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kOther: return "fault";
    case FaultKind::kOutside: return "access outside a buffer";
    case FaultKind::kRace: return "race";
    case FaultKind::kDivergence: return "divergent barrier";
    case FaultKind::kUnwritten: return "load of what nothing has written";
    case FaultKind::kEarly: return "load of a copy that is not there yet";
    case FaultKind::kMisaligned: return "misaligned vector";
  }
  return "?";
}

}  // namespace lathe::interp
