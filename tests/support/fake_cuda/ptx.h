// PTX as text, and an interpreter of what compilers make of programs on grids: an instruction that
// it does not know is refused when the text is read. Blocks run one after the other, and the
// threads of a block in turns, from barrier to barrier.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe::fake_cuda {

// What a text or a run breaks, with the driver's code for it.
struct Fault {
  int code;
  std::string what;
};
inline constexpr int kInvalidPtx = 218, kIllegalAddress = 700, kMisaligned = 716,
                     kLaunchFailed = 719, kInvalidHandle = 400;

enum class Type {
  kB8,
  kB16,
  kB32,
  kB64,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kBf16,
  kF32,
  kF64,
  kPred
};
int size_of(Type type);

struct Operand {
  enum Kind { kReg, kImmediate, kSpecial, kAddress, kVector, kNone } kind = kNone;
  int reg = -1;                // of kReg; of kAddress the base, or -1
  std::uint64_t value = 0;     // of kImmediate; of kAddress the offset
  std::string name;            // of kSpecial; of kAddress a parameter
  std::vector<Operand> parts;  // of kVector
  bool negated = false;        // a predicate
};

struct Instruction {
  std::string op;                  // the first word: "ld", "fma"
  std::vector<std::string> words;  // the others, types too
  std::vector<Type> types;
  std::vector<Operand> operands;
  int guard = -1;  // of a predicate's register
  bool guard_negated = false;
  int target = -1;  // of a branch
  std::string text;
  int code = 0;                                                     // which function runs it
  enum { kGeneric, kShared, kLocal, kParameter } space = kGeneric;  // of an access
  bool has(const char* word) const;
};

struct Symbol {
  enum Space { kShared, kGlobal, kLocal } space = kShared;
  std::int64_t offset = 0;  // in its space
};

struct Kernel {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<int> parameter_bytes;
  std::vector<Instruction> body;
  int registers = 0;  // slots
  std::int64_t shared_bytes = 0, local_bytes = 0;
};

// A module: kernels, and the bytes of its global variables.
struct Text {
  int version = 0, architecture = 0;  // 75 of ".target sm_75"
  std::map<std::string, Kernel> kernels;
  std::vector<std::byte> globals;
};
// Throws a Fault.
std::shared_ptr<Text> parse_ptx(const std::string& text);

struct Grid {
  std::array<unsigned, 3> blocks{1, 1, 1}, threads{1, 1, 1};
  std::int64_t dynamic_shared = 0;
};
// Where so many bytes of the card's memory at an address are; null: nowhere.
using Memory = std::function<std::byte*(std::uint64_t address, std::int64_t bytes)>;
// Throws a Fault: an access outside of all memory, threads that wait for each other for ever. It
// stops after `most` instructions; 0: never.
void run_kernel(const Text& text, const Kernel& kernel, const Grid& grid,
                const std::vector<std::uint64_t>& arguments, const Memory& memory,
                std::int64_t most = 0);

}  // namespace lathe::fake_cuda
