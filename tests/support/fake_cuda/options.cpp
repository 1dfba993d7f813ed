#include "support/fake_cuda/options.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace lathe::fake_cuda {
namespace {

void set_fail(Options& out, const std::string& value) {
  const auto first = value.find(':'), second = value.find(':', first + 1);
  if (second == std::string::npos) return;
  out.fail = value.substr(0, first);
  out.fail_at = std::atoll(value.c_str() + first + 1);
  out.fail_code = std::atoi(value.c_str() + second + 1);
}

Options read_options() {
  Options out;
  const char* const text = std::getenv("LATHE_FAKE_CUDA");
  std::istringstream words(text != nullptr ? text : "");
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "state") out.state = value;
    else if (name == "fail") set_fail(out, value);
    else if (name == "lost") out.lost_at = std::atoll(value.c_str());
    else if (name == "version") out.version = std::atoi(value.c_str());
    else if (name == "cards") out.cards = std::atoi(value.c_str());
    else if (name == "architecture") out.architecture = std::atoi(value.c_str());
    else if (name == "processors") out.processors = std::atoi(value.c_str());
    else if (name == "most") out.most = std::atoll(value.c_str());
    else if (name == "memory") out.memory = std::atoll(value.c_str());
    else if (name == "free") out.free = std::atoll(value.c_str());
    else if (name == "mig") out.mig = true;
    else std::abort();  // a test that tells nonsense
  }
  return out;
}

State* open_state() {
  const std::string& path = options().state;
  void* place = MAP_FAILED;
  if (const int file = path.empty() ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
      file >= 0) {
    if (::ftruncate(file, sizeof(State)) == 0)
      place = ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
  }
  if (place == MAP_FAILED)
    place =
        ::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<State*>(place);
}

State& state() {
  static State* const kState = open_state();
  return *kState;
}

// Holds the lock of the file: two runners may begin at one time.
class Locked {
 public:
  Locked() : file_(options().state.empty() ? -1 : ::open(options().state.c_str(), O_RDWR)) {
    if (file_ >= 0) ::flock(file_, LOCK_EX);
  }
  ~Locked() {
    if (file_ >= 0) ::close(file_);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  int file_;
};

int g_sticky = 0;  // what every call of this process gives from now on

Counter& counter_of(const char* name) {
  for (Counter& counter : state().functions) {
    if (counter.name[0] == 0) std::strncpy(counter.name, name, sizeof counter.name - 1);
    if (std::strcmp(counter.name, name) == 0) return counter;
  }
  std::abort();
}

}  // namespace

const Options& options() {
  static const Options kOptions = read_options();
  return kOptions;
}

int count_call(const char* name) {
  state();
  const Locked locked;
  const std::int64_t calls = ++counter_of(name).calls;
  if (g_sticky != 0) return g_sticky;
  if (options().fail != name || options().fail_at != calls) return 0;
  if (options().fail_code >= 700 && options().fail_code < 720) g_sticky = options().fail_code;
  return options().fail_code;
}

bool count_kernel() {
  const Locked locked;
  if (options().lost_at > 0 && ++state().kernels >= options().lost_at) state().lost = 1;
  return state().lost == 0;
}

bool is_lost() { return state().lost != 0; }

}  // namespace lathe::fake_cuda
