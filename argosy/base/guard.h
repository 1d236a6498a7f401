// Where exceptions end. Ours are errors by value; what is thrown comes from below: std::bad_alloc, std::system_error of
// a thread that cannot start, and a failed ARGOSY_CHECK. A guard stands around each kernel, each call of a client, each
// import and each task of a pool: it makes a Status of what was thrown, and the process goes on.
//
// A check that fails throws only while a CheckScope lives on its thread; elsewhere it aborts as before. Destructors and
// noexcept functions abort in any case.
#pragma once

#include <exception>
#include <new>
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
// have and threads; INTERNAL with a line that asks for a report for a failed check; INTERNAL for the rest. Where there
// is no memory to say so: no_memory().
Status status_of_exception() noexcept;

// RESOURCE_EXHAUSTED, made while there was memory. From a reserve of 64; where that is used up the thread waits until
// something gives memory back, as steps that fail do.
Status no_memory() noexcept;

// The same, or no_memory(): for those who must go on whatever happens.
Status copy_of(const Status& status) noexcept;

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

// f(), of which nobody wants a result: what it threw is logged.
template <typename F>
void contained(const char* what, F&& f) noexcept;

// f(), again and again while it throws std::bad_alloc, for up to two seconds: for the few steps that must not be left
// half done. REQUIRES: a call that throws has changed nothing.
void pause_for_memory(int attempt);
template <typename F>
std::invoke_result_t<F&> once_there_is_memory(F&& f) {
  for (int attempt = 0;; ++attempt) {
    try {
      return f();
    } catch (const std::bad_alloc&) {
      pause_for_memory(attempt);
    }
  }
}

// A task of a thread that others wait for, run to its end. What it throws is logged, then told by
// thrown_by_task() while what the task holds is let go of: whoever is told of its end by the last of its owners can say
// why. `Task` is called once and left empty.
Status thrown_by_task() noexcept;
namespace internal {
void set_thrown_by_task(Status status) noexcept;
void log_thrown(const char* what, const Status& status) noexcept;
}  // namespace internal
template <typename F>
void contained(const char* what, F&& f) noexcept {
  try {
    f();
  } catch (...) {
    internal::log_thrown(what, status_of_exception());
  }
}
template <typename Task>
void run_task(Task& task, const char* what) {
  const CheckScope scope;
  try {
    task();
    task = nullptr;
  } catch (...) {
    Status thrown = status_of_exception();
    internal::log_thrown(what, thrown);
    internal::set_thrown_by_task(std::move(thrown));
    task = nullptr;
    internal::set_thrown_by_task({});
  }
}

// The one call of a callback, which is then let go of. What it throws goes the same way: to its last owner.
template <typename Done, typename... Args>
void call_and_release(Done& done, const char* what, Args&&... args) noexcept {
  try {
    done(std::forward<Args>(args)...);
    done = nullptr;
  } catch (...) {
    Status thrown = status_of_exception();
    internal::log_thrown(what, thrown);
    internal::set_thrown_by_task(std::move(thrown));
    done = nullptr;
    internal::set_thrown_by_task({});
  }
}

}  // namespace argosy
