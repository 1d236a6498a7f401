#include "argosy/base/guard.h"

#include <array>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "argosy/base/log.h"
#include "argosy/base/mutex.h"
#include "argosy/base/threads/interrupt.h"

namespace argosy {

namespace {

thread_local int scopes = 0;
thread_local Status task_status;

constexpr const char* kReport = "please report this line, with the graph if it can be shared: it is a bug of ours";

// Makes the status of no_memory(), and allocates for it: throws std::bad_alloc. no_memory() never throws.
Status say_no_memory() {
  return resource_exhausted("the host has no memory for it (std::bad_alloc)")
      .with_id("ARG-MEM-003")
      .with_hint(
          "smaller values, fewer of them at once, or a process with more memory (ulimit -v, the cgroup's limit)");
}

// Statuses of say_no_memory() that are made while there is memory, for no_memory() when there is none.
class Reserve {
 public:
  Reserve() { refill(); }

  // Makes a status and fills the reserve again. If one of these fails, takes one from the reserve.
  Status take() noexcept {
    while (true) {
      try {
        Status fresh = say_no_memory();
        MutexLock lock(mutex_);
        refill();
        return fresh;
      } catch (...) {
      }
      {
        MutexLock lock(mutex_);
        if (left_ > 0) return std::move(made_[--left_]);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  void refill() {
    while (left_ < made_.size()) {
      made_[left_] = say_no_memory();
      ++left_;
    }
  }

  Mutex mutex_;
  std::array<Status, 64> made_;
  std::size_t left_ = 0;
};

// Made before main(): later there may be no memory for it. Never destroyed: threads that outlive main() may ask.
Reserve& reserve = *new Reserve;

Status describe_exception() {
  try {
    throw;
  } catch (const Interrupted& e) {
    return e.reason();
  } catch (const CheckFailure& e) {
    return internal_error(e.what()).with_id("ARG-BUG-001").with_hint(kReport);
  } catch (const std::bad_alloc&) {
    return say_no_memory();
  } catch (const std::length_error& e) {
    return resource_exhausted("a size that no memory can hold (", e.what(), ")").with_id("ARG-MEM-003");
  } catch (const std::system_error& e) {
    return resource_exhausted("the system has nothing left for it: ", e.what())
        .with_id("ARG-THREAD-001")
        .with_hint("raise the limits on threads and descriptors (ulimit -u, ulimit -n, the cgroup's pids.max)");
  } catch (const std::exception& e) {
    return internal_error("unexpected exception: ", e.what()).with_id("ARG-BUG-002").with_hint(kReport);
  } catch (...) {
    return internal_error("unexpected exception").with_id("ARG-BUG-002").with_hint(kReport);
  }
}

}  // namespace

CheckScope::CheckScope(bool on) : on_(on) { scopes += on_ ? 1 : 0; }
CheckScope::~CheckScope() { scopes -= on_ ? 1 : 0; }
bool CheckScope::active() { return scopes > 0; }

Status status_of_exception() noexcept {
  try {
    return describe_exception();
  } catch (...) {  // no memory to say so, whatever it was
    return no_memory();
  }
}

Status no_memory() noexcept { return reserve.take(); }

Status copy_of(const Status& status) noexcept {
  try {
    return status;
  } catch (...) {
    return no_memory();
  }
}

void pause_for_memory(int attempt) {
  constexpr int kAttempts = 2000;
  if (attempt >= kAttempts) throw;  // inside the handler of what was thrown
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Status thrown_by_task() noexcept { return copy_of(task_status); }

namespace internal {

void set_thrown_by_task(Status status) noexcept { task_status = std::move(status); }
void log_thrown(const char* what, const Status& status) noexcept {
  try {
    ARGOSY_LOG(kWarning, what, ": ", status);
  } catch (...) {  // no memory for the line: the error is told where it belongs all the same
  }
}

}  // namespace internal
}  // namespace argosy
