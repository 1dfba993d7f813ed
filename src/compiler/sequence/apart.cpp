#include "compiler/sequence/apart.h"

#include <algorithm>
#include <set>

#include "compiler/ir/flat/rename.h"
#include "compiler/ir/flat/touched.h"
#include "compiler/sequence/arena.h"

namespace lathe::sequence {
namespace {

// The program with these of its kernels, and with no buffers but theirs.
flat::Program only(const flat::Program& program, const std::vector<int>& kernels,
                   std::vector<int> flat::Program::* sequence) {
  flat::Program out = program;
  out.kernels.clear(), out.prepare.clear(), out.run.clear(), out.buffers.clear();
  const std::set<int> touched = flat::touched_buffers(program, kernels);
  flat::Renaming renaming;
  renaming.buffers.assign(program.buffers.size(), -1);
  for (const int buffer : touched) {
    renaming.buffers[static_cast<std::size_t>(buffer)] = static_cast<int>(out.buffers.size());
    out.buffers.push_back(program.buffers[static_cast<std::size_t>(buffer)]);
  }
  for (const int k : kernels) {
    (out.*sequence).push_back(static_cast<int>(out.kernels.size()));
    out.kernels.push_back(program.kernels[static_cast<std::size_t>(k)]);
  }
  flat::rename(out.kernels, renaming);
  return out;
}

}  // namespace

Result<Apart> apart(const flat::Program& program) {
  for (const flat::Border& input : program.inputs)
    if (input.constant)
      return fail(ErrorKind::kUnsupported,
                  "the input {} is constant and given by callers, so that its packed form cannot "
                  "stand in a file",
                  input.name);
  Apart out{only(program, program.run, &flat::Program::run),
            only(program, program.prepare, &flat::Program::prepare),
            {}};
  out.make.inputs.clear(), out.make.outputs.clear();
  flat::set_run(out.make, flat::seq({}));
  out.run.constant_bytes = flat::read_constant_bytes(out.run);
  for (flat::Buffer& buffer : out.run.buffers) {
    if (buffer.scope != flat::Scope::kLiteral || std::ssize(buffer.literal.bytes) < kLeastApart)
      continue;
    buffer.scope = flat::Scope::kConstant;
    buffer.slot = aligned(out.run.constant_bytes);
    out.run.constant_bytes = buffer.slot + aligned(std::ssize(buffer.literal.bytes));
    out.copies.push_back({buffer.slot, std::move(buffer.literal)});
    buffer.literal = {};
  }
  return out;
}

void Apart::copy_into(std::span<std::byte> constants) const {
  for (const Copy& copy : copies)
    std::ranges::copy(copy.data.bytes,
                      constants.subspan(static_cast<std::size_t>(copy.slot)).begin());
}

}  // namespace lathe::sequence
