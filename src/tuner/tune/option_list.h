// Every option of a run that searches and models follow, once: the flags of `lathe tune`,
// include/lathe, the JSON of a summary and the identity of a run are made from this list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "tuner/tune/options.h"

namespace lathe {
struct TuneOptions;  // of include/lathe
}

namespace lathe::tune {

// Where a value is, here and in include/lathe; null: not there.
template <class T>
struct Member {
  T& (*inside)(Options& options) = nullptr;
  T TuneOptions::* outside = nullptr;
};
using AnyMember = std::variant<Member<int>, Member<std::uint64_t>, Member<double>, Member<bool>,
                               Member<std::string>>;

// What a flag may be given.
struct Values {
  double least = 0, most = 0;      // of numbers; both 0: any above 0
  const char* form = "X";          // what the help calls a number
  std::vector<std::string> known;  // of texts
};

// Under which heading the help has a flag.
enum class Heading { kNone, kBegin, kExploration };

// How the store tells runs apart that differ in it.
enum class Identity {
  kSame,    // they are one run: the same command goes on
  kColumn,  // by a member of store::Run
  kValue,   // by its value, if it is not the usual one: "/relation"
  kNamed,   // by its name, too: "/epsilon=0.1"
};

struct Option {
  const char* flag;  // "--epsilon"; empty: only experiments choose it; "--no-...": clears it
  const char* name;  // in JSON, in the identity of a run and in include/lathe
  AnyMember member;
  Identity identity;
  Heading heading = Heading::kNone;
  const char* help = "";
  Values values = {};
};

// In the order of the help.
std::vector<Option> option_list();

// Sets all that include/lathe has.
void take(const TuneOptions& from, Options& options);
// Names and values, {"trials": 512, ...}; infinity is null.
Json to_json(const Options& options);
// What tells runs apart beside the members of store::Run that have a column of their own: the
// model, and whatever differs from the defaults: "xgb-rank", "xgb-ensemble/relation/ei",
// "xgb-rank/epsilon=0.1".
std::string identity_of(const Options& options);

}  // namespace lathe::tune
