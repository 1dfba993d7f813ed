#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "support/fake_cuda/ptx.h"

namespace lathe::fake_cuda {
namespace {

// Generic addresses of a block's and a thread's own memory; others are the card's.
constexpr std::uint64_t kSharedBase = std::uint64_t{1} << 61, kLocalBase = std::uint64_t{1} << 62;
constexpr unsigned kWarp = 32;

enum Code : int {
  kLoad,
  kStore,
  kMove,
  kConvert,
  kToSpace,
  kAdd,
  kSub,
  kMul,
  kMad,
  kFma,
  kDiv,
  kRem,
  kNeg,
  kAbs,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kNot,
  kShl,
  kShr,
  kSetp,
  kSelp,
  kBra,
  kBar,
  kRet,
  kEx2,
  kLg2,
  kRcp,
  kSqrt,
  kRsqrt,
  kSin,
  kCos,
  kTanh,
  kBfe,
  kBfi,
  kPrmt,
  kPopc,
  kClz,
  kBrev,
  kShfl,
  kCopysign,
  kTestp,
  kCopyAsync,
  kNothing,
  kAtom,
  kShf,
  kCnot
};

constexpr std::pair<const char*, Code> kCodes[] = {{"ld", kLoad},
                                                   {"ldu", kLoad},
                                                   {"st", kStore},
                                                   {"mov", kMove},
                                                   {"cvt", kConvert},
                                                   {"cvta", kToSpace},
                                                   {"add", kAdd},
                                                   {"sub", kSub},
                                                   {"mul", kMul},
                                                   {"mul24", kMul},
                                                   {"mad", kMad},
                                                   {"fma", kFma},
                                                   {"div", kDiv},
                                                   {"rem", kRem},
                                                   {"neg", kNeg},
                                                   {"abs", kAbs},
                                                   {"min", kMin},
                                                   {"max", kMax},
                                                   {"and", kAnd},
                                                   {"or", kOr},
                                                   {"xor", kXor},
                                                   {"not", kNot},
                                                   {"cnot", kCnot},
                                                   {"shl", kShl},
                                                   {"shr", kShr},
                                                   {"setp", kSetp},
                                                   {"selp", kSelp},
                                                   {"bra", kBra},
                                                   {"bar", kBar},
                                                   {"barrier", kBar},
                                                   {"ret", kRet},
                                                   {"exit", kRet},
                                                   {"ex2", kEx2},
                                                   {"lg2", kLg2},
                                                   {"rcp", kRcp},
                                                   {"sqrt", kSqrt},
                                                   {"rsqrt", kRsqrt},
                                                   {"sin", kSin},
                                                   {"cos", kCos},
                                                   {"tanh", kTanh},
                                                   {"bfe", kBfe},
                                                   {"bfi", kBfi},
                                                   {"prmt", kPrmt},
                                                   {"popc", kPopc},
                                                   {"clz", kClz},
                                                   {"brev", kBrev},
                                                   {"shfl", kShfl},
                                                   {"copysign", kCopysign},
                                                   {"testp", kTestp},
                                                   {"membar", kNothing},
                                                   {"fence", kNothing},
                                                   {"prefetch", kNothing},
                                                   {"griddepcontrol", kNothing},
                                                   {"atom", kAtom},
                                                   {"red", kAtom},
                                                   {"shf", kShf}};

template <class T>
T as(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

float from_bf16(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0xffff) << 16);
}
std::uint64_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return (bits >> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) & 0xffff;
}

struct Thread {
  std::vector<std::uint64_t> regs;
  std::vector<std::byte> local;
  std::array<unsigned, 3> id{};
  std::size_t pc = 0;
  enum { kRuns, kAtBarrier, kExchanges, kDone } state = kRuns;
};

// Calls f with a value of the type; integers of 8 to 64 bits, f32 and f64.
template <class F>
auto with_type(Type type, const F& f) {
  switch (type) {
    case Type::kS8: return f(std::int8_t{});
    case Type::kU8:
    case Type::kB8:
    case Type::kPred: return f(std::uint8_t{});
    case Type::kS16: return f(std::int16_t{});
    case Type::kU16:
    case Type::kB16:
    case Type::kF16:
    case Type::kBf16: return f(std::uint16_t{});
    case Type::kS32: return f(std::int32_t{});
    case Type::kU32:
    case Type::kB32: return f(std::uint32_t{});
    case Type::kS64: return f(std::int64_t{});
    case Type::kU64:
    case Type::kB64: return f(std::uint64_t{});
    case Type::kF32: return f(float{});
    case Type::kF64: break;
  }
  return f(double{});
}

bool is_half(Type type) { return type == Type::kF16 || type == Type::kBf16; }

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

  static double real_of(Type type, std::uint64_t bits) {
    if (type == Type::kF64) return as<double>(bits);
    if (type == Type::kF32) return as<float>(bits);
    if (type == Type::kF16) return static_cast<double>(static_cast<float>(as<_Float16>(bits)));
    return from_bf16(bits);
  }
  static bool is_real(Type type) {
    return type == Type::kF64 || type == Type::kF32 || is_half(type);
  }
  static double rounded(const Instruction& in, double value) {
    if (in.has("rni")) return std::nearbyint(value);
    if (in.has("rzi")) return std::trunc(value);
    if (in.has("rmi")) return std::floor(value);
    if (in.has("rpi")) return std::ceil(value);
    return value;
  }
  static std::uint64_t real_bits(Type type, double value) {
    if (type == Type::kF64) return bits_of(value);
    if (type == Type::kF32) return bits_of(static_cast<float>(value));
    if (type == Type::kF16) return bits_of(static_cast<_Float16>(value));
    return to_bf16(static_cast<float>(value));
  }

  void convert(Thread& thread, const Instruction& in) {
    const Type to = in.types[0], from = in.types[1];
    const std::uint64_t value = get(thread, in.operands[1]);
    std::uint64_t out = 0;
    if (is_real(from)) {
      double real = rounded(in, real_of(from, value));
      if (in.has("sat")) real = std::isnan(real) ? 0 : std::clamp(real, 0.0, 1.0);
      out = is_real(to) ? real_bits(to, real) : whole_of(to, real);
    } else {
      out = with_type(from, [&](auto t) -> std::uint64_t {
        using From = decltype(t);
        const From whole = as<From>(value);
        if (to == Type::kF32) return bits_of(static_cast<float>(whole));
        if (is_real(to)) return real_bits(to, static_cast<double>(whole));
        return static_cast<std::uint64_t>(whole);
      });
      if (!is_real(to) && size_of(to) < 8)
        out = with_type(to, [&](auto t) -> std::uint64_t {
          return static_cast<std::uint64_t>(static_cast<std::int64_t>(as<decltype(t)>(out)));
        });
    }
    set(thread, in.operands[0], out);
  }

  // As the card does it: what is too large becomes the largest, NaN becomes nothing.
  static std::uint64_t whole_of(Type type, double value) {
    return with_type(type, [&](auto t) -> std::uint64_t {
      using To = decltype(t);
      if constexpr (std::is_integral_v<To>) {
        using Limits = std::numeric_limits<To>;
        if (std::isnan(value)) return 0;
        if (value <= static_cast<double>(Limits::min()))
          return static_cast<std::uint64_t>(static_cast<std::int64_t>(Limits::min()));
        if (value >= static_cast<double>(Limits::max()))
          return static_cast<std::uint64_t>(Limits::max());
        return static_cast<std::uint64_t>(static_cast<To>(value));
      }
      return 0;
    });
  }

  template <class T>
  static T combine(const Instruction& in, T a, T b) {
    using U = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                 std::type_identity<T>>::type;
    switch (in.code) {
      case kAdd: return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
      case kSub: return static_cast<T>(static_cast<U>(static_cast<U>(a) - static_cast<U>(b)));
      case kMul:
        if constexpr (std::is_integral_v<T>)
          return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        else return a * b;
      case kDiv:
        if constexpr (std::is_integral_v<T>) {
          if (b == 0) return static_cast<T>(-1);
          if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(U{0} - U(a));
        }
        return static_cast<T>(a / b);
      case kRem:
        if constexpr (std::is_integral_v<T>) {
          if (b == 0) return a;
          if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
          return static_cast<T>(a % b);
        }
        return a;
      case kMin:
      case kMax:
        if constexpr (std::is_floating_point_v<T>) {
          if (in.has("NaN") && (std::isnan(a) || std::isnan(b)))
            return std::numeric_limits<T>::quiet_NaN();
          // A zero with its sign counts.
          if (a == b) return (in.code == kMin) == std::signbit(a) ? a : b;
          return in.code == kMin ? std::fmin(a, b) : std::fmax(a, b);
        } else {
          return in.code == kMin ? std::min(a, b) : std::max(a, b);
        }
      default: return a;
    }
  }

  std::uint64_t binary(const Instruction& in, Type type, std::uint64_t x, std::uint64_t y) const {
    if (is_half(type)) {
      const auto a = static_cast<float>(real_of(type, x)), b = static_cast<float>(real_of(type, y));
      return real_bits(type, combine(in, a, b));
    }
    if (in.code == kMul && (in.has("wide") || in.has("hi")))
      return with_type(type, [&](auto t) -> std::uint64_t {
        using T = decltype(t);
        if constexpr (std::is_integral_v<T>) {
          using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
          const Wide product = static_cast<Wide>(as<T>(x)) * static_cast<Wide>(as<T>(y));
          return static_cast<std::uint64_t>(in.has("hi") ? product >> (8 * sizeof(T)) : product);
        }
        return 0;
      });
    return with_type(type, [&](auto t) -> std::uint64_t {
      return bits_of(combine(in, as<decltype(t)>(x), as<decltype(t)>(y)));
    });
  }

  std::uint64_t fused(const Instruction& in, std::uint64_t x, std::uint64_t y,
                      std::uint64_t z) const {
    const Type type = in.types[0];
    if (type == Type::kF32) return bits_of(std::fma(as<float>(x), as<float>(y), as<float>(z)));
    if (type == Type::kF64) return bits_of(std::fma(as<double>(x), as<double>(y), as<double>(z)));
    if (is_half(type))
      return real_bits(type, std::fma(real_of(type, x), real_of(type, y), real_of(type, z)));
    Instruction product = in;  // of integers: rare
    product.code = kMul;
    const std::uint64_t wide = binary(product, type, x, y);
    const int bytes = in.has("wide") ? 2 * size_of(type) : size_of(type);
    const std::uint64_t sum = wide + z;
    return bytes == 8 ? sum : sum & ((std::uint64_t{1} << (8 * bytes)) - 1);
  }

  template <class T>
  static bool compared(const std::string& how, T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      const bool unordered = std::isnan(a) || std::isnan(b);
      if (how == "num") return !unordered;
      if (how == "nan") return unordered;
      if (how.size() == 3 && how[2] == 'u' && unordered) return true;
      if (unordered) return false;
    }
    const std::string two = how.substr(0, 2);
    if (two == "eq") return a == b;
    if (two == "ne") return a != b;
    if (two == "lt" || two == "lo") return a < b;
    if (two == "le" || two == "ls") return a <= b;
    if (two == "gt" || two == "hi") return a > b;
    return a >= b;
  }

  void compare(Thread& thread, const Instruction& in) {
    const std::uint64_t x = get(thread, in.operands[1]), y = get(thread, in.operands[2]);
    const Type type = in.types[0];
    const std::string& how = in.words[0];
    bool result = is_half(type) ? compared(how, real_of(type, x), real_of(type, y))
                                : with_type(type, [&](auto t) {
                                    return compared(how, as<decltype(t)>(x), as<decltype(t)>(y));
                                  });
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

  std::uint64_t shifted(const Instruction& in, std::uint64_t x, std::uint64_t y) const {
    const Type type = in.types[0];
    const unsigned bits = 8U * static_cast<unsigned>(size_of(type));
    const auto by = static_cast<unsigned>(y & 0xffffffffU);
    return with_type(type, [&](auto t) -> std::uint64_t {
      using T = decltype(t);
      if constexpr (std::is_integral_v<T>) {
        if (in.code == kShl)
          return by >= bits ? 0
                            : bits_of(static_cast<T>(static_cast<std::uint64_t>(as<T>(x)) << by));
        const T value = as<T>(x);
        if (by >= bits) return bits_of(static_cast<T>(value < 0 ? -1 : 0));
        return bits_of(static_cast<T>(value >> by));
      }
      return 0;
    });
  }

  std::uint64_t unary(const Instruction& in, std::uint64_t x) const {
    const Type type = in.types[0];
    if (is_half(type)) {
      if (in.code == kNeg) return x ^ 0x8000U;
      if (in.code == kAbs) return x & 0x7fffU;
      return real_bits(type, real_function(in.code, static_cast<float>(real_of(type, x))));
    }
    return with_type(type, [&](auto t) -> std::uint64_t {
      using T = decltype(t);
      const T a = as<T>(x);
      if constexpr (std::is_floating_point_v<T>) {
        return bits_of(real_function(in.code, a));
      } else {
        using U = std::make_unsigned_t<T>;
        switch (in.code) {
          case kNeg: return bits_of(static_cast<T>(U{0} - static_cast<U>(a)));
          case kAbs: return bits_of(a < 0 ? static_cast<T>(U{0} - static_cast<U>(a)) : a);
          case kNot: return type == Type::kPred ? (x & 1U) ^ 1U : bits_of(static_cast<T>(~a));
          case kCnot: return bits_of(static_cast<T>(a == 0));
          case kPopc: return static_cast<std::uint64_t>(std::popcount(static_cast<U>(a)));
          case kClz: return static_cast<std::uint64_t>(std::countl_zero(static_cast<U>(a)));
          default: break;
        }
        std::uint64_t reversed = 0;
        for (unsigned i = 0; i < 8 * sizeof(T); ++i)
          reversed |= (x >> i & 1U) << (8 * sizeof(T) - 1 - i);
        return reversed;
      }
    });
  }

  template <class T>
  static T real_function(int code, T a) {
    switch (code) {
      case kNeg: return -a;
      case kAbs: return std::fabs(a);
      case kEx2: return std::exp2(a);
      case kLg2: return std::log2(a);
      case kRcp: return 1 / a;
      case kSqrt: return std::sqrt(a);
      case kRsqrt: return 1 / std::sqrt(a);
      case kSin: return std::sin(a);
      case kCos: return std::cos(a);
      default: return std::tanh(a);
    }
  }

  std::uint64_t of_bits(Thread& thread, const Instruction& in) {
    const auto operand = [&](std::size_t i) { return get(thread, in.operands[i]); };
    const Type type = in.types[0];
    const unsigned width = 8U * static_cast<unsigned>(size_of(type));
    if (in.code == kPrmt) {
      const std::uint64_t both = (operand(1) & 0xffffffffU) | operand(2) << 32U;
      std::uint64_t out = 0;
      for (unsigned i = 0; i < 4; ++i) {
        const auto pick = static_cast<unsigned>(operand(3) >> (4 * i) & 15U);
        std::uint64_t byte = both >> (8 * (pick & 7U)) & 0xffU;
        if ((pick & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xff : 0;
        out |= byte << (8 * i);
      }
      return out;
    }
    if (in.code == kShf) {
      const std::uint64_t both = (operand(1) & 0xffffffffU) | operand(2) << 32U;
      auto by = static_cast<unsigned>(operand(3));
      by = in.has("clamp") ? std::min(by, 32U) : by & 31U;
      return (in.has("l") ? (by == 0 ? both >> 32U : both >> (32U - by)) : both >> by) &
             0xffffffffU;
    }
    const std::uint64_t whole = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    const auto at = static_cast<unsigned>(operand(in.code == kBfi ? 3 : 2) & 0xffU);
    const auto length = static_cast<unsigned>(operand(in.code == kBfi ? 4 : 3) & 0xffU);
    const std::uint64_t mask = length >= 64 ? whole : (std::uint64_t{1} << length) - 1;
    if (in.code == kBfi) {
      if (at >= width) return operand(2) & whole;
      return ((operand(2) & ~(mask << at)) | (operand(1) & mask) << at) & whole;
    }
    if (length == 0 || at >= width) return 0;
    std::uint64_t out = (operand(1) & whole) >> at & mask;
    const bool is_signed = type == Type::kS32 || type == Type::kS64;
    if (is_signed && length < width && (out >> (length - 1) & 1U) != 0) out |= whole & ~mask;
    return out;
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
      case kConvert: return convert(thread, in);
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
      case kShf: return result(of_bits(thread, in));
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

void resolve(Instruction& instruction);
void resolve(Instruction& instruction) {
  for (const std::string& word : instruction.words) {
    if (word.starts_with("shared")) instruction.space = Instruction::kShared;
    if (word == "local") instruction.space = Instruction::kLocal;
    if (word == "param") instruction.space = Instruction::kParameter;
  }
  if (instruction.op == "cp" && instruction.has("async") && !instruction.has("bulk")) {
    instruction.code = kCopyAsync;
    return;
  }
  for (const auto& [name, code] : kCodes)
    if (instruction.op == name) {
      instruction.code = code;
      const bool needs_type = code != kBra && code != kBar && code != kRet && code != kNothing;
      if (needs_type && instruction.types.empty()) break;
      return;
    }
  throw Fault{kInvalidPtx, "an instruction that is not known: " + instruction.text};
}

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
