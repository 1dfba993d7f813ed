#include "oracle/flat_eval.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ir/flat/rewrite.h"
#include "oracle/flat_machine.h"

namespace lathe::interp {
namespace {

using flat::Scope;

Area make_area(std::int64_t bytes, int granule, bool with_origins) {
  Area area;
  area.bytes.assign(static_cast<std::size_t>(bytes), std::byte{0xff});
  area.granule = granule;
  if (with_origins) area.origins.resize(static_cast<std::size_t>(bytes / granule + 1));
  return area;
}

int granule_of(const flat::Program& program, Scope scope) {
  int granule = 8;
  for (const flat::Buffer& b : program.buffers)
    if (b.scope == scope) granule = std::min(granule, size_of(b.dtype));
  return granule;
}

Area literal_area(const flat::Buffer& b) {
  Area area = make_area(b.size * size_of(b.dtype), 1, false);
  std::ranges::copy(b.literal.bytes, area.bytes.begin());
  return area;
}

// The index in Machine::areas where the areas of each kind begin.
struct Places {
  int constants, global, inputs, outputs;
};

int add(Machine& m, Area area) {
  m.areas.push_back(std::move(area));
  return static_cast<int>(m.areas.size()) - 1;
}

Places lay_out(Machine& m, std::span<const Bytes> inputs, int workers) {
  const flat::Program& p = m.program;
  Places at{};
  at.constants = add(m, make_area(p.constant_bytes, granule_of(p, Scope::kConstant), true));
  at.global = add(m, make_area(p.global_bytes, granule_of(p, Scope::kGlobal), true));
  m.region_area = add(m, make_area(p.shared_bytes, granule_of(p, Scope::kShared), true));
  at.inputs = static_cast<int>(m.areas.size());
  for (const Bytes& input : inputs) add(m, Area{.bytes = input});
  at.outputs = static_cast<int>(m.areas.size());
  for (const flat::Border& b : p.outputs)
    add(m, make_area(b.size * size_of(b.dtype), size_of(b.dtype), true));
  m.group_area = add(m, make_area(p.group_bytes, granule_of(p, Scope::kGroup), true));
  for (const flat::Kernel& kernel : p.kernels)
    workers = std::max(workers, static_cast<int>(kernel.grid.group_items()));
  for (int w = 0; w < workers; ++w) {
    m.worker_area.push_back(add(m, make_area(p.thread_bytes, granule_of(p, Scope::kThread), true)));
    m.areas.back().shared = false;
  }
  return at;
}

void place_buffers(Machine& m, const Places& at) {
  for (std::size_t i = 0; i < m.program.buffers.size(); ++i) {
    const flat::Buffer& b = m.program.buffers[i];
    int& area = m.buffer_area[i];
    switch (b.scope) {
      case Scope::kInput: area = at.inputs + static_cast<int>(b.slot); continue;
      case Scope::kOutput: area = at.outputs + static_cast<int>(b.slot); continue;
      case Scope::kLiteral: area = add(m, literal_area(b)); continue;
      case Scope::kConstant: area = at.constants; break;
      case Scope::kGlobal: area = at.global; break;
      case Scope::kShared: area = m.region_area; break;
      case Scope::kGroup: area = m.group_area; break;
      case Scope::kThread: break;
    }
    m.buffer_base[i] = b.slot;
  }
}

Status execute(Machine& m, const std::vector<int>& kernels) {
  for (const int k : kernels) {
    Translator translator(m.program, m);
    std::vector<Action> actions;
    const flat::Kernel& kernel = m.program.kernels[static_cast<std::size_t>(k)];
    actions.push_back(translator.translate(kernel.body));
    m.epoch = ++m.last_epoch;
    LATHE_TRY_STATUS(m.execute(actions, kernel.grid));
  }
  return {};
}

// Calls f(index, row-major position) for every element of the tensor.
template <class F>
void each_element(const flat::Border& border, F&& f) {
  const std::int64_t count = std::accumulate(border.shape.begin(), border.shape.end(),
                                             std::int64_t{1}, std::multiplies<>());
  std::vector<std::int64_t> index(border.shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    f(std::span<const std::int64_t>(index), i);
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < border.shape[d]) break;
      index[d] = 0;
    }
  }
}

FlatFault missing(FaultKind kind, const flat::Border& border, std::int64_t offset,
                  const Status& status) {
  return {.kind = kind,
          .place = "",
          .buffer = border.name,
          .index = offset,
          .message = status.error().message};
}

Status check_written(Machine& machine, const Area& area, const flat::Border& border) {
  Status status;
  each_element(border, [&](std::span<const std::int64_t> index, std::int64_t) {
    const std::int64_t offset = storage_offset(border, index);
    const Origin& t = area.origins[static_cast<std::size_t>(offset)];
    if (!status) return;
    if (t.writer == 0) {
      status = fail(ErrorKind::kRun, "element [{}] of output {} is never written",
                    fmt::join(index, ", "), border.name);
      machine.found = missing(FaultKind::kOther, border, offset, status);
    } else if (t.poison != 0) {
      status = fail(ErrorKind::kRun, "element [{}] of output {} depends on {}",
                    fmt::join(index, ", "), border.name, machine.explain(t.poison));
      machine.found = machine.described(machine.fault_of(t.poison, status.error().message));
    }
  });
  return status;
}

bool has_region(const flat::Program& program) {
  return std::ranges::any_of(program.kernels, [](const flat::Kernel& kernel) {
    return !kernel.grid.axes().empty() || (kernel.body->contents & flat::contents::kRegion) != 0;
  });
}

Result<std::vector<Bytes>> run_on(Machine& machine, std::span<const Bytes> inputs,
                                  const FlatOptions& options) {
  const flat::Program& program = machine.program;
  const Places at = lay_out(machine, inputs, options.workers);
  place_buffers(machine, at);
  LATHE_TRY_STATUS(execute(machine, program.prepare));
  machine.areas[static_cast<std::size_t>(at.global)].since = ++machine.last_epoch;
  LATHE_TRY_STATUS(execute(machine, program.run));
  std::vector<Bytes> outputs;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    Area& area = machine.areas[static_cast<std::size_t>(at.outputs) + i];
    LATHE_TRY_STATUS(check_written(machine, area, program.outputs[i]));
    outputs.push_back(std::move(area.bytes));
  }
  return outputs;
}

Result<std::vector<Bytes>> run_once(const flat::Program& program, std::span<const Bytes> inputs,
                                    const FlatOptions& options, bool reversed, FlatFault& fault) {
  Machine machine(program);
  machine.seed = options.seed;
  machine.reversed = reversed;
  machine.aligned_vectors = options.aligned_vectors;
  auto outputs = run_on(machine, inputs, options);
  if (!outputs) fault = machine.found;
  return outputs;
}

// Compares the elements, but not the padding.
Status check_order(const flat::Program& program, const std::vector<Bytes>& one,
                   const std::vector<Bytes>& two) {
  for (std::size_t t = 0; t < one.size(); ++t) {
    const flat::Border& border = program.outputs[t];
    const auto bytes = static_cast<std::size_t>(size_of(border.dtype));
    Status status;
    each_element(border, [&](std::span<const std::int64_t> index, std::int64_t) {
      const std::size_t at = static_cast<std::size_t>(storage_offset(border, index)) * bytes;
      if (status && std::memcmp(&one[t][at], &two[t][at], bytes) != 0)
        status =
            fail(ErrorKind::kRun,
                 "element [{}] of output {} depends on the order of a parallel loop's iterations",
                 fmt::join(index, ", "), border.name);
    });
    LATHE_TRY_STATUS(status);
  }
  return {};
}

}  // namespace

std::int64_t storage_offset(const flat::Border& border, std::span<const std::int64_t> index) {
  std::int64_t offset = 0;
  for (const tensor::LayoutDigit& digit : border.layout)
    offset += digit.offset(index[static_cast<std::size_t>(digit.dim)]);
  return offset;
}

Bytes to_storage(const flat::Border& border, std::span<const double> values) {
  const int bytes = size_of(border.dtype);
  Bytes storage(static_cast<std::size_t>(border.size * bytes), std::byte{0xff});
  each_element(border, [&](std::span<const std::int64_t> index, std::int64_t i) {
    store_element(border.dtype,
                  &storage.at(static_cast<std::size_t>(storage_offset(border, index) * bytes)),
                  values[static_cast<std::size_t>(i)]);
  });
  return storage;
}

std::vector<double> from_storage(const flat::Border& border, const Bytes& storage) {
  const int bytes = size_of(border.dtype);
  std::vector<double> values;
  each_element(border, [&](std::span<const std::int64_t> index, std::int64_t) {
    const auto at = static_cast<std::size_t>(storage_offset(border, index) * bytes);
    values.push_back(load_element(border.dtype, &storage.at(at)));
  });
  return values;
}

Result<std::vector<Bytes>> eval_flat(const flat::Program& program, std::span<const Bytes> inputs,
                                     const FlatOptions& options, FlatFault* fault) {
  if (options.verified) LATHE_TRY_STATUS(flat::verify(program));
  if (inputs.size() != program.inputs.size())
    return fail(ErrorKind::kInvalidArgument, "{} inputs are given, the program has {}",
                inputs.size(), program.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const flat::Border& border = program.inputs[i];
    const std::size_t wanted = static_cast<std::size_t>(border.size * size_of(border.dtype));
    if (inputs[i].size() != wanted)
      return fail(ErrorKind::kInvalidArgument, "input {} has {} bytes, not {}", border.name,
                  inputs[i].size(), wanted);
  }
  FlatFault found;
  FlatFault& to = fault != nullptr ? *fault : found;
  auto outputs = run_once(program, inputs, options, false, to);
  if (!outputs || !has_region(program)) return outputs;
  const auto again = LATHE_TRY(run_once(program, inputs, options, true, to));
  if (const Status same = check_order(program, *outputs, again); !same) {
    to = {.kind = FaultKind::kRace, .message = same.error().message};
    return std::unexpected(same.error());
  }
  return outputs;
}

}  // namespace lathe::interp
