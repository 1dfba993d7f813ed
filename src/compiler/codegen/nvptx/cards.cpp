#include "compiler/codegen/nvptx/cards.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "base/cuda/cuda_json.h"
#include "base/file.h"
#include "base/known_names.h"

namespace lathe::codegen {
namespace {

constexpr std::int64_t kKilobyte = 1 << 10, kMegabyte = 1 << 20, kGigabyte = 1 << 30;

// What all cards of an architecture have, as the CUDA Programming Guide tells in its table of
// technical specifications for compute capabilities.
struct Architecture {
  int number;
  std::int64_t shared_kilobytes, block_kilobytes;  // of a multiprocessor, of a block
  int threads, blocks;                             // resident on a multiprocessor
  const char* usual;                               // the card that stands for it
};
constexpr Architecture kArchitectures[] = {
    {75, 64, 64, 1024, 16, "T4"},   {80, 164, 163, 2048, 32, "A100"},
    {86, 100, 99, 1536, 16, "A10"}, {87, 164, 163, 1536, 16, "Orin"},
    {89, 100, 99, 1536, 24, "L4"},  {90, 228, 227, 2048, 32, "H100"},
};

// What is a card's own, as its data sheet tells.
struct Card {
  const char* name;
  int architecture;
  int multiprocessors;
  std::int64_t l2_megabytes, memory_gigabytes;
  int clock_mhz, gigabytes_a_second;
};
constexpr Card kCards[] = {
    {"T4", 75, 40, 4, 16, 1590, 320},      {"A100", 80, 108, 40, 40, 1410, 1555},
    {"A10", 86, 72, 6, 24, 1695, 600},     {"Orin", 87, 16, 4, 32, 1300, 204},
    {"L4", 89, 58, 48, 24, 2040, 300},     {"RTX4090", 89, 128, 72, 24, 2520, 1008},
    {"H100", 90, 132, 50, 80, 1980, 3352}, {"H200", 90, 132, 60, 141, 1980, 4800},
};

const Architecture* architecture_of(int number) {
  const auto* found = std::ranges::find(kArchitectures, number, &Architecture::number);
  return found == std::end(kArchitectures) ? nullptr : found;
}

CudaTarget target_of(const Card& card) {
  constexpr int kRegisters = 64 << 10, kThreadRegisters = 255, kBlockThreads = 1024;  // of all
  const Architecture& architecture = *architecture_of(card.architecture);
  return {.name = card.name,
          .architecture = card.architecture,
          .multiprocessors = card.multiprocessors,
          .registers = kRegisters,
          .shared_bytes = architecture.shared_kilobytes * kKilobyte,
          .threads = architecture.threads,
          .blocks = architecture.blocks,
          .block_bytes = architecture.block_kilobytes * kKilobyte,
          .block_threads = kBlockThreads,
          .thread_registers = kThreadRegisters,
          .l2_bytes = card.l2_megabytes * kMegabyte,
          .memory_bytes = card.memory_gigabytes * kGigabyte,
          .clock_mhz = card.clock_mhz,
          .gigabytes_a_second = card.gigabytes_a_second};
}

std::optional<CudaTarget> card_named(std::string_view name) {
  const auto* found = std::ranges::find(kCards, name, &Card::name);
  if (found == std::end(kCards)) return {};
  return target_of(*found);
}

// "sm_80": what its usual card has.
std::optional<CudaTarget> usual_card(std::string_view name) {
  for (const Architecture& architecture : kArchitectures) {
    if (name != fmt::format("sm_{}", architecture.number)) continue;
    CudaTarget target = *card_named(architecture.usual);
    target.name = name;
    return target;
  }
  return {};
}

Result<CudaTarget> of_architecture(const std::string& name) {
  if (auto card = usual_card(name)) return std::move(*card);
  return fail(ErrorKind::kInvalidArgument,
              "the compiler knows no architecture {}; it knows {}; a later card runs programs for "
              "the last of them",
              name, architecture_list());
}

Result<CudaTarget> described_card(const std::string& path, const std::string& text) {
  CudaTarget card{.name = path};
  const auto read = [&]() -> Status {
    const Json json = LATHE_TRY(parse_json(text));
    LATHE_TRY_STATUS(check_members(json, cuda_members({}), "the description of a card"));
    LATHE_TRY_STATUS(read_cuda_members(json, card));
    if (architecture_of(card.architecture) != nullptr) return {};
    return fail(ErrorKind::kInvalidArgument,
                "architecture is {}; the compiler knows {}; of a later card write the last of them",
                card.architecture, architecture_list());
  };
  if (const Status status = read(); !status)
    return fail_at(path, status.error().kind, "{}", status.error().message);
  return card;
}

std::string known_cards(const std::string& name) {
  std::vector<std::string> names;
  for (const Card& card : kCards) names.emplace_back(card.name);
  return known_names(names, name);
}

}  // namespace

std::optional<CudaTarget> known_card(std::string_view name) {
  if (auto card = usual_card(name)) return card;
  if (auto card = card_named(name)) return card;
  // The driver's names have words around a card's, and spaces in it.
  constexpr std::string_view kMakers[] = {"NVIDIA", "Tesla", "GeForce"};
  std::string first;
  for (const auto word : std::views::split(name, ' ')) {
    const std::string_view text(word.begin(), word.end());
    if (first.empty() && std::ranges::find(kMakers, text) != std::end(kMakers)) continue;
    if (auto card = card_named(first + std::string(text))) return card;
    if (!first.empty()) break;
    first = text.substr(0, text.find('-'));
    if (auto card = card_named(first)) return card;
  }
  return {};
}

std::vector<int> known_architectures() {
  std::vector<int> out;
  for (const Architecture& each : kArchitectures) out.push_back(each.number);
  return out;
}

std::string architecture_list() {
  std::string out;
  for (const Architecture& each : kArchitectures)
    out += fmt::format("{}sm_{}", out.empty() ? "" : ", ", each.number);
  return out;
}

Result<CudaTarget> cuda_card(const std::string& name) {
  if (name.starts_with("sm_")) return of_architecture(name);
  if (const auto known = card_named(name)) return *known;
  if (name == "host" || name.starts_with("host:")) return query_cuda_card(name);
  const auto text = read_file(name);
  if (text) return described_card(name, *text);
  if (name.find('/') != std::string::npos || name.ends_with(".json"))
    return std::unexpected(text.error());
  auto queried = query_cuda_card(name);
  if (queried) return queried;
  return fail(
      ErrorKind::kInvalidArgument,
      "unknown card \"{}\"; known are {}; architectures are {}; cuda:FILE takes a file that "
      "describes a card",
      name, known_cards(name), architecture_list());
}

}  // namespace lathe::codegen
