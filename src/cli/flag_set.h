// Declares the flags of a subcommand. A value that is not given stays as it was; a wrong one is
// answered with what would be right. Only this class and the application know the parsing library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace lathe::cli {

class FlagSet {
 public:
  explicit FlagSet(CLI::App& command) : command_(command) {}

  const std::string& command() const;  // its name
  // The heading in the help for all that is declared from now on; empty: the usual one.
  void group(const std::string& name) { group_ = name; }
  void positional(const std::string& name, std::string& value, const std::string& help,
                  bool required);
  // `form` is what the help calls the value: "FILE". Where that is a file or a folder, as the name
  // of a positional can be too, an empty value is refused.
  void text(const std::string& name, std::string& value, const std::string& form,
            const std::string& help);
  void required_text(const std::string& name, std::string& value, const std::string& form,
                     const std::string& help);
  void footer(const std::string& text);  // the help ends with this
  // The same, made from the value that was given for this positional; "" where none was.
  void footer(const std::string& positional,
              std::function<std::string(const std::string& given)> text);
  void repeated(const std::string& name, std::vector<std::string>& values, const std::string& form,
                const std::string& help);
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& known,
              const std::string& help);
  // The same for a value that is one of a few and has a name_of().
  template <class T, std::size_t kCount>
  void choice(const std::string& name, T& value, const T (&known)[kCount],
              const std::string& help) {
    std::vector<std::string> names;
    for (const T each : known) names.emplace_back(name_of(each));
    choose(name, std::string(name_of(value)), names, help,
           [&value, &known](std::size_t chosen) { value = known[chosen]; });
  }
  void whole(const std::string& name, int& value, std::int64_t least, std::int64_t most,
             const std::string& help);
  void whole(const std::string& name, std::uint64_t& value, const std::string& help);
  // The value must be above 0.
  void number(const std::string& name, double& value, const std::string& form,
              const std::string& help);
  void number(const std::string& name, double& value, double least, double most,
              const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  // False where the flag is given.
  void clear(const std::string& name, bool& value, const std::string& help);
  // Calls `hear` where the flag is given.
  void on_text(const std::string& name, const std::string& form, const std::string& help,
               const std::function<void(const std::string&)>& hear);
  // The same, hidden in the help: a footer tells what the flags mean.
  void on_text(const std::string& name, const std::function<void(const std::string&)>& hear);
  void on_flag(const std::string& name, std::function<void()> hear);
  // Refuses this flag where any of `others` is given too.
  void contradict(const std::string& name, const std::vector<std::string>& others);

 private:
  // Calls `hear` with the place of the name that is given.
  void choose(const std::string& name, const std::string& usual,
              const std::vector<std::string>& known, const std::string& help,
              const std::function<void(std::size_t)>& hear);

  CLI::App& command_;
  std::string group_;
};

}  // namespace lathe::cli
