#include "oracle/flat_parts.h"

#include <functional>

#include "compiler/ir/flat/rewrite.h"

namespace lathe::interp {
namespace {

using flat::Expr;
using flat::Stmt;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15U + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdU;
  return a ^ (a >> 32);
}
std::uint64_t mixed(std::uint64_t a, std::int64_t b) {
  return mixed(a, static_cast<std::uint64_t>(b));
}

// What the node itself does to its operands.
std::uint64_t kind_of(const Expr& e) {
  const std::uint64_t kind = mixed(e->value.index(), static_cast<std::uint64_t>(e->type.dtype));
  const auto with = [&](auto op) { return mixed(kind, static_cast<std::uint64_t>(op)); };
  if (const auto* u = std::get_if<flat::Unary>(&e->value)) return with(u->op);
  if (const auto* b = std::get_if<flat::Binary>(&e->value)) return with(b->op);
  if (const auto* r = std::get_if<flat::Reduce>(&e->value)) return with(r->op);
  if (const auto* f = std::get_if<flat::FloatImm>(&e->value))
    return with(std::hash<double>()(f->value));
  return kind;
}

template <class F>
void each_write(const Stmt& s, const F& f) {
  if (std::holds_alternative<flat::Store>(s->value) ||
      std::holds_alternative<flat::RegWrite>(s->value))
    f(s);
  flat::each_part(*s, [](const Expr&) {}, [&](const Stmt& inner) { each_write(inner, f); });
}

void add_regs(const Expr& e, std::set<int>& regs) {
  if (const auto* reg = std::get_if<flat::RegRead>(&e->value)) regs.insert(reg->reg);
  flat::each_operand(*e, [&](const Expr& x) { add_regs(x, regs); });
}

// The element of a lane of an index.
std::int64_t element(const Lanes& index, std::size_t lane) {
  return index.size() > 1 ? index[lane] : index[0] + static_cast<std::int64_t>(lane);
}

}  // namespace

void PartRecorder::begin_phase(const Stmt& body) {
  stored_.clear();
  computed_regs_.clear();
  find_stored(body);
  std::size_t before = 0;
  do {
    before = computed_regs_.size();
    find_computed(body);
  } while (before != computed_regs_.size());
  computed_.clear();
  for (const int buffer : stored_)
    if (program_.buffers[static_cast<std::size_t>(buffer)].scope != flat::Scope::kOutput)
      find_regs_of(buffer, body);
}

void PartRecorder::find_stored(const Stmt& body) {
  each_write(body, [&](const Stmt& s) {
    if (const auto* store = std::get_if<flat::Store>(&s->value)) stored_.insert(store->buffer);
  });
}

void PartRecorder::find_computed(const Stmt& body) {
  each_write(body, [&](const Stmt& s) {
    const auto* write = std::get_if<flat::RegWrite>(&s->value);
    if (write != nullptr && computes(write->value)) computed_regs_.insert(write->reg);
  });
}

void PartRecorder::find_regs_of(int buffer, const Stmt& body) {
  std::set<int> regs;
  bool any = false;
  std::size_t before = 0;
  do {
    before = regs.size();
    each_write(body, [&](const Stmt& s) {
      const auto* store = std::get_if<flat::Store>(&s->value);
      const auto* write = std::get_if<flat::RegWrite>(&s->value);
      if (store != nullptr && store->buffer == buffer) {
        any = any || computes(store->value);
        add_regs(store->value, regs);
      }
      if (write != nullptr && regs.contains(write->reg)) add_regs(write->value, regs);
    });
  } while (before != regs.size());
  if (any) computed_[buffer] = std::move(regs);
}

bool PartRecorder::computes(const Expr& e) {
  if (!indices_.reads_data(e)) return false;
  if (const auto* reg = std::get_if<flat::RegRead>(&e->value))
    return computed_regs_.contains(reg->reg);
  if (const auto* load = std::get_if<flat::Load>(&e->value))
    return indices_.reads_data(load->index) || (load->mask && indices_.reads_data(load->mask));
  if (const auto* choice = std::get_if<flat::Select>(&e->value))
    return indices_.reads_data(choice->condition) || computes(choice->then) ||
           computes(choice->otherwise);
  bool inside = !is_one_of<flat::Cast, flat::Bitcast, flat::Broadcast>(e);
  flat::each_operand(*e, [&](const Expr& x) { inside = inside || computes(x); });
  return inside;
}

// Of a value that computes nothing.
PartRecorder::Origins PartRecorder::origins(const Expr& e) {
  const auto n = static_cast<std::size_t>(e->type.lanes);
  Origins out(n);
  if (!indices_.reads_data(e)) return out;
  if (const auto* reg = std::get_if<flat::RegRead>(&e->value)) {
    regs_[reg->reg].resize(n);
    return regs_[reg->reg];
  }
  if (const auto* load = std::get_if<flat::Load>(&e->value)) {
    const Lanes index = indices_.lanes(load->index),
                mask = load->mask ? indices_.lanes(load->mask) : Lanes(n, 1);
    for (std::size_t l = 0; l < n; ++l)
      if (mask[l] != 0 && !stored_.contains(load->buffer))
        out[l] = {load->buffer, element(index, l)};
    return out;
  }
  if (const auto* choice = std::get_if<flat::Select>(&e->value)) {
    const Lanes c = indices_.lanes(choice->condition);
    const Origins t = origins(choice->then), o = origins(choice->otherwise);
    for (std::size_t l = 0; l < n; ++l) out[l] = c[c.size() == 1 ? 0 : l] != 0 ? t[l] : o[l];
    return out;
  }
  Origins inner;
  flat::each_operand(*e, [&](const Expr& x) { inner = origins(x); });
  return is_one_of<flat::Broadcast>(e) ? Origins(n, inner[0]) : inner;
}

PartRecorder::Numbers PartRecorder::numbers(const Expr& e) {
  if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
  Numbers out = fresh_numbers(e);
  known_.emplace(e.get(), out);
  return out;
}

PartRecorder::Numbers PartRecorder::loaded(const Expr& e, const flat::Load& load) {
  Numbers out(static_cast<std::size_t>(e->type.lanes), kind_of(e));
  const Lanes index = indices_.lanes(load.index),
              mask = load.mask ? indices_.lanes(load.mask) : Lanes(out.size(), 1);
  for (std::size_t l = 0; l < out.size(); ++l) {
    if (mask[l] == 0) continue;
    const std::pair at(load.buffer, element(index, l));
    const auto written = local_.find(at);
    out[l] = written != local_.end()
                 ? written->second
                 : mixed(mixed(std::uint64_t{77}, std::int64_t{at.first}), at.second);
  }
  return out;
}

PartRecorder::Numbers PartRecorder::fresh_numbers(const Expr& e) {
  const auto n = static_cast<std::size_t>(e->type.lanes);
  Numbers out(n, kind_of(e));
  if (!indices_.reads_data(e) && !indices_.has_real(e)) {
    const Lanes values = indices_.lanes(e);
    for (std::size_t l = 0; l < n; ++l) out[l] = mixed(std::uint64_t{5}, values[l]);
    return out;
  }
  if (const auto* reg = std::get_if<flat::RegRead>(&e->value)) {
    reg_numbers_[reg->reg].resize(n);
    return reg_numbers_[reg->reg];
  }
  if (const auto* load = std::get_if<flat::Load>(&e->value)) return loaded(e, *load);
  if (const auto* slide = std::get_if<flat::Slide>(&e->value)) {
    const Numbers in = numbers(slide->x), fill = numbers(slide->fill);
    for (std::size_t l = 0; l < n; ++l) {
      const std::size_t from = l + static_cast<std::size_t>(slide->from);
      out[l] = from < in.size() ? in[from] : fill[0];
    }
    return out;
  }
  flat::each_operand(*e, [&](const Expr& x) {
    const Numbers in = numbers(x);
    for (std::size_t l = 0; l < n; ++l)
      if (n == 1)
        for (const std::uint64_t each : in) out[l] = mixed(out[l], each);
      else out[l] = mixed(out[l], in[in.size() == 1 ? 0 : l]);
  });
  return out;
}

void PartRecorder::copy(const Stmt& s, CountedPart& part) {
  if (const auto* write = std::get_if<flat::RegWrite>(&s->value)) {
    if (!computed_regs_.contains(write->reg)) regs_[write->reg] = origins(write->value);
    return;
  }
  const auto& store = std::get<flat::Store>(s->value);
  if (computes(store.value)) return;
  const Origins from = origins(store.value);
  const Lanes mask = store.mask ? indices_.lanes(store.mask) : Lanes(from.size(), 1);
  for (std::size_t l = 0; l < from.size(); ++l)
    if (mask[l] != 0 && from[l].buffer >= 0)
      part.copied[{from[l].buffer, store.buffer}].insert(from[l].element);
}

void PartRecorder::compute(const Stmt& s, const Counted& work, CountedPart& part) {
  known_.clear();
  const auto* write = std::get_if<flat::RegWrite>(&s->value);
  const auto* store = std::get_if<flat::Store>(&s->value);
  for (const auto& [buffer, regs] : computed_) {
    if (store != nullptr ? store->buffer != buffer : !regs.contains(write->reg)) continue;
    Counted& sum = part.computed[buffer].work;
    sum.operations += work.operations;
    sum.multiply_adds += work.multiply_adds;
    sum.bytes += work.bytes;
  }
  if (write != nullptr) {
    reg_numbers_[write->reg] = numbers(write->value);
    return;
  }
  const Numbers values = numbers(store->value);
  const Lanes index = indices_.lanes(store->index),
              mask = store->mask ? indices_.lanes(store->mask) : Lanes(values.size(), 1);
  for (std::size_t l = 0; l < values.size(); ++l) {
    if (mask[l] == 0) continue;
    local_[{store->buffer, element(index, l)}] = values[l];
    if (computed_.contains(store->buffer))
      part.computed[store->buffer].values[element(index, l)] = values[l];
  }
}

void PartRecorder::add(const Stmt& s, const Counted& work, CountedPart& part) {
  copy(s, part);
  compute(s, work, part);
}

}  // namespace lathe::interp
