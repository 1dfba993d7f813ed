#include <algorithm>
#include <limits>

#include "compiler/schedule/intrinsic.h"
#include "compiler/schedule/step.h"

namespace lathe::schedule {
namespace {

// Writes a trace.
struct Writer {
  const ir::Sizes* sizes;  // for open sizes; null: there are none

  Json size(const Size& size) const {
    if (const auto* number = std::get_if<std::int64_t>(&size)) return *number;
    LATHE_CHECK(sizes != nullptr, "this trace has open sizes; concretize it, or give their table");
    return ir::to_json(*sizes, std::get<ir::SizeId>(size));
  }
  Json layout(const std::vector<LayoutItem>& layout) const {
    Json out = Json::array();
    for (const LayoutItem& item : layout) out.push_back(Json::array({item.dim, size(item.weight)}));
    return out;
  }

  Json operator()(const Split& s) const {
    return {{"step", "split"},  {"loop", s.loop},   {"factor", size(s.factor)},
            {"outer", s.outer}, {"inner", s.inner}, {"tail", ir::name_of(s.tail)}};
  }
  Json operator()(const Fuse& s) const {
    return {{"step", "fuse"}, {"loops", s.loops}, {"fused", s.fused}};
  }
  Json operator()(const Reorder& s) const { return {{"step", "reorder"}, {"loops", s.loops}}; }
  Json operator()(const ComputeAt& s) const {
    return {{"step", "compute_at"}, {"block", s.block}, {"loop", s.loop}};
  }
  Json operator()(const ReverseComputeAt& s) const {
    return {{"step", "reverse_compute_at"}, {"block", s.block}, {"loop", s.loop}};
  }
  Json operator()(const Inline& s) const { return {{"step", "inline"}, {"block", s.block}}; }
  Json operator()(const Cache& s) const {
    Json out = {{"step", "cache"},
                {"buffer", s.buffer},
                {"name", s.name},
                {"loop", s.loop},
                {"scope", ir::name_of(s.scope)},
                {"layout", layout(s.layout)}};
    if (!s.reader.empty()) out["reader"] = s.reader;
    return out;
  }
  Json operator()(const Layout& s) const {
    return {{"step", "layout"},
            {"buffer", s.buffer},
            {"layout", layout(s.layout)},
            {"pad_stride", s.pad_stride}};
  }
  Json operator()(const Rfactor& s) const {
    Json out = {{"step", "rfactor"}, {"block", s.block}, {"loop", s.loop}, {"name", s.name}};
    if (s.dim >= 0) out["dim"] = s.dim;
    return out;
  }
  Json operator()(const Tensorize& s) const {
    return {{"step", "tensorize"}, {"loop", s.loop}, {"intrinsic", name_of(s.intrinsic)}};
  }
  Json operator()(const Annotate& s) const {
    switch (s.what) {
      case Annotate::What::kKind:
        return {{"step", "annotate"}, {"loop", s.loop}, {"kind", ir::name_of(s.kind)}};
      case Annotate::What::kTail:
        return {{"step", "annotate"}, {"loop", s.loop}, {"tail", ir::name_of(s.tail)}};
      case Annotate::What::kPrefetch: break;
    }
    return {
        {"step", "annotate"}, {"loop", s.loop}, {"prefetch", s.buffer}, {"bytes", size(s.bytes)}};
  }
};

// Reads a trace. Open sizes go into a table where there is one; else sizes must be numbers.
struct Table {
  ir::Sizes& sizes;
  const ir::KnobSize& knob;
};

Result<Size> size_of(const Json& j, const char* member, const Table* table) {
  const Json size = LATHE_TRY(json_member(j, member));
  if (size.is_number() || table == nullptr) return LATHE_TRY(json_int(j, member));
  return LATHE_TRY(ir::size_from_json(size, table->sizes, table->knob));
}

template <class Enum>
Result<Enum> named(const std::string& name, int count, const char* what) {
  for (int i = 0; i < count; ++i)
    if (name == ir::name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
  std::string known;
  for (int i = 0; i < count; ++i)
    known += (i ? ", " : "") + std::string(ir::name_of(static_cast<Enum>(i)));
  return fail(ErrorKind::kInvalidArgument, "\"{}\" is no {}; known are {}", name, what, known);
}
constexpr int kTails = 4, kScopes = 7;

Result<ir::Tail> tail_of(const Json& j) {
  return named<ir::Tail>(LATHE_TRY(json_string(j, "tail")), kTails, "tail mode");
}

Result<std::vector<std::string>> names_of(const Json& j, const char* member) {
  const Json list = LATHE_TRY(json_array(j, member));
  std::vector<std::string> out;
  for (const Json& name : list) {
    if (!name.is_string())
      return fail(ErrorKind::kInvalidArgument, "\"{}\" must be a list of names", member);
    out.push_back(name.get<std::string>());
  }
  return out;
}

Result<std::vector<LayoutItem>> layout_of(const Json& j, const Table* table) {
  const Json list = LATHE_TRY(json_array(j, "layout"));
  std::vector<LayoutItem> out;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_integer() ||
        item[0].get<std::int64_t>() < 0 || item[0].get<std::int64_t>() > 1'000 ||
        !(item[1].is_number_integer() || table != nullptr))
      return fail(ErrorKind::kInvalidArgument,
                  "\"layout\" must be a list of pairs [dimension, weight]");
    if (item[1].is_number_integer())
      out.push_back({item[0].get<int>(), item[1].get<std::int64_t>()});
    else
      out.push_back(
          {item[0].get<int>(), LATHE_TRY(ir::size_from_json(item[1], table->sizes, table->knob))});
  }
  return out;
}

Result<Step> read_split(const Json& j, const Table* table) {
  return Split{LATHE_TRY(json_string(j, "loop")), LATHE_TRY(size_of(j, "factor", table)),
               LATHE_TRY(json_string(j, "outer")), LATHE_TRY(json_string(j, "inner")),
               LATHE_TRY(tail_of(j))};
}
Result<Step> read_fuse(const Json& j, const Table*) {
  return Fuse{LATHE_TRY(names_of(j, "loops")), LATHE_TRY(json_string(j, "fused"))};
}
Result<Step> read_reorder(const Json& j, const Table*) {
  return Reorder{LATHE_TRY(names_of(j, "loops"))};
}
Result<Step> read_compute_at(const Json& j, const Table*) {
  return ComputeAt{LATHE_TRY(json_string(j, "block")), LATHE_TRY(json_string(j, "loop"))};
}
Result<Step> read_reverse_compute_at(const Json& j, const Table*) {
  return ReverseComputeAt{LATHE_TRY(json_string(j, "block")), LATHE_TRY(json_string(j, "loop"))};
}
Result<Step> read_inline(const Json& j, const Table*) {
  return Inline{LATHE_TRY(json_string(j, "block"))};
}
Result<Step> read_cache(const Json& j, const Table* table) {
  const std::string scope = LATHE_TRY(json_string(j, "scope"));
  const std::string reader = j.contains("reader") ? LATHE_TRY(json_string(j, "reader")) : "";
  return Cache{
      LATHE_TRY(json_string(j, "buffer")), LATHE_TRY(json_string(j, "name")),
      LATHE_TRY(json_string(j, "loop")),   LATHE_TRY(named<ir::Scope>(scope, kScopes, "scope")),
      LATHE_TRY(layout_of(j, table)),      reader};
}
Result<Step> read_layout(const Json& j, const Table* table) {
  return Layout{LATHE_TRY(json_string(j, "buffer")), LATHE_TRY(layout_of(j, table)),
                LATHE_TRY(json_int(j, "pad_stride"))};
}
Result<Step> read_rfactor(const Json& j, const Table*) {
  const std::int64_t dim = j.contains("dim") ? LATHE_TRY(json_int(j, "dim")) : -1;
  return Rfactor{
      LATHE_TRY(json_string(j, "block")), LATHE_TRY(json_string(j, "loop")),
      LATHE_TRY(json_string(j, "name")),
      static_cast<int>(std::clamp<std::int64_t>(dim, -1, std::numeric_limits<int>::max()))};
}
Result<Step> read_tensorize(const Json& j, const Table*) {
  return Tensorize{LATHE_TRY(json_string(j, "loop")),
                   LATHE_TRY(intrinsic_named(LATHE_TRY(json_string(j, "intrinsic"))))};
}
Result<Step> read_annotate(const Json& j, const Table* table) {
  Annotate a;
  a.loop = LATHE_TRY(json_string(j, "loop"));
  if (j.contains("kind")) {
    a.what = Annotate::What::kKind;
    a.kind = LATHE_TRY(
        named<ir::LoopKind>(LATHE_TRY(json_string(j, "kind")), ir::kLoopKinds, "loop kind"));
  } else if (j.contains("tail")) {
    a.what = Annotate::What::kTail;
    a.tail = LATHE_TRY(tail_of(j));
  } else {
    a.what = Annotate::What::kPrefetch;
    a.buffer = LATHE_TRY(json_string(j, "prefetch"));
    a.bytes = LATHE_TRY(size_of(j, "bytes", table));
  }
  return a;
}

struct Reader {
  std::string_view name;
  Result<Step> (*read)(const Json&, const Table*);
};
constexpr Reader kReaders[] = {
    {"split", read_split},
    {"fuse", read_fuse},
    {"reorder", read_reorder},
    {"compute_at", read_compute_at},
    {"reverse_compute_at", read_reverse_compute_at},
    {"inline", read_inline},
    {"cache", read_cache},
    {"layout", read_layout},
    {"rfactor", read_rfactor},
    {"tensorize", read_tensorize},
    {"annotate", read_annotate},
};
static_assert(std::size(kReaders) == std::variant_size_v<Step>);

Result<Step> read_step(const Json& j, const Table* table) {
  if (!j.is_object()) return fail(ErrorKind::kInvalidArgument, "a step must be an object");
  const std::string name = LATHE_TRY(json_string(j, "step"));
  const auto* found = std::ranges::find(kReaders, name, &Reader::name);
  if (found != std::end(kReaders)) return found->read(j, table);
  std::string known;
  for (const Reader& r : kReaders) known += (known.empty() ? "" : ", ") + std::string(r.name);
  return fail(ErrorKind::kInvalidArgument, "\"{}\" is no step; known are {}", name, known);
}

Json write(const Trace& trace, const ir::Sizes* sizes) {
  Json out = Json::array();
  for (const Step& step : trace) out.push_back(std::visit(Writer{sizes}, step));
  return out;
}

Result<Trace> read(const Json& json, const Table* table) {
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

Json to_json(const Trace& trace) { return write(trace, nullptr); }
Json to_json(const Trace& trace, const ir::Sizes& sizes) { return write(trace, &sizes); }

Result<Trace> trace_from_json(const Json& json) { return read(json, nullptr); }
Result<Trace> trace_from_json(const Json& json, ir::Sizes& sizes, const ir::KnobSize& knob) {
  const Table table{sizes, knob};
  return read(json, &table);
}

}  // namespace lathe::schedule
