#include "base/cuda/cuda_json.h"

namespace lathe {
namespace {

// Of the members that are numbers: what can be true.
struct IntMember {
  const char* name;
  int CudaTarget::* place;
  std::int64_t least, most;
};
constexpr IntMember kIntMembers[] = {
    {"architecture", &CudaTarget::architecture, 10, 999},
    {"multiprocessors", &CudaTarget::multiprocessors, 1, 1 << 16},
    {"registers", &CudaTarget::registers, 1 << 10, 1 << 24},
    {"threads", &CudaTarget::threads, 32, 1 << 16},
    {"blocks", &CudaTarget::blocks, 1, 1 << 16},
    {"block_threads", &CudaTarget::block_threads, 128, 1024},
    {"thread_registers", &CudaTarget::thread_registers, 16, 255},
    {"clock_mhz", &CudaTarget::clock_mhz, 1, 1 << 20},
    {"gigabytes_a_second", &CudaTarget::gigabytes_a_second, 1, 1 << 20}};

struct SizeMember {
  const char* name;
  std::int64_t CudaTarget::* place;
  std::int64_t least, most;
};
constexpr SizeMember kSizeMembers[] = {
    {"shared_bytes", &CudaTarget::shared_bytes, 16 << 10, 1 << 30},
    {"block_bytes", &CudaTarget::block_bytes, 16 << 10, 1 << 20},
    {"l2_bytes", &CudaTarget::l2_bytes, 0, 1LL << 40},
    {"memory_bytes", &CudaTarget::memory_bytes, 64 << 20, 1LL << 50}};

Status read_member(const Json& json, const auto& member, CudaTarget& card) {
  const std::int64_t value =
      LATHE_TRY(json_int_between(json, member.name, member.least, member.most));
  using Number = std::remove_reference_t<decltype(card.*member.place)>;
  card.*member.place = static_cast<Number>(value);
  return {};
}

}  // namespace

Json cuda_members(const CudaTarget& card) {
  Json json = Json::object();
  for (const IntMember& member : kIntMembers) json[member.name] = card.*member.place;
  for (const SizeMember& member : kSizeMembers) json[member.name] = card.*member.place;
  return json;
}

Status read_cuda_members(const Json& json, CudaTarget& card) {
  for (const IntMember& member : kIntMembers) LATHE_TRY_STATUS(read_member(json, member, card));
  for (const SizeMember& member : kSizeMembers) LATHE_TRY_STATUS(read_member(json, member, card));
  if (card.block_threads > card.threads)
    return fail(ErrorKind::kInvalidArgument,
                "block_threads is {}, and a multiprocessor has {} threads; it cannot have more",
                card.block_threads, card.threads);
  if (card.block_bytes > card.shared_bytes)
    return fail(ErrorKind::kInvalidArgument,
                "block_bytes is {}, and a multiprocessor has {} shared_bytes; it cannot have more",
                card.block_bytes, card.shared_bytes);
  return {};
}

}  // namespace lathe
