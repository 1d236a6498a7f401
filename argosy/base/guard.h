// Where exceptions end. Ours are errors by value; what is thrown comes from below: std::bad_alloc, std::system_error of
// a thread that cannot start, and a failed ARGOSY_CHECK. A guard stands around each kernel, each call of a client, each
// import and each task of a pool: it makes a Status of what was thrown, and the process goes on.
//
// A check that fails throws only while a CheckScope lives on its thread; elsewhere it aborts as before. Destructors and
// noexcept functions abort in any case.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "argosy/base/status.h"

namespace argosy {

// What check_failed() throws inside a CheckScope: a bug of ours, where it was found.
class CheckFailure final : public std::exception {
 public:
  explicit CheckFailure(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Costs two additions to a counter of the thread. Scopes nest. `on` false: changes nothing.
class CheckScope {
 public:
  explicit CheckScope(bool on = true);
  ~CheckScope();
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;

  // Does one live on this thread?
  static bool active();

 private:
  const bool on_;
};

// Inside a catch block: what is being handled, as a Status. RESOURCE_EXHAUSTED for memory, sizes that no container can
// have and threads; INTERNAL with a line that asks for a report for a failed check; INTERNAL for the rest.
Status status_of_exception();

// f(), or what it threw. F gives a Status or a Result.
template <typename F>
std::invoke_result_t<F&> guarded(F&& f) {
  const CheckScope scope;
  try {
    return f();
  } catch (...) {
    return status_of_exception();
  }
}

// A task of a thread that others wait for, run to its end. What it throws is logged, then told by
// thrown_by_task() while what the task holds is let go of: whoever is told of its end by the last of its owners can say
// why. `Task` is called once and left empty.
Status thrown_by_task();
namespace internal {
void set_thrown_by_task(Status status);
void log_thrown(const char* what, const Status& status);
}  // namespace internal
template <typename Task>
void run_task(Task& task, const char* what) {
  const CheckScope scope;
  try {
    task();
    task = nullptr;
  } catch (...) {
    const Status thrown = status_of_exception();
    internal::log_thrown(what, thrown);
    internal::set_thrown_by_task(thrown);
    task = nullptr;
    internal::set_thrown_by_task({});
  }
}

}  // namespace argosy
