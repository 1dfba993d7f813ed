#include "base/target.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/ranges.h>

#include "base/split.h"

namespace lathe {
namespace {

constexpr const char* kForm =
    "write it as cpu:MCPU[,+feature...][;isa=x86|aarch64][;threads=N], e.g. cpu:host";
constexpr std::string_view kOpenCl = "opencl:";

int threads_of(const CpuTarget& target) { return target.threads; }
int threads_of(const auto&) { return 1; }  // of a device
void set_threads_of(CpuTarget& target, int number) { target.threads = number; }
void set_threads_of(auto&, int) {}

Status set_option(CpuTarget& target, const std::string& option) {
  const auto eq = option.find('=');
  const std::string key = option.substr(0, eq);
  const std::string value = eq == std::string::npos ? "" : option.substr(eq + 1);
  if (key == "threads") {
    int threads = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), threads);
    if (code != std::errc() || end != value.data() + value.size() || threads < 1 ||
        threads > kMostThreads)
      return fail(ErrorKind::kInvalidArgument,
                  "target option threads must be a number from 1 to {}, not \"{}\"", kMostThreads,
                  value);
    target.threads = threads;
    return {};
  }
  if (key == "isa" && (value == "x86" || value == "aarch64")) {
    target.isa_given = true;
    target.isa = value == "x86" ? Isa::kX86 : Isa::kAArch64;
    return {};
  }
  return fail(ErrorKind::kInvalidArgument, "unknown target option \"{}\"; {}", option, kForm);
}

// A feature or option may be given once only, so that no second value is dropped in silence.
Status refuse_twice(const std::vector<std::string>& words,
                    const std::vector<std::string>& options) {
  std::set<std::string> met;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].empty() && !met.insert(words[i].substr(1)).second)
      return fail(ErrorKind::kInvalidArgument,
                  "the target gives the feature {} twice; give it once", words[i].substr(1));
  for (std::size_t i = 1; i < options.size(); ++i)
    if (const std::string key = options[i].substr(0, options[i].find('='));
        !met.insert(";" + key).second)
      return fail(ErrorKind::kInvalidArgument, "the target gives {} twice; give it once", key);
  return {};
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::int64_t cache_bytes(int level, const std::string& type) {
  for (int index = 0; index < 8; ++index) {
    const std::string base = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    if (first_line(base + "level") != std::to_string(level)) continue;
    const std::string kind = first_line(base + "type");
    if (kind != type && kind != "Unified") continue;
    std::istringstream size(first_line(base + "size"));
    std::int64_t value = 0;
    char unit = ' ';
    size >> value >> unit;
    return value * (unit == 'M' ? 1 << 20 : unit == 'K' ? 1 << 10 : 1);
  }
  return 0;
}

}  // namespace

std::string CpuTarget::text() const {
  std::string out = "cpu:" + mcpu;
  for (const auto& feature : features) out += "," + feature;
  if (isa == Isa::kAArch64) out += ";isa=aarch64";
  return out + fmt::format(";threads={}", threads);
}

const char* CpuTarget::lacking_on(const CpuTarget& machine) const {
  if (isa != machine.isa) return "is of another kind";
  if (vector_bits > machine.vector_bits) return "has narrower vectors";
  if (has_avx512_masks > machine.has_avx512_masks) return "has no AVX-512";
  if (has_fma > machine.has_fma) return "has no fused multiply-add";
  return nullptr;
}

Abilities CpuTarget::abilities() const {
  const bool x86 = isa == Isa::kX86;
  // roundps came with SSE4.1, which no member tells; by what comes with it.
  return {.rounding = !x86 || vector_bits > 128 || has_fma,
          .f16 = !x86 || has_f16c,
          .scaling = has_avx512_masks,
          .fma = has_fma};
}

std::string Target::text() const {
  return std::visit([](const auto& of) { return of.text(); }, device);
}

int Target::lanes(int element_bytes) const {
  return std::visit([=](const auto& of) { return of.lanes(element_bytes); }, device);
}

Abilities Target::abilities() const {
  return std::visit([](const auto& of) { return of.abilities(); }, device);
}

std::optional<Grids> Target::grids() const {
  return std::visit([](const auto& of) { return of.grids(); }, device);
}

int Target::threads() const {
  return std::visit([](const auto& of) { return threads_of(of); }, device);
}

void Target::set_threads(int number) {
  std::visit([number](auto& of) { set_threads_of(of, number); }, device);
}

bool Target::is_host() const {
  return std::visit([](const auto& of) { return of.is_host(); }, device);
}

const char* Target::lacking_on(const Target& machine) const {
  if (kind() != machine.kind()) return "is of another kind";
  return std::visit(
      [&](const auto& of) {
        return of.lacking_on(std::get<std::remove_cvref_t<decltype(of)>>(machine.device));
      },
      device);
}

std::string OpenClTarget::text() const { return fmt::format("{}{}", kOpenCl, name); }

namespace {

constexpr int kMostLanes = 16;  // OpenCL C has no wider vectors

}  // namespace

// As many bytes as the preferred vector of f32 has, but no more lanes than OpenCL C has types for.
int OpenClTarget::lanes(int element_bytes) const {
  return std::clamp(vector_width * 4 / element_bytes, 1, kMostLanes);
}

std::optional<Grids> OpenClTarget::grids() const {
  return Grids{.most_items = group_items,
               .most_lanes = kMostLanes,
               .group_bytes = local_bytes,
               .lanes = lanes(4),
               .units = std::max(1, compute_units)};
}

const char* OpenClTarget::lacking_on(const OpenClTarget& machine) const {
  if (fp64 > machine.fp64) return "has no f64";
  if (fp16 > machine.fp16) return "has no f16 arithmetic";
  if (images > machine.images) return "has no images";
  if (group_items > machine.group_items) return "has smaller work groups";
  if (local_bytes > machine.local_bytes) return "has less local memory";
  return nullptr;
}

namespace {

Result<Target> parse_opencl(std::string_view text) {
  OpenClTarget target;
  target.name = text.substr(kOpenCl.size());
  if (target.name.empty())
    return fail(ErrorKind::kInvalidArgument,
                "target \"{}\" names no device; write opencl:generic, opencl:host, or opencl:FILE "
                "with a file that describes one",
                text);
  return Target{target};
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  if (text.starts_with(kOpenCl)) return parse_opencl(text);
  if (text.starts_with(kCuda)) return Target{LATHE_TRY(parse_cuda_target(text))};
  if (!text.starts_with("cpu:"))
    return fail(ErrorKind::kInvalidArgument,
                "unknown target \"{}\"; {}; or as opencl:DEVICE, e.g. opencl:generic, or as "
                "cuda:CARD, e.g. cuda:sm_80",
                text, kForm);
  CpuTarget target;
  const auto options = split(text.substr(4), ';');
  const auto words = split(options[0], ',');
  LATHE_TRY_STATUS(refuse_twice(words, options));
  target.mcpu = words[0];
  if (target.mcpu.empty())
    return fail(ErrorKind::kInvalidArgument, "target \"{}\" names no cpu; {}", text, kForm);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].size() < 2 || (words[i][0] != '+' && words[i][0] != '-'))
      return fail(ErrorKind::kInvalidArgument,
                  "target feature \"{}\" must start with + or -, e.g. +avx2", words[i]);
    target.features.push_back(words[i]);
  }
  std::ranges::sort(target.features);
  for (std::size_t i = 1; i < options.size(); ++i) LATHE_TRY_STATUS(set_option(target, options[i]));
  return Target{target};
}

std::string CpuFingerprint::cpu() const { return fmt::format("{}/{}/{}", family, model, stepping); }

std::string CpuFingerprint::text() const {
  return fmt::format("{} ({}) L1d={} L2={} L3={} cores={}", cpu_name, cpu(), l1d_bytes, l2_bytes,
                     l3_bytes, cores);
}

std::string OpenClFingerprint::cpu() const {
  return fmt::format("{}/{}/{}", platform, name_of_device, driver);
}

std::string OpenClFingerprint::text() const {
  return fmt::format("{} ({}) driver={}", name_of_device, platform, driver);
}

std::string Fingerprint::cpu() const {
  return std::visit([](const auto& of) { return of.cpu(); }, device);
}

std::string Fingerprint::name() const {
  return std::visit([](const auto& of) { return of.name(); }, device);
}

std::string Fingerprint::text() const {
  return std::visit([](const auto& of) { return of.text(); }, device);
}

CpuFingerprint host_cpu() {
  CpuFingerprint print;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line) && !line.empty();) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "model name") print.cpu_name = value;
    if (key == "cpu family") print.family = std::atoi(value.c_str());
    if (key == "model") print.model = std::atoi(value.c_str());
    if (key == "stepping") print.stepping = std::atoi(value.c_str());
    if (key == "CPU part" && print.cpu_name.empty()) print.cpu_name = "ARM part " + value;
  }
  print.l1d_bytes = cache_bytes(1, "Data");
  print.l2_bytes = cache_bytes(2, "Unified");
  print.l3_bytes = cache_bytes(3, "Unified");
  print.cores = static_cast<int>(std::thread::hardware_concurrency());
  return print;
}

Fingerprint host_fingerprint() { return Fingerprint{host_cpu()}; }

}  // namespace lathe
