// Behind Session of include/lathe: helpers that outlive a run.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/target.h"
#include "lathe/lathe.h"
#include "tuner/measure/measure.h"

namespace lathe {

struct Session::Impl {
  Impl();
  Impl(Impl&&) = delete;
  ~Impl();

  // The helpers that are there, if they serve such runs, else others in their place.
  Result<std::shared_ptr<measure::Session>> open(const Target& target,
                                                 const measure::Options& options);

  std::mutex at_work;  // a run holds it

 private:
  const ::pid_t owner_;  // a process whose forked child does not end them
  std::string serves_;
  std::shared_ptr<measure::Session> session_;
};

}  // namespace lathe
