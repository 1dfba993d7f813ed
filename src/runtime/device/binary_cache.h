// Built programs on disk, so that one is compiled once, not by every process that runs it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe::device {

class BinaryCache {
 public:
  BinaryCache() = default;  // keeps nothing
  // Makes the folder for this user alone; where that fails, or others can change what is in it, it
  // keeps nothing: what stands in one is run. Of a folder that has grown too large, the oldest
  // files go.
  explicit BinaryCache(std::string folder);
  // The folder of this name in that of caches (base/trust.h).
  static BinaryCache of_this_user(const std::string& name);

  // The binary that was stored with exactly this key. One that is damaged, or a file that somebody
  // else could change, counts as none.
  std::optional<std::string> find(std::string_view key) const;
  // A full disk is no failure: the program is built again then.
  void store(std::string_view key, std::string_view binary) const;
  // Where the file of a key is; empty: nothing is kept.
  std::string path_of(std::string_view key) const;
  // Writes what a compiler said, in place of what it said last. Returns where; empty: nowhere.
  std::string store_log(std::string_view log) const;

 private:
  std::string folder_;  // empty: none
};

}  // namespace lathe::device
