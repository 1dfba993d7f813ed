#include "tuner/store/packed.h"

namespace lathe::store {
namespace {

// The first byte of a list of ids.
constexpr char kArray = 'a', kObject = 'o';

std::unexpected<Error> damaged() {
  return fail(ErrorKind::kDataLoss, "its compact form is cut short or has been changed");
}

std::uint64_t folded(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
std::int64_t unfolded(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// One of them, as unpacked_json() takes it.
bool add_part(Json& json, const Json& part) {
  if (json.is_array()) {
    json.push_back(part);
    return true;
  }
  if (!part.is_object() || part.size() != 1) return false;
  json.push_back({part.begin().key(), part.begin().value()});
  return true;
}

}  // namespace

void append_whole(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

bool take_whole(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

Result<std::string> packed(const Json& json, const NameId& id_of) {
  std::string bytes;
  if (!json.is_array() && !json.is_object()) return bytes;
  bytes += json.is_array() ? kArray : kObject;
  for (const auto& item : json.items()) {
    const std::string text =
        dump(json.is_array() ? item.value() : Json{{item.key(), item.value()}});
    append_whole(bytes, static_cast<std::uint64_t>(LATHE_TRY(id_of(text))));
  }
  return bytes;
}

Result<Json> unpacked_json(std::string_view bytes, const PartOf& part_of) {
  if (bytes.empty() || (bytes.front() != kArray && bytes.front() != kObject)) return damaged();
  Json json = bytes.front() == kArray ? Json::array() : Json::object();
  bytes.remove_prefix(1);
  while (!bytes.empty()) {
    std::uint64_t id = 0;
    if (!take_whole(bytes, id)) return damaged();
    const Json* part = LATHE_TRY(part_of(static_cast<std::int64_t>(id)));
    if (!add_part(json, *part)) return damaged();
  }
  return json;
}

std::string packed(const std::vector<Visit>& visits) {
  std::string bytes;
  append_whole(bytes, visits.size());
  std::vector<double> sentinels;
  for (const Visit& visit : visits) {
    append_whole(bytes, folded(visit.visit));
    append_numbers(bytes, visit.seconds);
    append_numbers(bytes, visit.disturbed);
    sentinels.push_back(visit.sentinel_seconds);
  }
  append_numbers(bytes, sentinels);
  return bytes;
}

Result<std::vector<Visit>> unpacked_visits(std::string_view bytes) {
  std::uint64_t count = 0;
  if (!take_whole(bytes, count) || count > bytes.size()) return damaged();
  std::vector<Visit> visits(count);
  for (Visit& visit : visits) {
    std::uint64_t number = 0;
    if (!take_whole(bytes, number) || !take_numbers(bytes, visit.seconds) ||
        !take_numbers(bytes, visit.disturbed))
      return damaged();
    visit.visit = static_cast<int>(unfolded(number));
  }
  std::vector<double> sentinels;
  if (!take_numbers(bytes, sentinels) || sentinels.size() != count || !bytes.empty())
    return damaged();
  for (std::size_t i = 0; i < count; ++i) visits[i].sentinel_seconds = sentinels[i];
  return visits;
}

}  // namespace lathe::store
