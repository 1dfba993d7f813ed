#include <algorithm>

#include "compiler/schedule/step.h"

namespace lathe::schedule {
namespace {

// Writing. Sizes of stored traces are numbers.
std::int64_t number(const Size& size) {
  LATHE_CHECK(std::holds_alternative<std::int64_t>(size), "a trace with open sizes cannot be stored; concretize it");
  return std::get<std::int64_t>(size);
}

Json layout_json(const std::vector<LayoutItem>& layout) {
  Json out = Json::array();
  for (const LayoutItem& item : layout) out.push_back(Json::array({item.dim, number(item.weight)}));
  return out;
}

struct Writer {
  Json operator()(const Split& s) const {
    return {{"step", "split"}, {"loop", s.loop}, {"factor", number(s.factor)},
            {"outer", s.outer}, {"inner", s.inner}, {"tail", ir::name_of(s.tail)}};
  }
  Json operator()(const Fuse& s) const { return {{"step", "fuse"}, {"loops", s.loops}, {"fused", s.fused}}; }
  Json operator()(const Reorder& s) const { return {{"step", "reorder"}, {"loops", s.loops}}; }
  Json operator()(const ComputeAt& s) const { return {{"step", "compute_at"}, {"block", s.block}, {"loop", s.loop}}; }
  Json operator()(const ReverseComputeAt& s) const {
    return {{"step", "reverse_compute_at"}, {"block", s.block}, {"loop", s.loop}};
  }
  Json operator()(const Inline& s) const { return {{"step", "inline"}, {"block", s.block}}; }
  Json operator()(const Cache& s) const {
    return {{"step", "cache"}, {"buffer", s.buffer}, {"name", s.name}, {"loop", s.loop},
            {"scope", ir::name_of(s.scope)}, {"layout", layout_json(s.layout)}};
  }
  Json operator()(const Layout& s) const {
    return {{"step", "layout"}, {"buffer", s.buffer}, {"layout", layout_json(s.layout)}, {"pad_stride", s.pad_stride}};
  }
  Json operator()(const Rfactor& s) const {
    return {{"step", "rfactor"}, {"block", s.block}, {"loop", s.loop}, {"name", s.name}};
  }
  Json operator()(const Tensorize& s) const {
    return {{"step", "tensorize"}, {"loop", s.loop}, {"intrinsic", s.intrinsic}};
  }
  Json operator()(const Annotate& s) const {
    switch (s.what) {
      case Annotate::What::kKind: return {{"step", "annotate"}, {"loop", s.loop}, {"kind", ir::name_of(s.kind)}};
      case Annotate::What::kTail: return {{"step", "annotate"}, {"loop", s.loop}, {"tail", ir::name_of(s.tail)}};
      case Annotate::What::kPrefetch: break;
    }
    return {{"step", "annotate"}, {"loop", s.loop}, {"prefetch", s.buffer}, {"bytes", number(s.bytes)}};
  }
};

// Reading.
template <class Enum>
Result<Enum> named(const std::string& name, int count, const char* what) {
  for (int i = 0; i < count; ++i)
    if (name == ir::name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
  std::string known;
  for (int i = 0; i < count; ++i) known += (i ? ", " : "") + std::string(ir::name_of(static_cast<Enum>(i)));
  return fail(ErrorKind::kInvalidArgument, "\"{}\" is no {}; known are {}", name, what, known);
}
constexpr int kTails = 4, kScopes = 7;

Result<ir::Tail> tail_of(const Json& j) { return named<ir::Tail>(LATHE_TRY(json_string(j, "tail")), kTails, "tail mode"); }

Result<std::vector<std::string>> names_of(const Json& j, const char* member) {
  const Json list = LATHE_TRY(json_array(j, member));
  std::vector<std::string> out;
  for (const Json& name : list) {
    if (!name.is_string()) return fail(ErrorKind::kInvalidArgument, "\"{}\" must be a list of names", member);
    out.push_back(name.get<std::string>());
  }
  return out;
}

Result<std::vector<LayoutItem>> layout_of(const Json& j) {
  const Json list = LATHE_TRY(json_array(j, "layout"));
  std::vector<LayoutItem> out;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_integer() || !item[1].is_number_integer() ||
        item[0].get<std::int64_t>() < 0 || item[0].get<std::int64_t>() > 1'000)
      return fail(ErrorKind::kInvalidArgument, "\"layout\" must be a list of pairs [dimension, weight]");
    out.push_back({item[0].get<int>(), item[1].get<std::int64_t>()});
  }
  return out;
}

Result<Step> read_split(const Json& j) {
  return Split{LATHE_TRY(json_string(j, "loop")), LATHE_TRY(json_int(j, "factor")), LATHE_TRY(json_string(j, "outer")),
               LATHE_TRY(json_string(j, "inner")), LATHE_TRY(tail_of(j))};
}
Result<Step> read_fuse(const Json& j) {
  return Fuse{LATHE_TRY(names_of(j, "loops")), LATHE_TRY(json_string(j, "fused"))};
}
Result<Step> read_reorder(const Json& j) { return Reorder{LATHE_TRY(names_of(j, "loops"))}; }
Result<Step> read_compute_at(const Json& j) {
  return ComputeAt{LATHE_TRY(json_string(j, "block")), LATHE_TRY(json_string(j, "loop"))};
}
Result<Step> read_reverse_compute_at(const Json& j) {
  return ReverseComputeAt{LATHE_TRY(json_string(j, "block")), LATHE_TRY(json_string(j, "loop"))};
}
Result<Step> read_inline(const Json& j) { return Inline{LATHE_TRY(json_string(j, "block"))}; }
Result<Step> read_cache(const Json& j) {
  const std::string scope = LATHE_TRY(json_string(j, "scope"));
  return Cache{LATHE_TRY(json_string(j, "buffer")), LATHE_TRY(json_string(j, "name")), LATHE_TRY(json_string(j, "loop")),
               LATHE_TRY(named<ir::Scope>(scope, kScopes, "scope")), LATHE_TRY(layout_of(j))};
}
Result<Step> read_layout(const Json& j) {
  return Layout{LATHE_TRY(json_string(j, "buffer")), LATHE_TRY(layout_of(j)), LATHE_TRY(json_int(j, "pad_stride"))};
}
Result<Step> read_rfactor(const Json& j) {
  return Rfactor{LATHE_TRY(json_string(j, "block")), LATHE_TRY(json_string(j, "loop")), LATHE_TRY(json_string(j, "name"))};
}
Result<Step> read_tensorize(const Json& j) {
  return Tensorize{LATHE_TRY(json_string(j, "loop")), LATHE_TRY(json_string(j, "intrinsic"))};
}
Result<Step> read_annotate(const Json& j) {
  Annotate a;
  a.loop = LATHE_TRY(json_string(j, "loop"));
  if (j.contains("kind")) {
    a.what = Annotate::What::kKind;
    a.kind = LATHE_TRY(named<ir::LoopKind>(LATHE_TRY(json_string(j, "kind")), ir::kLoopKinds, "loop kind"));
  } else if (j.contains("tail")) {
    a.what = Annotate::What::kTail;
    a.tail = LATHE_TRY(tail_of(j));
  } else {
    a.what = Annotate::What::kPrefetch;
    a.buffer = LATHE_TRY(json_string(j, "prefetch"));
    a.bytes = LATHE_TRY(json_int(j, "bytes"));
  }
  return a;
}

struct Reader {
  std::string_view name;
  Result<Step> (*read)(const Json&);
};
constexpr Reader kReaders[] = {
    {"split", read_split},     {"fuse", read_fuse},     {"reorder", read_reorder},
    {"compute_at", read_compute_at}, {"reverse_compute_at", read_reverse_compute_at},
    {"inline", read_inline},   {"cache", read_cache},   {"layout", read_layout},
    {"rfactor", read_rfactor}, {"tensorize", read_tensorize}, {"annotate", read_annotate},
};
static_assert(std::size(kReaders) == std::variant_size_v<Step>);

Result<Step> read_step(const Json& j) {
  if (!j.is_object()) return fail(ErrorKind::kInvalidArgument, "a step must be an object");
  const std::string name = LATHE_TRY(json_string(j, "step"));
  const auto* found = std::ranges::find(kReaders, name, &Reader::name);
  if (found != std::end(kReaders)) return found->read(j);
  std::string known;
  for (const Reader& r : kReaders) known += (known.empty() ? "" : ", ") + std::string(r.name);
  return fail(ErrorKind::kInvalidArgument, "\"{}\" is no step; known are {}", name, known);
}

}  // namespace

Json to_json(const Trace& trace) {
  Json out = Json::array();
  for (const Step& step : trace) out.push_back(std::visit(Writer{}, step));
  return out;
}

Result<Trace> trace_from_json(const Json& json) {
  if (!json.is_array()) return fail(ErrorKind::kInvalidArgument, "a trace must be a list of steps");
  Trace trace;
  for (std::size_t i = 0; i < json.size(); ++i) {
    Result<Step> step = read_step(json[i]);
    if (!step) {
      Error error = std::move(step).error();
      error.place = "step " + std::to_string(i);
      return std::unexpected(std::move(error));
    }
    trace.push_back(std::move(*step));
  }
  return trace;
}

}  // namespace lathe::schedule
