#include "tuner/model/target_class.h"

#include <charconv>

namespace lathe::model {
namespace {

constexpr std::string_view kAfterIsa = ", ", kAfterBits = "-bit vectors";
constexpr std::pair<Isa, std::string_view> kIsas[] = {{Isa::kX86, "x86"},
                                                      {Isa::kAArch64, "aarch64"}};

CpuClass class_of(const CpuTarget& cpu) { return {cpu.isa, cpu.vector_bits}; }
OpenClClass class_of(const OpenClTarget& device) { return {device.local_is_real}; }

}  // namespace

std::string CpuClass::text() const {
  for (const auto& [known, name] : kIsas)
    if (isa == known) return fmt::format("{}{}{}{}", name, kAfterIsa, vector_bits, kAfterBits);
  LATHE_CHECK(false, "an instruction set has no name");
}

std::string OpenClClass::text() const {
  return fmt::format("OpenCL, {} local memory", local_is_real ? "real" : "emulated");
}

std::string TargetClass::text() const {
  return std::visit([](const auto& of) { return of.text(); }, device);
}

TargetClass class_of(const Target& target) {
  return std::visit([](const auto& of) { return TargetClass{class_of(of)}; }, target.device);
}

Result<TargetClass> parse_target_class(std::string_view text) {
  for (const OpenClClass device : {OpenClClass{true}, OpenClClass{false}})
    if (text == device.text()) return TargetClass{device};
  for (const auto& [isa, name] : kIsas) {
    const auto at = name.size() + kAfterIsa.size();
    if (!text.starts_with(name) || !text.substr(name.size()).starts_with(kAfterIsa)) continue;
    int bits = 0;
    const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), bits);
    const std::string_view rest(end, text.data() + text.size());
    if (code == std::errc() && bits > 0 && rest == kAfterBits)
      return TargetClass{CpuClass{isa, bits}};
  }
  return fail(ErrorKind::kDataLoss,
              "this Lathe does not know the class of targets \"{}\"; its classes are like \"{}\"",
              text, CpuClass{Isa::kX86, 256}.text());
}

}  // namespace lathe::model
