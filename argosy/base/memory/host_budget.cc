#include "argosy/base/memory/host_budget.h"

#include <algorithm>

#include "argosy/base/memory/host_memory.h"

namespace argosy {

namespace {

constexpr const char* kNames[kHostUses] = {"strings", "files", "graphs", "functions", "images", "buffers"};

std::string bytes_text(std::int64_t bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

}  // namespace

void HostBudget::Reservation::give_back() {
  if (budget_ == nullptr) return;
  budget_->total_.fetch_sub(bytes_, std::memory_order_relaxed);
  budget_->uses_[static_cast<std::size_t>(use_)].fetch_sub(bytes_, std::memory_order_relaxed);
  budget_ = nullptr;
  bytes_ = 0;
}

std::int64_t HostBudget::limit() const {
  const std::int64_t set = limit_.load(std::memory_order_relaxed);
  return set > 0 ? set : memory_of_process() / 4;
}

std::shared_ptr<void> HostBudget::with_limit(std::int64_t bytes) {
  {
    MutexLock lock(mutex_);
    limits_.insert(bytes);
    limit_.store(*limits_.rbegin(), std::memory_order_relaxed);
  }
  // Without the lock: where there is no memory for the pointer, it calls what gives the limit back.
  return std::shared_ptr<void>(this, [bytes](void* budget) {
    auto& self = *static_cast<HostBudget*>(budget);
    MutexLock again(self.mutex_);
    self.limits_.erase(self.limits_.find(bytes));
    self.limit_.store(self.limits_.empty() ? 0 : *self.limits_.rbegin(), std::memory_order_relaxed);
  });
}

Result<HostBudget::Reservation> HostBudget::reserve(HostUse use, std::int64_t bytes, std::string_view what) {
  if (bytes <= 0) return Reservation();
  const std::int64_t most = limit();
  const std::int64_t before = total_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes > most || before > most - bytes) {
    total_.fetch_sub(bytes, std::memory_order_relaxed);
    return refused(bytes, what);
  }
  uses_[static_cast<std::size_t>(use)].fetch_add(bytes, std::memory_order_relaxed);
  return Reservation(this, use, bytes);
}

Status HostBudget::check(std::int64_t bytes, std::string_view what) const {
  const std::int64_t most = limit();
  return bytes <= most && in_use() <= most - bytes ? ok_status() : refused(bytes, what);
}

Status HostBudget::refused(std::int64_t bytes, std::string_view what) const {
  std::string users;
  for (int u = 0; u < kHostUses; ++u) {
    const std::int64_t held = uses_[static_cast<std::size_t>(u)].load(std::memory_order_relaxed);
    if (held > 0) users += str_cat(users.empty() ? "" : ", ", kNames[u], " ", bytes_text(held));
  }
  const bool chosen = limit_.load(std::memory_order_relaxed) > 0;
  return resource_exhausted(what, " takes ", bytes_text(bytes), " of host memory; ", bytes_text(in_use()),
                            " are in use", users.empty() ? "" : str_cat(" (", users, ")"), ", ", bytes_text(limit()),
                            " are allowed", chosen ? "" : " (a quarter of what there is)")
      .with_id("ARG-MEM-004")
      .with_hint("a higher --mem cpu:0=…, or fewer and smaller values at a time");
}

HostBudget& host_budget() {
  static auto* budget = new HostBudget;  // never destroyed: reservations may outlive everything
  return *budget;
}

}  // namespace argosy
