#include "tools/argosy/train/train_job_end.h"

#include <chrono>
#include <cstdlib>

#include "tools/argosy/cli/error_file.h"
#include "tools/argosy/cli/exit_code.h"

namespace argosy::cli {

namespace {

constexpr std::chrono::milliseconds kLook{250};
constexpr std::chrono::seconds kGrace{10};  // from the job's end to this one's

}  // namespace

JobEnd::JobEnd(JobTasks& job, Console& console, const char* command)
    : job_(job), console_(console), command_(command), thread_([this] { watch(); }) {}

JobEnd::~JobEnd() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void JobEnd::watch() {
  Status cause;
  auto until = std::chrono::steady_clock::time_point::max();
  while (true) {
    {
      const MutexLock lock(mutex_);
      if (!over_) (void)changed_.wait_until(mutex_, std::chrono::steady_clock::now() + kLook);
      if (over_) return;
    }
    if (cause.ok()) {
      cause = job_.cause();
      if (!cause.ok()) until = std::chrono::steady_clock::now() + kGrace;
      continue;
    }
    if (std::chrono::steady_clock::now() < until) continue;
    console_.error(cause, command_);
    write_error_file(cause, command_);
    std::_Exit(kPeerLost);
  }
}

}  // namespace argosy::cli
