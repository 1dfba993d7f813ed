// Names that one process of a machine holds at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace lathe {

// Holds a name for as long as this object lives; nobody else can hold it meanwhile. The system
// drops the name with the process, however that ends; no file stays behind. Every user of the
// machine can hold every name, so whoever is kept from something by one asks for its holder.
class Claim {
 public:
  explicit Claim(const std::string& name);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // True if nobody else holds the name, and also where the system has no such names to ask for.
  bool held() const { return held_; }
  // The user whose process holds the name instead; none where it does not hold it as a claim does.
  std::optional<uid_t> holder() const { return holder_; }

 private:
  int socket_ = -1;
  bool held_ = true;
  std::optional<uid_t> holder_;
};

}  // namespace lathe
