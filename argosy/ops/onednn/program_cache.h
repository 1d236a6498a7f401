// ProgramCache: the programs of one kernel, one per set of shapes and team size, shared with other kernels of its
// session where there is one. Thread-safe; finding one again takes no lock.
#pragma once

#include <atomic>
#include <memory>

#include "argosy/base/mutex.h"
#include "argosy/base/threads/library_threads.h"
#include "argosy/ops/onednn/onednn.h"
#include "argosy/ops/onednn/program_pool.h"

namespace argosy::onednn {

template <typename Spec>
class ProgramCache {
 public:
  explicit ProgramCache(MakeProgram<Spec> make, SharedPrograms<Spec> shared = {})
      : make_(make), shared_(std::move(shared)) {}
  ~ProgramCache() {
    for (const Entry* e = head_.load(); e != nullptr;) {
      const std::unique_ptr<const Entry> gone(e);
      e = e->next;
    }
  }
  ProgramCache(const ProgramCache&) = delete;
  ProgramCache& operator=(const ProgramCache&) = delete;

  // The program for `spec` and the calling thread's team. At most kMost programs are cached. Beyond that, as for shapes
  // that change in every step, `own` holds the new program for this call.
  Result<Program*> get(Spec spec, std::shared_ptr<Program>& own) {
    spec.threads = library_threads();
    if (Program* found = find(spec)) [[likely]]
      return found;
    MutexLock lock(mutex_);
    if (Program* found = find(spec)) return found;
    if (shared_.pool != nullptr) {
      ARGOSY_ASSIGN_OR_RETURN(own, shared_.pool->get(spec, shared_.device, make_));
    } else {
      ARGOSY_ASSIGN_OR_RETURN(own, make_(spec));
    }
    if (kept_ == kMost) return own.get();
    ++kept_;
    const auto* entry =
        new Entry{spec, std::move(own), head_.load(std::memory_order_relaxed)};  // freed by the destructor
    head_.store(entry, std::memory_order_release);
    return entry->program.get();
  }

 private:
  static constexpr int kMost = 16;
  struct Entry {
    Spec spec;
    std::shared_ptr<Program> program;
    const Entry* next;
  };
  Program* find(const Spec& spec) const {
    for (const Entry* e = head_.load(std::memory_order_acquire); e != nullptr; e = e->next) {
      if (e->spec == spec) return e->program.get();
    }
    return nullptr;
  }

  const MakeProgram<Spec> make_;
  const SharedPrograms<Spec> shared_;
  std::atomic<const Entry*> head_{nullptr};  // newest first; entries never change
  Mutex mutex_;
  int kept_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace argosy::onednn
