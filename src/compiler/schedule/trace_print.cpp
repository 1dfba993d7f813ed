#include <fmt/format.h>

#include "compiler/schedule/step.h"

namespace lathe::schedule {
namespace {

std::string text(const Size& size) {
  if (const auto* number = std::get_if<std::int64_t>(&size)) return std::to_string(*number);
  return fmt::format("size{}", static_cast<int>(std::get<ir::SizeId>(size)));
}

std::string text(const std::vector<LayoutItem>& layout) {
  std::string out = "(";
  for (std::size_t i = 0; i < layout.size(); ++i)
    out += fmt::format("{}{}/{}", i ? ", " : "", layout[i].dim, text(layout[i].weight));
  return out + ")";
}

struct Printer {
  std::string operator()(const Split& s) const {
    return fmt::format("split {} by {} into {}, {}, tail {}", s.loop, text(s.factor), s.outer,
                       s.inner, ir::name_of(s.tail));
  }
  std::string operator()(const Fuse& s) const {
    return fmt::format("fuse {} into {}", fmt::join(s.loops, ", "), s.fused);
  }
  std::string operator()(const Reorder& s) const {
    return fmt::format("reorder {}", fmt::join(s.loops, ", "));
  }
  std::string operator()(const ComputeAt& s) const {
    return fmt::format("compute {} at {}", s.block, s.loop);
  }
  std::string operator()(const ReverseComputeAt& s) const {
    return fmt::format("compute {} behind its producer at {}", s.block, s.loop);
  }
  std::string operator()(const Inline& s) const { return "inline " + s.block; }
  std::string operator()(const Cache& s) const {
    std::string out = fmt::format("cache {} as {} in {}", s.buffer, s.name, ir::name_of(s.scope));
    if (!s.loop.empty()) out += " at " + s.loop;
    if (!s.reader.empty()) out += " for " + s.reader;
    return s.layout.empty() ? out : out + ", layout " + text(s.layout);
  }
  std::string operator()(const Layout& s) const {
    std::string out = fmt::format("layout of {} is {}", s.buffer,
                                  s.layout.empty() ? "row-major" : text(s.layout));
    return s.pad_stride == 0 ? out : out + fmt::format(", rows padded by {}", s.pad_stride);
  }
  std::string operator()(const Rfactor& s) const {
    const std::string out = fmt::format("rfactor {} over {} into {}", s.block, s.loop, s.name);
    return s.dim < 0 ? out : out + fmt::format(", dimension {}", s.dim);
  }
  std::string operator()(const Tensorize& s) const {
    return fmt::format("tensorize {} by {}", s.loop, name_of(s.intrinsic));
  }
  std::string operator()(const Annotate& s) const {
    switch (s.what) {
      case Annotate::What::kKind: return fmt::format("{} {}", ir::name_of(s.kind), s.loop);
      case Annotate::What::kTail:
        return fmt::format("tail of {} is {}", s.loop, ir::name_of(s.tail));
      case Annotate::What::kPrefetch:
        return fmt::format("prefetch {} in {}, {} bytes ahead", s.buffer, s.loop, text(s.bytes));
    }
    return "annotate";
  }
};

}  // namespace

std::string print(const Step& step) { return std::visit(Printer{}, step); }

std::string print(const Trace& trace) {
  std::string out;
  for (const Step& step : trace) out += print(step) + "\n";
  return out;
}

}  // namespace lathe::schedule
