#include "tuner/model/target_class.h"

#include <charconv>
#include <optional>

namespace lathe::model {
namespace {

constexpr std::string_view kAfterIsa = ", ", kAfterBits = "-bit vectors";
constexpr std::string_view kCards = "CUDA, sm_";
constexpr std::pair<Isa, std::string_view> kIsas[] = {{Isa::kX86, "x86"},
                                                      {Isa::kAArch64, "aarch64"}};

CpuClass class_of(const CpuTarget& cpu) { return {cpu.isa, cpu.vector_bits}; }
OpenClClass class_of(const OpenClTarget& device) { return {device.local_is_real}; }
CudaClass class_of(const CudaTarget& card) { return {card.architecture}; }

// A whole number above 0 between `before` and `after`, which are all else of the text.
std::optional<int> number_in(std::string_view text, std::string_view before,
                             std::string_view after) {
  if (!text.starts_with(before)) return {};
  int number = 0;
  const auto [end, code] =
      std::from_chars(text.data() + before.size(), text.data() + text.size(), number);
  const std::string_view rest(end, text.data() + text.size());
  return code == std::errc() && number > 0 && rest == after ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string CpuClass::text() const {
  for (const auto& [known, name] : kIsas)
    if (isa == known) return fmt::format("{}{}{}{}", name, kAfterIsa, vector_bits, kAfterBits);
  LATHE_CHECK(false, "an instruction set has no name");
}

std::string OpenClClass::text() const {
  return fmt::format("OpenCL, {} local memory", local_is_real ? "real" : "emulated");
}

std::string CudaClass::text() const { return fmt::format("{}{}", kCards, architecture); }

std::string TargetClass::text() const {
  return std::visit([](const auto& of) { return of.text(); }, device);
}

TargetClass class_of(const Target& target) {
  return std::visit([](const auto& of) { return TargetClass{class_of(of)}; }, target.device);
}

Result<TargetClass> parse_target_class(std::string_view text) {
  for (const OpenClClass device : {OpenClClass{true}, OpenClClass{false}})
    if (text == device.text()) return TargetClass{device};
  if (const auto architecture = number_in(text, kCards, ""))
    return TargetClass{CudaClass{*architecture}};
  for (const auto& [isa, name] : kIsas)
    if (const auto bits = number_in(text, fmt::format("{}{}", name, kAfterIsa), kAfterBits))
      return TargetClass{CpuClass{isa, *bits}};
  return fail(ErrorKind::kDataLoss,
              "this Lathe does not know the class of targets \"{}\"; its classes are like \"{}\"",
              text, CpuClass{Isa::kX86, 256}.text());
}

}  // namespace lathe::model
