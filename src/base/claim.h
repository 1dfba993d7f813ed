// Names that one process of a machine holds at a time.
#pragma once

#include <string>

namespace lathe {

// Holds a name for as long as this object lives; nobody else can hold it meanwhile. The system
// drops the name with the process, however that ends; no file stays behind.
class Claim {
 public:
  explicit Claim(const std::string& name);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // True if nobody else holds the name, and also where the system has no such names to ask for.
  bool held() const { return held_; }

 private:
  int socket_ = -1;
  bool held_ = true;
};

}  // namespace lathe
