#include "api/session.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/cache_mode.h"

namespace lathe {

Session::Session() : impl_(std::make_shared<Impl>()) {}

Session::Impl::Impl() : owner_(::getpid()) {}

Session::Impl::~Impl() {
  // The helpers are the parent's: they must not end with a copy of what holds them.
  if (::getpid() != owner_) new std::shared_ptr<measure::Session>(std::move(session_));
}

Result<std::shared_ptr<measure::Session>> Session::Impl::open(const Target& target,
                                                              const measure::Options& options) {
  if (::getpid() != owner_)
    return fail(ErrorKind::kInvalidArgument,
                "this session belongs to the process that forked this one; make another here");
  const std::string wanted =
      fmt::format("{} {} {}", target.text(), options.jobs, name_of(options.cache));
  if (session_ && serves_ == wanted) return session_;
  session_.reset();  // the old helpers end first
  session_ = LATHE_TRY(measure::open_session(target, options));
  serves_ = wanted;
  return session_;
}

}  // namespace lathe
