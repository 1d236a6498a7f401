#include "argosy/base/guard.h"

#include <new>
#include <stdexcept>
#include <system_error>

#include "argosy/base/interrupt.h"
#include "argosy/base/log.h"

namespace argosy {

namespace {

thread_local int scopes = 0;
thread_local Status task_status;

constexpr const char* kReport = "please report this line, with the graph if it can be shared: it is a bug of ours";

}  // namespace

CheckScope::CheckScope(bool on) : on_(on) { scopes += on_ ? 1 : 0; }
CheckScope::~CheckScope() { scopes -= on_ ? 1 : 0; }
bool CheckScope::active() { return scopes > 0; }

Status status_of_exception() {
  try {
    throw;
  } catch (const Interrupted& e) {
    return e.reason();
  } catch (const CheckFailure& e) {
    return internal_error(e.what()).with_id("ARG-BUG-001").with_next(kReport);
  } catch (const std::bad_alloc&) {
    return resource_exhausted("the host has no memory for it (std::bad_alloc)")
        .with_id("ARG-MEM-003")
        .with_next(
            "smaller values, fewer of them at once, or a process with more memory (ulimit -v, the cgroup's limit)");
  } catch (const std::length_error& e) {
    return resource_exhausted("a size that no memory can hold (", e.what(), ")").with_id("ARG-MEM-003");
  } catch (const std::system_error& e) {
    return resource_exhausted("the system has nothing left for it: ", e.what())
        .with_id("ARG-THREAD-001")
        .with_next("raise the limits on threads and descriptors (ulimit -u, ulimit -n, the cgroup's pids.max)");
  } catch (const std::exception& e) {
    return internal_error("unexpected exception: ", e.what()).with_id("ARG-BUG-002").with_next(kReport);
  } catch (...) {
    return internal_error("unexpected exception").with_id("ARG-BUG-002").with_next(kReport);
  }
}

Status thrown_by_task() { return task_status; }

namespace internal {

void set_thrown_by_task(Status status) { task_status = std::move(status); }
void log_thrown(const char* what, const Status& status) { ARGOSY_LOG(kWarning, what, ": ", status); }

}  // namespace internal
}  // namespace argosy
