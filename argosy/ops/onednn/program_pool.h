// ProgramPool: the programs that kernels of one session have in common. The products of a deep network are alike by the
// thousand; each made alone costs microseconds and kilobytes, and a large graph has more of them than a cache holds.
// Holds nothing itself: a program goes with the last kernel that uses it. Thread-safe.
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
  // The program for `spec` on this device, made when no kernel has it. A device does one kernel at a time, and a
  // program serves one call best: devices do not share.
  Result<std::shared_ptr<Program>> get(const Spec& spec, const Device* device, MakeProgram<Spec> make) {
    const std::size_t key = spec.hash() ^ std::hash<const Device*>()(device);
    {
      MutexLock lock(mutex_);
      if (auto known = find(key, spec, device)) return known;
    }
    // Made without the lock: the first programs of all devices are made at once.
    ARGOSY_ASSIGN_OR_RETURN(std::shared_ptr<Program> made, make(spec));
    MutexLock lock(mutex_);
    if (auto known = find(key, spec, device)) return known;
    if (programs_.size() >= most_) {  // shapes that never come to rest leave entries behind
      std::erase_if(programs_, [](const auto& entry) { return entry.second.program.expired(); });
      most_ = 2 * programs_.size() + kLeast;
    }
    programs_.emplace(key, Entry{spec, device, made});
    return made;
  }
  // How many entries there are, some of programs that are gone.
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

// Where a kernel of a session finds what others have made; both null outside of a session.
template <typename Spec>
struct SharedPrograms {
  std::shared_ptr<ProgramPool<Spec>> pool = nullptr;
  const Device* device = nullptr;

  // `kind`: a name for programs of this Spec.
  static Result<SharedPrograms> of(const KernelInit& init, const std::string& kind) {
    if (init.session == nullptr) return SharedPrograms();
    ARGOSY_ASSIGN_OR_RETURN(auto pool, init.session->find_or_make<ProgramPool<Spec>>(
                                           "_programs", kind, [] { return std::make_shared<ProgramPool<Spec>>(); }));
    return SharedPrograms{std::move(pool), init.device};
  }
};

}  // namespace argosy::onednn
