// What one process of this machine may do at a time.
#pragma once

#include <string>

namespace lathe {

// Holds a name as long as it lives. The system drops it with the process, however that ends; no
// file stays behind.
class Claim {
 public:
  explicit Claim(const std::string& name);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // Nobody else holds the name. True where the system has no such names: nobody knows then.
  bool held() const { return held_; }

 private:
  int socket_ = -1;
  bool held_ = true;
};

}  // namespace lathe
