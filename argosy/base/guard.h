// Guards: turn exceptions into Status. Our own errors are values. Exceptions come from below: std::bad_alloc,
// std::system_error of a thread that cannot start, and a failed ARGOSY_CHECK. A guard surrounds each kernel, each call
// of a client, each import, each task of a pool and each thread of ours. It returns a Status, and the process
// continues.
//
// A failed check throws only while a CheckScope lives on its thread; elsewhere it aborts. Destructors and noexcept
// functions abort in any case.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "argosy/base/status.h"

namespace argosy {

// The exception of a failed check inside a CheckScope: a bug of ours, with its place in the source.
class CheckFailure final : public std::exception {
 public:
  explicit CheckFailure(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Makes failed checks throw on this thread. Scopes nest. `on` false: no effect. Costs two additions to a thread-local
// counter.
class CheckScope {
 public:
  explicit CheckScope(bool on = true);
  ~CheckScope();
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;

  // True while a scope lives on this thread.
  static bool active();

 private:
  const bool on_;
};

// The current exception as a Status; call it inside a catch block. RESOURCE_EXHAUSTED: no memory, no thread, or a size
// that no container can have. INTERNAL, with a request to report it: a failed check. INTERNAL: anything else.
// no_memory() where the message itself cannot be allocated.
Status status_of_exception() noexcept;

// A RESOURCE_EXHAUSTED status (ARG-MEM-003). It is made now if there is memory for its text. Else it comes from a
// reserve of 64 that were made while there was memory. When the reserve is empty, the thread waits until memory is
// released, as failing steps do.
Status no_memory() noexcept;

// A copy of `status`, or no_memory(): for callers that must continue.
Status copy_of(const Status& status) noexcept;

// Returns f(), or the status of what it threw. F returns a Status or a Result.
template <typename F>
std::invoke_result_t<F&> guarded(F&& f) {
  const CheckScope scope;
  try {
    return f();
  } catch (...) {
    return status_of_exception();
  }
}

// Calls f() and logs what it throws.
template <typename F>
void contained(const char* what, F&& f) noexcept;

// Calls f() again while it throws std::bad_alloc, for up to two seconds. For the few steps that must not stay half
// done. REQUIRES: a call that throws has changed nothing.
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

// The status of the exception of the task that this thread ran last; OK: none. Valid while run_task() or
// call_and_release() destroys the task, so that the destructors of its captures can report the cause to those who wait.
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
// Calls `task` once, logs what it throws, and empties it. See thrown_by_task().
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

// Calls the callback once and destroys it. What it throws is logged and available by thrown_by_task() during the
// destruction.
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
