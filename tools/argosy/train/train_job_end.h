// JobEnd: ends this process some time after its job, whatever its own thread waits for (a disk, a kernel that never ends).
#pragma once

#include <thread>

#include "argosy/base/mutex.h"
#include "argosy/cluster/job_tasks.h"
#include "tools/argosy/cli/console.h"

namespace argosy::cli {

class JobEnd {
 public:
  // Both outlive this. `command`: for the text of the error.
  JobEnd(JobTasks& job, Console& console, const char* command);
  // The process ends by itself.
  ~JobEnd();
  JobEnd(const JobEnd&) = delete;
  JobEnd& operator=(const JobEnd&) = delete;

 private:
  void watch();

  JobTasks& job_;
  Console& console_;
  const char* const command_;
  Mutex mutex_;
  CondVar changed_;
  bool over_ ARGOSY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace argosy::cli
