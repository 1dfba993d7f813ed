#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/fake_cuda/arithmetic.h"
#include "support/fake_cuda/codes.h"
#include "support/fake_cuda/ptx.h"

namespace lathe::fake_cuda {
namespace {

// Generic addresses of a block's and a thread's own memory; others are the card's.
constexpr std::uint64_t kSharedBase = std::uint64_t{1} << 61, kLocalBase = std::uint64_t{1} << 62;
constexpr unsigned kWarp = 32;

struct Thread {
  std::vector<std::uint64_t> regs;
  std::vector<std::byte> local;
  std::array<unsigned, 3> id{};
  std::size_t pc = 0;
  enum { kRuns, kAtBarrier, kExchanges, kDone } state = kRuns;
};

class Block {
 public:
  Block(const Text& text, const Kernel& kernel, const Grid& grid,
        const std::vector<std::uint64_t>& arguments, const Memory& memory, std::int64_t most)
      : text_(text),
        kernel_(kernel),
        grid_(grid),
        arguments_(arguments),
        memory_(memory),
        left_(most > 0 ? most : std::numeric_limits<std::int64_t>::max()) {
    shared_.resize(
        static_cast<std::size_t>((kernel.shared_bytes + 15) / 16 * 16 + grid.dynamic_shared));
    threads_.resize(std::size_t{1} * grid.threads[0] * grid.threads[1] * grid.threads[2]);
  }

  // False: it stopped early.
  bool run(const std::array<unsigned, 3>& block) {
    block_ = block;
    std::ranges::fill(shared_, std::byte{0xcd});
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      const auto n = static_cast<unsigned>(i);
      thread.regs.assign(static_cast<std::size_t>(kernel_.registers), 0xcdcdcdcdcdcdcdcdU);
      thread.local.assign(static_cast<std::size_t>(kernel_.local_bytes), std::byte{0xcd});
      thread.id = {n % grid_.threads[0], n / grid_.threads[0] % grid_.threads[1],
                   n / grid_.threads[0] / grid_.threads[1]};
      thread.pc = 0;
      thread.state = Thread::kRuns;
    }
    while (turn()) {
    }
    return left_ > 0;
  }

 private:
  // Lets each thread run until it waits or ends. False: all have ended.
  bool turn() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      number_ = i;
      while (threads_[i].state == Thread::kRuns && --left_ > 0) step(threads_[i]);
    }
    if (left_ <= 0) return false;
    bool exchanged = false;
    for (std::size_t warp = 0; warp < threads_.size(); warp += kWarp) exchanged |= exchange(warp);
    if (exchanged) return true;
    bool waits = false, stuck = false;
    for (Thread& thread : threads_) {
      waits |= thread.state == Thread::kAtBarrier;
      stuck |= thread.state == Thread::kExchanges;
    }
    if (stuck) throw Fault{kLaunchFailed, "lanes wait for others that do not come"};
    for (Thread& thread : threads_)
      if (thread.state == Thread::kAtBarrier) thread.state = Thread::kRuns;
    return waits;
  }

  // Lanes of a warp at the same shuffle get each other's values, once all that run are there.
  bool exchange(std::size_t first) {
    const std::size_t last = std::min(first + kWarp, threads_.size());
    std::vector<Thread*> lanes;
    for (std::size_t i = first; i < last; ++i) {
      if (threads_[i].state == Thread::kDone) continue;
      if (threads_[i].state != Thread::kExchanges) return false;
      if (!lanes.empty() && lanes[0]->pc != threads_[i].pc)
        throw Fault{kLaunchFailed, "lanes of a warp are at different shuffles"};
      lanes.push_back(&threads_[i]);
    }
    if (lanes.empty()) return false;
    const Instruction& in = kernel_.body[lanes[0]->pc];
    std::vector<std::uint64_t> values(kWarp);
    for (std::size_t i = first; i < last; ++i) values[i - first] = get(threads_[i], in.operands[1]);
    for (std::size_t i = first; i < last; ++i) {
      Thread& thread = threads_[i];
      if (thread.state != Thread::kExchanges) continue;
      take_lane(thread, in, static_cast<unsigned>(i - first), values);
      ++thread.pc;
      thread.state = Thread::kRuns;
    }
    return true;
  }

  void take_lane(Thread& thread, const Instruction& in, unsigned lane,
                 const std::vector<std::uint64_t>& values) {
    const auto b = static_cast<unsigned>(get(thread, in.operands[2])) & 31U;
    const auto c = static_cast<unsigned>(get(thread, in.operands[3]));
    const unsigned clamp = c & 31U, segment = c >> 8U & 31U;
    const unsigned most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    unsigned from = lane;
    bool valid = true;
    if (in.has("up")) from = lane - b, valid = static_cast<int>(from) >= static_cast<int>(most);
    else if (in.has("down")) from = lane + b, valid = from <= most;
    else if (in.has("bfly")) from = lane ^ b, valid = from <= most;
    else from = least | (b & ~segment), valid = from <= most;
    if (!valid) from = lane;
    const Operand& to = in.operands[0];
    if (to.kind == Operand::kVector) {
      set(thread, to.parts[0], values[from]);
      set(thread, to.parts[1], valid ? 1 : 0);
    } else {
      set(thread, to, values[from]);
    }
  }

  std::uint64_t special(const Thread& thread, const std::string& name) const {
    const auto axis = [&](const std::array<unsigned, 3>& of) {
      return of[static_cast<std::size_t>(name.back() - 'x')];
    };
    if (name.starts_with("%tid.")) return axis(thread.id);
    if (name.starts_with("%ctaid.")) return axis(block_);
    if (name.starts_with("%ntid.")) return axis(grid_.threads);
    if (name.starts_with("%nctaid.")) return axis(grid_.blocks);
    if (name == "%laneid") return number_ % kWarp;
    if (name == "%warpid") return number_ / kWarp;
    if (name.starts_with("%clock") || name.starts_with("%globaltimer")) return ++clock_;
    throw Fault{kInvalidPtx, "unknown register " + name};
  }

  std::uint64_t get(const Thread& thread, const Operand& operand) const {
    switch (operand.kind) {
      case Operand::kReg: {
        const std::uint64_t value = thread.regs[static_cast<std::size_t>(operand.reg)];
        return operand.negated ? (value & 1U) ^ 1U : value;
      }
      case Operand::kImmediate:
        return operand.name.empty()
                   ? operand.value
                   : operand.value + reinterpret_cast<std::uintptr_t>(text_.globals.data());
      case Operand::kSpecial: return special(thread, operand.name);
      default: return 0;
    }
  }
  void set(Thread& thread, const Operand& operand, std::uint64_t value) {
    if (operand.kind == Operand::kReg) thread.regs[static_cast<std::size_t>(operand.reg)] = value;
  }

  static std::byte* within(std::vector<std::byte>& bytes, std::uint64_t at, std::int64_t count) {
    if (at + static_cast<std::uint64_t>(count) > bytes.size())
      throw Fault{kIllegalAddress, "an access outside of a block's or a thread's own memory"};
    return bytes.data() + at;
  }

  // Where an access of an instruction goes.
  std::byte* place(Thread& thread, const Instruction& in, const Operand& operand,
                   std::int64_t bytes) {
    std::uint64_t at = operand.value;
    if (operand.reg >= 0) at += thread.regs[static_cast<std::size_t>(operand.reg)];
    if (in.space == Instruction::kShared && in.code != kCopyAsync)
      at = (at & 0xffffffffU) | kSharedBase;
    if (in.space == Instruction::kLocal) at = (at & 0xffffffffU) | kLocalBase;
    if (!operand.name.empty()) at += reinterpret_cast<std::uintptr_t>(text_.globals.data());
    return place_at(thread, at, bytes);
  }
  std::byte* place_at(Thread& thread, std::uint64_t at, std::int64_t bytes) {
    if (at % static_cast<std::uint64_t>(bytes) != 0)
      throw Fault{kMisaligned, "an access that is not aligned"};
    if ((at & kLocalBase) != 0) return within(thread.local, at - kLocalBase, bytes);
    if ((at & kSharedBase) != 0) return within(shared_, at - kSharedBase, bytes);
    const auto globals = reinterpret_cast<std::uintptr_t>(text_.globals.data());
    if (at >= globals && at + static_cast<std::uint64_t>(bytes) <= globals + text_.globals.size())
      return reinterpret_cast<std::byte*>(at);
    std::byte* const found = memory_(at, bytes);
    if (found == nullptr) throw Fault{kIllegalAddress, "an access outside of what was allocated"};
    return found;
  }

  void load(Thread& thread, const Instruction& in) {
    const Type type = in.types[0];
    const int bytes = size_of(type);
    const Operand& to = in.operands[0];
    const auto* const parts = to.kind == Operand::kVector ? &to.parts : nullptr;
    const std::size_t count = parts != nullptr ? parts->size() : 1;
    const Operand& from = in.operands[1];
    const std::byte* at = nullptr;
    if (in.space == Instruction::kParameter) {
      const auto parameter = std::ranges::find(kernel_.parameters, from.name);
      at = reinterpret_cast<const std::byte*>(
               &arguments_[static_cast<std::size_t>(parameter - kernel_.parameters.begin())]) +
           from.value;
    } else at = place(thread, in, from, static_cast<std::int64_t>(count) * bytes);
    for (std::size_t i = 0; i < count; ++i, at += bytes) {
      std::uint64_t value = 0;
      std::memcpy(&value, at, static_cast<std::size_t>(bytes));
      if (type == Type::kS8 || type == Type::kS16 || type == Type::kS32)
        value = with_type(type, [&](auto t) -> std::uint64_t {
          return static_cast<std::uint64_t>(static_cast<std::int64_t>(as<decltype(t)>(value)));
        });
      set(thread, parts != nullptr ? (*parts)[i] : to, value);
    }
  }

  void store(Thread& thread, const Instruction& in) {
    const int bytes = size_of(in.types[0]);
    const Operand& from = in.operands[1];
    const std::size_t count = from.kind == Operand::kVector ? from.parts.size() : 1;
    std::byte* at = place(thread, in, in.operands[0], static_cast<std::int64_t>(count) * bytes);
    for (std::size_t i = 0; i < count; ++i, at += bytes) {
      const std::uint64_t value = get(thread, from.kind == Operand::kVector ? from.parts[i] : from);
      std::memcpy(at, &value, static_cast<std::size_t>(bytes));
    }
  }

  void move(Thread& thread, const Instruction& in) {
    const Operand &to = in.operands[0], &from = in.operands[1];
    const int bytes = size_of(in.types[0]);
    if (to.kind == Operand::kVector) {
      const unsigned bits =
          8U * static_cast<unsigned>(bytes) / static_cast<unsigned>(to.parts.size());
      const std::uint64_t value = get(thread, from);
      const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
      for (std::size_t i = 0; i < to.parts.size(); ++i)
        set(thread, to.parts[i], value >> (i * bits) & mask);
    } else if (from.kind == Operand::kVector) {
      const unsigned bits =
          8U * static_cast<unsigned>(bytes) / static_cast<unsigned>(from.parts.size());
      const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
      std::uint64_t value = 0;
      for (std::size_t i = 0; i < from.parts.size(); ++i)
        value |= (get(thread, from.parts[i]) & mask) << (i * bits);
      set(thread, to, value);
    } else {
      set(thread, to, get(thread, from));
    }
  }

  void compare(Thread& thread, const Instruction& in) {
    const std::uint64_t x = get(thread, in.operands[1]), y = get(thread, in.operands[2]);
    bool result = compares(in, x, y);
    bool other = !result;
    if (in.operands.size() > 3) {
      const bool third = (get(thread, in.operands[3]) & 1U) != 0;
      const auto joined = [&](bool value) {
        if (in.has("and")) return value && third;
        return in.has("or") ? value || third : value != third;
      };
      result = joined(result);
      other = joined(other);
    }
    const Operand& to = in.operands[0];
    if (to.kind == Operand::kVector) {
      set(thread, to.parts[0], result ? 1 : 0);
      set(thread, to.parts[1], other ? 1 : 0);
    } else {
      set(thread, to, result ? 1 : 0);
    }
  }

  void copy(Thread& thread, const Instruction& in) {
    if (!in.has("shared") && !in.has("shared::cta")) return;  // commit and wait
    const auto bytes = static_cast<std::int64_t>(get(thread, in.operands[2]));
    const auto from = static_cast<std::int64_t>(
        in.operands.size() > 3 ? get(thread, in.operands[3]) : static_cast<std::uint64_t>(bytes));
    Operand to = in.operands[0];
    std::uint64_t at = to.value;
    if (to.reg >= 0) at += thread.regs[static_cast<std::size_t>(to.reg)] & 0xffffffffU;
    std::byte* const target = place_at(thread, (at & 0xffffffffU) | kSharedBase, bytes);
    std::memset(target, 0, static_cast<std::size_t>(bytes));
    if (from > 0)
      std::memcpy(target, place(thread, in, in.operands[1], bytes), static_cast<std::size_t>(from));
  }

  void atomic(Thread& thread, const Instruction& in) {
    const bool returns = in.op == "atom";
    const Operand& where = in.operands[returns ? 1 : 0];
    const Type type = in.types[0];
    std::byte* const at = place(thread, in, where, size_of(type));
    std::uint64_t old = 0;
    std::memcpy(&old, at, static_cast<std::size_t>(size_of(type)));
    Instruction sum = in;
    sum.code = in.has("max") ? kMax : in.has("min") ? kMin : kAdd;
    const std::uint64_t now = binary(sum, type, old, get(thread, in.operands[returns ? 2 : 1]));
    std::memcpy(at, &now, static_cast<std::size_t>(size_of(type)));
    if (returns) set(thread, in.operands[0], old);
  }

  void step(Thread& thread) {
    if (thread.pc >= kernel_.body.size()) {
      thread.state = Thread::kDone;
      return;
    }
    const Instruction& in = kernel_.body[thread.pc];
    if (in.guard >= 0) {
      const bool holds = (thread.regs[static_cast<std::size_t>(in.guard)] & 1U) != 0;
      if (holds == in.guard_negated) {
        ++thread.pc;
        return;
      }
    }
    switch (in.code) {
      case kBra: thread.pc = static_cast<std::size_t>(in.target); return;
      case kRet: thread.state = Thread::kDone; return;
      case kShfl: thread.state = Thread::kExchanges; return;
      case kBar:
        if (!in.has("warp")) thread.state = Thread::kAtBarrier;
        break;
      default: execute(thread, in); break;
    }
    ++thread.pc;
  }

  void execute(Thread& thread, const Instruction& in) {
    const auto operand = [&](std::size_t i) { return get(thread, in.operands[i]); };
    const auto result = [&](std::uint64_t value) { set(thread, in.operands[0], value); };
    switch (in.code) {
      case kFma:
      case kMad: return result(fused(in, operand(1), operand(2), operand(3)));
      case kLoad: return load(thread, in);
      case kStore: return store(thread, in);
      case kMove: return move(thread, in);
      case kConvert: return result(converted(in, operand(1)));
      case kToSpace: return to_space(thread, in);
      case kAdd:
      case kSub:
      case kMul:
      case kDiv:
      case kRem:
      case kMin:
      case kMax: return result(binary(in, in.types[0], operand(1), operand(2)));
      case kAnd: return result(operand(1) & operand(2));
      case kOr: return result(operand(1) | operand(2));
      case kXor: return result(operand(1) ^ operand(2));
      case kShl:
      case kShr: return result(shifted(in, operand(1), operand(2)));
      case kSetp: return compare(thread, in);
      case kSelp: return result((operand(3) & 1U) != 0 ? operand(1) : operand(2));
      case kBfe:
      case kBfi:
      case kPrmt:
      case kShf: {
        std::array<std::uint64_t, 4> operands{};
        for (std::size_t i = 1; i < std::min<std::size_t>(in.operands.size(), 5); ++i)
          operands[i - 1] = operand(i);
        return result(of_bits(in, operands));
      }
      case kCopysign: {
        const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(in.types[0]) - 1);
        return result((operand(2) & ~sign) | (operand(1) & sign));
      }
      case kTestp: {
        const double value = real_of(in.types[0], operand(1));
        const bool yes = in.has("notanumber") ? std::isnan(value)
                         : in.has("infinite") ? std::isinf(value)
                                              : std::isfinite(value);
        return result(yes ? 1 : 0);
      }
      case kCopyAsync: return copy(thread, in);
      case kAtom: return atomic(thread, in);
      case kNothing: return;
      default: return result(unary(in, operand(1)));
    }
  }

  void to_space(Thread& thread, const Instruction& in) {
    std::uint64_t value = get(thread, in.operands[1]);
    const bool back = in.has("to");
    if (in.has("shared")) value = back ? value & ~kSharedBase : value | kSharedBase;
    if (in.has("local")) value = back ? value & ~kLocalBase : value | kLocalBase;
    set(thread, in.operands[0], value);
  }

  const Text& text_;
  const Kernel& kernel_;
  const Grid& grid_;
  const std::vector<std::uint64_t>& arguments_;
  const Memory& memory_;
  std::array<unsigned, 3> block_{};
  std::vector<std::byte> shared_;
  std::vector<Thread> threads_;
  std::size_t number_ = 0;  // of the thread that runs
  std::int64_t left_;       // instructions
  mutable std::uint64_t clock_ = 0;
};

}  // namespace

void run_kernel(const Text& text, const Kernel& kernel, const Grid& grid,
                const std::vector<std::uint64_t>& arguments, const Memory& memory,
                std::int64_t most) {
  Block block(text, kernel, grid, arguments, memory, most);
  for (unsigned z = 0; z < grid.blocks[2]; ++z)
    for (unsigned y = 0; y < grid.blocks[1]; ++y)
      for (unsigned x = 0; x < grid.blocks[0]; ++x)
        if (!block.run({x, y, z})) return;
}

}  // namespace lathe::fake_cuda
