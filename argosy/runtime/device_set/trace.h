// Chrome trace of steps: every op, copy and collective on its device's line. Opens in Perfetto and chrome://tracing.
// Thread-safe.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/runtime/device_set/stats.h"

namespace argosy {

class TraceWriter {
 public:
  // The file is created (and truncated) now: an unwritable path is an error before the first step.
  static Result<std::unique_ptr<TraceWriter>> open(const std::string& path);
  ~TraceWriter();  // finishes the file

  void add(const StepStats& stats, std::int64_t step_id);

 private:
  explicit TraceWriter(std::FILE* file) : file_(file) {}
  void event(const std::string& json) ARGOSY_REQUIRES(mutex_);

  Mutex mutex_;
  std::FILE* file_ ARGOSY_GUARDED_BY(mutex_);
  bool first_ ARGOSY_GUARDED_BY(mutex_) = true;
  std::int64_t origin_nanos_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::size_t named_devices_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

// The writers of a device set's sessions, by path: sessions that name one file share it.
class Traces {
 public:
  Result<std::shared_ptr<TraceWriter>> open(const std::string& path);

 private:
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<TraceWriter>> writers_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy
