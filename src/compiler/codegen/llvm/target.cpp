// What a cpu name and a list of features mean, as LLVM's tables have it.
#include <algorithm>
#include <array>

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Host.h>

#include "base/environment.h"
#include "compiler/codegen/llvm/codegen.h"
#include "compiler/codegen/llvm/machine.h"

namespace lathe::codegen {
namespace {

// Features of the host worth stating where they differ from what its cpu name implies (a virtual
// machine may hide some): those that code generation uses by itself.
constexpr std::array kCodeFeatures = {
    "adx",   "amx",   "avx",  "bmi",    "cmov", "f16c",  "fma", "fullfp16", "lse",
    "lzcnt", "movbe", "neon", "popcnt", "sse",  "ssse3", "sve", "dotprod",  "fp-armv8"};

bool is_code_feature(llvm::StringRef name) {
  return std::ranges::any_of(kCodeFeatures, [&](const char* f) { return name.starts_with(f); });
}

using Ranked = std::vector<std::pair<unsigned, std::string>>;

template <class Table>
void rank(const Table& table, const std::string& name, Ranked& found) {
  for (const auto& entry : table) {
    const llvm::StringRef key(entry.Key);
    unsigned distance = key.edit_distance(name);
    if (key.starts_with(name) || llvm::StringRef(name).starts_with(key)) distance /= 3;
    found.emplace_back(distance, entry.Key);
  }
}

std::string nearest(Ranked found) {
  std::ranges::sort(found);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(5, found.size()); ++i)
    text += (i ? ", " : "") + found[i].second;
  return text;
}

Isa host_isa() {
#if defined(__aarch64__)
  return Isa::kAArch64;
#else
  return Isa::kX86;
#endif
}

// A machine whose tables name every cpu and feature of the isa.
Result<std::unique_ptr<llvm::TargetMachine>> generic_machine(const CpuTarget& target) {
  CpuTarget generic = target;
  generic.mcpu = target.isa == Isa::kX86 ? "x86-64" : "generic";
  generic.features.clear();
  return make_machine(generic);
}

// Where the text names none: x86, unless only AArch64 has a cpu of this name.
Status find_isa(CpuTarget& target) {
  if (target.isa_given) return {};
  const auto known = [&](Isa isa) -> Result<bool> {
    CpuTarget of = target;
    of.isa = isa;
    const auto machine = LATHE_TRY(generic_machine(of));
    return machine->getMCSubtargetInfo()->isCPUStringValid(target.mcpu);
  };
  if (!LATHE_TRY(known(Isa::kX86)) && LATHE_TRY(known(Isa::kAArch64))) target.isa = Isa::kAArch64;
  return {};
}

// Of every isa that may be meant.
Result<std::string> similar_cpus(const CpuTarget& target) {
  Ranked found;
  for (const Isa isa : {Isa::kX86, Isa::kAArch64}) {
    if (target.isa_given && isa != target.isa) continue;
    CpuTarget of = target;
    of.isa = isa;
    const auto machine = LATHE_TRY(generic_machine(of));
    rank(machine->getMCSubtargetInfo()->getAllProcessorDescriptions(), target.mcpu, found);
  }
  return nearest(std::move(found));
}

std::string similar_features(const llvm::MCSubtargetInfo& info, const std::string& name) {
  Ranked found;
  rank(info.getAllProcessorFeatures(), name, found);
  return nearest(std::move(found));
}

Status check_names(const CpuTarget& target) {
  const auto machine = LATHE_TRY(generic_machine(target));
  const llvm::MCSubtargetInfo& info = *machine->getMCSubtargetInfo();
  // isCPUStringValid() also accepts names of other modes of the ISA family; the table is what
  // codegen can use.
  if (!info.isCPUStringValid(target.mcpu))
    return fail(ErrorKind::kInvalidArgument, "unknown cpu \"{}\"; similar ones are {}", target.mcpu,
                LATHE_TRY(similar_cpus(target)));
  for (const auto& feature : target.features) {
    const bool known = std::ranges::any_of(
        info.getAllProcessorFeatures(), [&](const auto& f) { return feature.substr(1) == f.Key; });
    if (!known)
      return fail(ErrorKind::kInvalidArgument, "unknown cpu feature \"{}\"; similar ones are {}",
                  feature.substr(1), similar_features(info, feature.substr(1)));
  }
  return {};
}

// The machine may be taken for a lesser one: a cpu that it has all features of.
constexpr const char* kHostCpu = "LATHE_HOST_CPU";

// Code features of the host that it has and its cpu as LLVM knows it has not, as "+avx2", or the
// other way round, as "-avx2".
Result<std::vector<std::string>> features_unlike(const CpuTarget& plain) {
  const auto has = llvm::sys::getHostCPUFeatures();
  const auto machine = LATHE_TRY(make_machine(plain));
  const llvm::MCSubtargetInfo& info = *machine->getMCSubtargetInfo();
  std::vector<std::string> found;
  for (const auto& feature : info.getAllProcessorFeatures()) {
    const auto host = has.find(feature.Key);
    if (host == has.end() || !is_code_feature(feature.Key)) continue;
    const bool implied = info.checkFeatures(std::string("+") + feature.Key);
    if (host->second != implied)
      found.push_back((host->second ? "+" : "-") + std::string(feature.Key));
  }
  return found;
}

// Names the host's cpu and where it differs from that cpu as LLVM knows it; what it has beyond a
// lesser cpu does not count.
Status resolve_host(CpuTarget& target) {
  const std::string lesser = environment(kHostCpu);
  CpuTarget plain = target;
  plain.isa = target.isa = host_isa();
  plain.mcpu = target.mcpu = lesser.empty() ? llvm::sys::getHostCPUName().str() : lesser;
  plain.features.clear();
  if (!lesser.empty())
    if (const auto known = check_names(plain); !known)
      return fail_at(kHostCpu, known.error().kind, "{}", known.error().message);
  auto found = LATHE_TRY(features_unlike(plain));
  if (!lesser.empty()) {
    std::erase_if(found, [](const std::string& f) { return f.starts_with('+'); });
    if (!found.empty())
      return fail_at(
          kHostCpu, ErrorKind::kInvalidArgument,
          "this machine cannot be taken for \"{}\", for it lacks {}; name a cpu that has "
          "less, or unset the variable",
          lesser, found[0].substr(1));
  }
  for (const auto& feature : target.features) {  // what the user says wins
    std::erase_if(found, [&](const std::string& f) { return f.substr(1) == feature.substr(1); });
    found.push_back(feature);
  }
  target.features = std::move(found);
  std::ranges::sort(target.features);
  return {};
}

void derive_x86(const llvm::MCSubtargetInfo& info, CpuTarget& target) {
  const bool avx512 = info.checkFeatures("+avx512f");
  const bool vl = avx512 && info.checkFeatures("+avx512vl");
  target.vector_bits = avx512 ? 512 : info.checkFeatures("+avx") ? 256 : 128;
  target.vector_registers = avx512 ? 32 : 16;
  target.has_fma = info.checkFeatures("+fma");
  target.has_f16c = info.checkFeatures("+f16c");
  target.has_avx512_masks = vl;
}

void derive_aarch64(CpuTarget& target) {
  target.vector_bits = 128;  // SVE's length is not known when code is made
  target.vector_registers = 32;
  target.has_fma = true;
  target.has_f16c = true;
  target.has_avx512_masks = false;
}

}  // namespace

Result<Target> resolve_target(const Target& asked) {
  CpuTarget target = asked.as_cpu();
  LATHE_TRY_STATUS(target.mcpu == "host" ? resolve_host(target) : find_isa(target));
  LATHE_TRY_STATUS(check_names(target));
  const auto machine = LATHE_TRY(make_machine(target));
  const llvm::MCSubtargetInfo& info = *machine->getMCSubtargetInfo();
  if (target.isa == Isa::kX86 && !info.checkFeatures("+64bit"))
    return fail(ErrorKind::kUnsupported, "cpu \"{}\" has no 64-bit mode; choose a 64-bit one",
                target.mcpu);
  if (target.isa == Isa::kX86) derive_x86(info, target);
  else derive_aarch64(target);
  return Target{target};
}

}  // namespace lathe::codegen
