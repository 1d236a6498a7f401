// ProgramPool: the programs that the kernels of a session share. A deep network can have thousands of products of equal
// shapes. A program for each would cost time and kilobytes, and together they would exceed the CPU's caches. The pool
// has weak references only: a program is freed with the last kernel that uses it. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "argosy/base/mutex.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/onednn/onednn.h"

namespace argosy::onednn {

template <typename Spec>
using MakeProgram = Result<std::unique_ptr<Program>> (*)(const Spec&);

template <typename Spec>
class ProgramPool final : public Resource {
 public:
  // The program for `spec` on this device, made if no kernel has it. Devices do not share programs: a device runs one
  // kernel at a time, and a program is fastest with one call at a time.
  Result<std::shared_ptr<Program>> get(const Spec& spec, const Device* device, MakeProgram<Spec> make) {
    const std::size_t key = spec.hash() ^ std::hash<const Device*>()(device);
    {
      MutexLock lock(mutex_);
      if (auto known = find(key, spec, device)) return known;
    }
    // Made without the lock, so that devices make their first programs concurrently.
    ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<Program> made, make(spec));
    MutexLock lock(mutex_);
    if (auto known = find(key, spec, device)) return known;
    if (programs_.size() >= most_) {  // changing shapes leave expired entries
      std::erase_if(programs_, [](const auto& entry) { return entry.second.program.expired(); });
      most_ = 2 * programs_.size() + kLeast;
    }
    programs_.emplace(key, Entry{spec, device, made});
    return made;
  }
  // The number of entries, expired ones included.
  std::size_t size() const {
    MutexLock lock(mutex_);
    return programs_.size();
  }
  std::string describe() const override { return "oneDNN programs"; }

 private:
  static constexpr std::size_t kLeast = 64;
  struct Entry {
    Spec spec;
    const Device* device;
    std::weak_ptr<Program> program;
  };
  std::shared_ptr<Program> find(std::size_t key, const Spec& spec, const Device* device) const ARGOSY_REQUIRES(mutex_) {
    const auto [first, last] = programs_.equal_range(key);
    for (auto entry = first; entry != last; ++entry) {
      if (entry->second.device != device || !(entry->second.spec == spec)) continue;
      if (auto program = entry->second.program.lock()) return program;
    }
    return nullptr;
  }

  mutable Mutex mutex_;
  std::unordered_multimap<std::size_t, Entry> programs_ ARGOSY_GUARDED_BY(mutex_);
  std::size_t most_ ARGOSY_GUARDED_BY(mutex_) = kLeast;
};

// A kernel's access to its session's pool. Both are null outside of a session.
template <typename Spec>
struct SharedPrograms {
  std::shared_ptr<ProgramPool<Spec>> pool = nullptr;
  const Device* device = nullptr;

  // `kind`: the pool's name within the session; one for each Spec.
  static Result<SharedPrograms> of(const KernelInit& init, const std::string& kind) {
    if (init.op_state == nullptr) return SharedPrograms();
    ARGOSY_ASSIGN_OR_RETURN(auto pool, init.op_state->find_or_make<ProgramPool<Spec>>(
                                           "_programs", kind, [] { return std::make_shared<ProgramPool<Spec>>(); }));
    return SharedPrograms{std::move(pool), init.device};
  }
};

}  // namespace argosy::onednn
