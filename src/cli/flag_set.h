// Declares the flags of a subcommand. Values that are not given keep what they were; wrong ones are
// answered with what would be right. The parsing library is known to this class and to the
// application alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lathe::cli {

class FlagSet {
 public:
  explicit FlagSet(CLI::App& command) : command_(command) {}

  const std::string& command() const;  // its name
  // Heading in the help of what is declared from now on; empty: the usual one.
  void group(const std::string& name) { group_ = name; }
  void positional(const std::string& name, std::string& value, const std::string& help,
                  bool required);
  // `form` is what the help calls the value: "FILE".
  void text(const std::string& name, std::string& value, const std::string& form,
            const std::string& help);
  void required_text(const std::string& name, std::string& value, const std::string& form,
                     const std::string& help);
  void footer(const std::string& text);  // what the help ends with
  // The same, for the value that was given for this positional; "" where none was.
  void footer(const std::string& positional,
              std::function<std::string(const std::string& given)> text);
  void repeated(const std::string& name, std::vector<std::string>& values, const std::string& form,
                const std::string& help);
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& known,
              const std::string& help);
  void whole(const std::string& name, int& value, std::int64_t least, std::int64_t most,
             const std::string& help);
  void whole(const std::string& name, std::uint64_t& value, const std::string& help);
  // above 0
  void number(const std::string& name, double& value, const std::string& form,
              const std::string& help);
  void number(const std::string& name, double& value, double least, double most,
              const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  void clear(const std::string& name, bool& value, const std::string& help);  // false where given
  // Heard of where it is given. A footer says what they mean.
  void on_text(const std::string& name, std::function<void(const std::string&)> hear);
  void on_flag(const std::string& name, std::function<void()> hear);
  // Given beside any of `others`, it is refused.
  void contradict(const std::string& name, const std::vector<std::string>& others);

 private:
  CLI::App& command_;
  std::string group_;
};

}  // namespace lathe::cli
