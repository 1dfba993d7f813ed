// Contexts: those that are made, the primary one of each card, and which is current in a thread.
#include <algorithm>
#include <array>
#include <vector>

#include "support/fake_cuda/calls.h"
#include "support/fake_cuda/options.h"

namespace lathe::fake_cuda {
namespace {

constexpr std::size_t kMostCards = 8;

thread_local std::vector<FakeContext*> g_current;

struct Primary {
  FakeContext context;
  int holders = 0;
};
std::array<Primary, kMostCards> g_primary;

void forget(FakeContext* context) { std::erase(g_current, context); }

}  // namespace

FakeContext* current_context() { return g_current.empty() ? nullptr : g_current.back(); }

int begin_in_context(const char* name) {
  if (const int code = begin(name); code != 0) return code;
  return current_context() == nullptr ? kInvalidContext : 0;
}

}  // namespace lathe::fake_cuda

using namespace lathe::fake_cuda;  // NOLINT: the driver's names are outside of any

FAKE cuCtxCreate_v2(void** context, unsigned, int card) {
  BEGIN("cuCtxCreate_v2");
  if (is_lost()) return kUnavailable;
  auto* const made = new FakeContext{card};
  *context = made;
  g_current.push_back(made);
  return 0;
}
FAKE cuCtxDestroy_v2(void* context) {
  BEGIN("cuCtxDestroy_v2");
  forget(opaque<FakeContext>(context));
  delete opaque<FakeContext>(context);
  return 0;
}
FAKE cuCtxGetCurrent(void** context) {
  BEGIN("cuCtxGetCurrent");
  *context = current_context();
  return 0;
}
FAKE cuCtxGetDevice(int* card) {
  BEGIN_IN_CONTEXT("cuCtxGetDevice");
  *card = current_context()->card;
  return 0;
}
FAKE cuCtxPushCurrent_v2(void* context) {
  BEGIN("cuCtxPushCurrent_v2");
  if (context == nullptr) return kInvalidContext;
  g_current.push_back(opaque<FakeContext>(context));
  return 0;
}
FAKE cuCtxPopCurrent_v2(void** context) {
  BEGIN_IN_CONTEXT("cuCtxPopCurrent_v2");
  *context = g_current.back();
  g_current.pop_back();
  return 0;
}
FAKE cuDevicePrimaryCtxRetain(void** context, int card) {
  BEGIN("cuDevicePrimaryCtxRetain");
  if (card < 0 || card >= options().cards) return kInvalidDevice;
  if (is_lost()) return kUnavailable;
  Primary& primary = g_primary[static_cast<std::size_t>(card)];
  primary.context.card = card;
  ++primary.holders;
  *context = &primary.context;
  return 0;
}
FAKE cuDevicePrimaryCtxRelease_v2(int card) {
  BEGIN("cuDevicePrimaryCtxRelease_v2");
  Primary& primary = g_primary[static_cast<std::size_t>(card)];
  if (primary.holders == 0) return kInvalidContext;
  if (--primary.holders == 0) forget(&primary.context);
  return 0;
}
