// Traces as JSON and back, by the lists of fields that steps have (field.h).
#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "base/known_names.h"
#include "compiler/schedule/step.h"

namespace lathe::schedule {
namespace {

// Writes a value of a field. `sizes` is the table of open sizes; null: there are none.
Json write(const Size& size, const ir::Sizes* sizes) {
  if (const auto* number = std::get_if<std::int64_t>(&size)) return *number;
  LATHE_CHECK(sizes != nullptr, "this trace has open sizes; concretize it, or give their table");
  return ir::to_json(*sizes, std::get<ir::SizeId>(size));
}
Json write(const std::vector<LayoutItem>& layout, const ir::Sizes* sizes) {
  Json out = Json::array();
  for (const LayoutItem& item : layout)
    out.push_back(Json::array({item.dim, write(item.weight, sizes)}));
  return out;
}
template <class T>
Json write(const T& value, const ir::Sizes*) {
  if constexpr (std::is_enum_v<T>) return ir::name_of(value);
  else return value;
}

template <class S>
Json write_step(const S& step, const ir::Sizes* sizes) {
  const S usual;
  Json out = {{"step", S::kName}};
  each_field<S>([&](const auto& field) {
    if (field.when != nullptr && !field.when(step)) return;
    Json value = write(step.*field.member, sizes);
    if (field.optional && value == write(usual.*field.member, sizes)) return;
    out[field.name] = std::move(value);
  });
  return out;
}

// Reads a value of a field. Open sizes go into a table where there is one; else sizes must be
// numbers.
struct Table {
  ir::Sizes& sizes;
  const ir::KnobSize& knob;
};

Status read(const Json& j, const char* member, const Table*, std::string& out) {
  out = LATHE_TRY(json_string(j, member));
  return {};
}
Status read(const Json& j, const char* member, const Table*, std::int64_t& out) {
  out = LATHE_TRY(json_int(j, member));
  return {};
}
// The number of a dimension; -1: none.
Status read(const Json& j, const char* member, const Table*, int& out) {
  const std::int64_t dim = LATHE_TRY(json_int(j, member));
  out = static_cast<int>(std::clamp<std::int64_t>(dim, -1, std::numeric_limits<int>::max()));
  return {};
}
Status read(const Json& j, const char* member, const Table* table, Size& out) {
  const Json size = LATHE_TRY(json_member(j, member));
  if (size.is_number() || table == nullptr) out = LATHE_TRY(json_int(j, member));
  else out = LATHE_TRY(ir::size_from_json(size, table->sizes, table->knob));
  return {};
}
Status read(const Json& j, const char* member, const Table*, std::vector<std::string>& out) {
  const Json list = LATHE_TRY(json_array(j, member));
  for (const Json& name : list) {
    if (!name.is_string())
      return fail(ErrorKind::kInvalidArgument, "\"{}\" must be a list of names", member);
    out.push_back(name.get<std::string>());
  }
  return {};
}
Status read(const Json& j, const char* member, const Table*, std::vector<std::int64_t>& out) {
  const Json list = LATHE_TRY(json_array(j, member));
  for (const Json& number : list) {
    if (!number.is_number_integer())
      return fail(ErrorKind::kInvalidArgument, "\"{}\" must be a list of whole numbers", member);
    out.push_back(number.get<std::int64_t>());
  }
  return {};
}
Status read(const Json& j, const char* member, const Table* table, std::vector<LayoutItem>& out) {
  const Json list = LATHE_TRY(json_array(j, member));
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_integer() ||
        item[0].get<std::int64_t>() < 0 || item[0].get<std::int64_t>() > 1'000 ||
        !(item[1].is_number_integer() || table != nullptr))
      return fail(ErrorKind::kInvalidArgument, "\"{}\" must be a list of pairs [dimension, weight]",
                  member);
    const int dim = item[0].get<int>();
    if (item[1].is_number_integer()) out.push_back({dim, item[1].get<std::int64_t>()});
    else out.push_back({dim, LATHE_TRY(ir::size_from_json(item[1], table->sizes, table->knob))});
  }
  return {};
}

template <class Enum>
Status read_name(const Json& j, const char* member, int count, const char* what, Enum& out) {
  const std::string name = LATHE_TRY(json_string(j, member));
  std::string known;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    if (name == ir::name_of(value)) {
      out = value;
      return {};
    }
    known += (i ? ", " : "") + std::string(ir::name_of(value));
  }
  return fail(ErrorKind::kInvalidArgument, "\"{}\" is no {}; known are {}", name, what,
              known_names(known, name));
}
constexpr int kTails = 4, kScopes = 7;

Status read(const Json& j, const char* member, const Table*, ir::Tail& out) {
  return read_name(j, member, kTails, "tail mode", out);
}
Status read(const Json& j, const char* member, const Table*, ir::Scope& out) {
  return read_name(j, member, kScopes, "scope", out);
}
Status read(const Json& j, const char* member, const Table*, ir::LoopKind& out) {
  return read_name(j, member, ir::kLoopKinds, "loop kind", out);
}

Status read(const Json& j, const char* member, const Table*, ir::IntrinsicId& out) {
  out = LATHE_TRY(ir::intrinsic_named(LATHE_TRY(json_string(j, member))));
  return {};
}

// Refuses a member that the step has not: a typing error.
template <class S>
Status check_members(const Json& j) {
  for (const auto& [key, value] : j.items()) {
    bool known = key == "step";
    std::string names;
    each_field<S>([&](const auto& field) {
      known = known || key == field.name;
      names += (names.empty() ? "" : ", ") + std::string(field.name);
    });
    if (!known)
      return fail(ErrorKind::kInvalidArgument, "{} has no member \"{}\"; it has {}", S::kName, key,
                  names);
  }
  return {};
}

template <class S>
Result<Step> read_as(const Json& j, const Table* table) {
  LATHE_TRY_STATUS(check_members<S>(j));
  S step;
  if constexpr (requires { step.choose(j); }) LATHE_TRY_STATUS(step.choose(j));
  Status status;
  each_field<S>([&](const auto& field) {
    if (!status || (field.when != nullptr && !field.when(step))) return;
    if (field.optional && !j.contains(field.name)) return;
    status = read(j, field.name, table, step.*field.member);
  });
  if (!status) return std::unexpected(std::move(status).error());
  return step;
}

struct Reader {
  std::string_view name;
  Result<Step> (*read)(const Json&, const Table*);
};
template <class... S>
constexpr std::array<Reader, sizeof...(S)> readers_of(std::type_identity<std::variant<S...>>) {
  return {{{S::kName, read_as<S>}...}};
}
constexpr auto kReaders = readers_of(std::type_identity<Step>{});

Result<Step> read_step(const Json& j, const Table* table) {
  if (!j.is_object()) return fail(ErrorKind::kInvalidArgument, "a step must be an object");
  const std::string name = LATHE_TRY(json_string(j, "step"));
  const auto* found = std::ranges::find(kReaders, name, &Reader::name);
  if (found != std::end(kReaders)) return found->read(j, table);
  std::string known;
  for (const Reader& r : kReaders) known += (known.empty() ? "" : ", ") + std::string(r.name);
  return fail(ErrorKind::kInvalidArgument, "\"{}\" is no step; known are {}", name,
              known_names(known, name));
}

Json write_trace(const Trace& trace, const ir::Sizes* sizes) {
  Json out = Json::array();
  for (const Step& step : trace)
    out.push_back(std::visit([&](const auto& s) { return write_step(s, sizes); }, step));
  return out;
}

Result<Trace> read_trace(const Json& json, const Table* table) {
  if (!json.is_array()) return fail(ErrorKind::kInvalidArgument, "a trace must be a list of steps");
  Trace trace;
  for (std::size_t i = 0; i < json.size(); ++i) {
    Result<Step> step = read_step(json[i], table);
    if (!step) {
      Error error = std::move(step).error();
      error.place = "step " + std::to_string(i);
      return std::unexpected(std::move(error));
    }
    trace.push_back(std::move(*step));
  }
  return trace;
}

}  // namespace

Json to_json(const Trace& trace) { return write_trace(trace, nullptr); }
Json to_json(const Trace& trace, const ir::Sizes& sizes) { return write_trace(trace, &sizes); }

Result<Trace> trace_from_json(const Json& json) { return read_trace(json, nullptr); }
Result<Trace> trace_from_json(const Json& json, ir::Sizes& sizes, const ir::KnobSize& knob) {
  const Table table{sizes, knob};
  return read_trace(json, &table);
}

}  // namespace lathe::schedule
