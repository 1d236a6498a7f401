#include "argosy/device/cuda/links.h"

#include <algorithm>
#include <cstdlib>

#include "argosy/base/log.h"

namespace argosy::cuda {

namespace {
constexpr std::size_t kTrialWords = 16 << 10;
constexpr std::size_t kHostPiece = std::size_t{8} << 20;  // of a copy by the host
}  // namespace

void Links::join(const std::shared_ptr<DeviceCore>& core) {
  MutexLock lock(mutex_);
  std::erase_if(cores_, [](const auto& c) { return c.expired(); });
  cores_.push_back(core);
}

std::shared_ptr<DeviceCore> Links::on_gpu(CuDevice gpu) {
  for (const auto& weak : cores_) {
    if (auto core = weak.lock(); core != nullptr && core->gpu() == gpu && core->opened()) return core;
  }
  return nullptr;
}

Result<Links::Path> Links::path(DeviceCore& to, DeviceCore& from) {
  const auto key = std::pair{to.gpu(), from.gpu()};
  auto known = paths_.find(key);
  if (known == paths_.end()) {
    ARGOSY_ASSIGN_OR_RETURN(Path fresh, try_out(to, from));
    known = paths_.emplace(key, std::move(fresh)).first;
  }
  if (!known->second.direct) return known->second;
  for (const auto& weak : cores_) {
    const auto core = weak.lock();
    if (core == nullptr || core->gpu() != from.gpu() || !core->opened()) continue;
    ARGOSY_RETURN_IF_ERROR(core->memory().grant(to.gpu()));
  }
  return known->second;
}

Result<bool> Links::reach(DeviceCore& to, DeviceCore& from, std::string* why_not) {
  if (to.gpu() == from.gpu()) return true;
  MutexLock lock(mutex_);
  ARGOSY_ASSIGN_OR_RETURN(const Path found, path(to, from));
  if (why_not != nullptr) *why_not = found.why_not;
  return found.direct;
}

Status Links::copy(DeviceCore& to, CuPointer target, CuDevice from, CuPointer source, std::size_t bytes) {
  const DriverCalls& cu = *to.driver().operator->();
  if (from == to.gpu()) {
    return to.check(cu.cuMemcpyDtoDAsync_v2(target, source, bytes, to.copies()), "cuMemcpyDtoDAsync");
  }
  std::shared_ptr<DeviceCore> other;
  Path path;
  {
    MutexLock lock(mutex_);
    other = on_gpu(from);
    if (other == nullptr) return internal_error("a copy from a GPU that no device of ours is on");
    ARGOSY_ASSIGN_OR_RETURN(path, this->path(to, *other));
  }
  if (path.direct) {
    return to.check(cu.cuMemcpyPeerAsync(target, to.context(), source, other->context(), bytes, to.copies()),
                    "cuMemcpyPeerAsync");
  }
  // Copies piece by piece. Each piece has arrived before the next begins, so one piece of pinned memory suffices.
  std::byte* const staging = to.pinned().take(std::min(bytes, kHostPiece));
  if (staging == nullptr) return resource_exhausted(to.owner(), ": no pinned memory for a copy by the host");
  // Waits for the work before the copy: the other GPU's stream does not know of it.
  Status status = to.check(cu.cuStreamSynchronize(to.copies()), "cuStreamSynchronize");
  for (std::size_t at = 0; at < bytes && status.ok(); at += kHostPiece) {
    const std::size_t n = std::min(kHostPiece, bytes - at);
    status = other->open();
    if (!status.ok()) break;
    status = other->check(cu.cuMemcpyDtoHAsync_v2(staging, source + at, n, other->copies()), "cuMemcpyDtoHAsync");
    if (status.ok()) status = other->check(cu.cuStreamSynchronize(other->copies()), "cuStreamSynchronize");
    if (status.ok()) status = to.open();
    if (status.ok()) {
      status = to.check(cu.cuMemcpyHtoDAsync_v2(target + at, staging, n, to.copies()), "cuMemcpyHtoDAsync");
    }
    if (status.ok()) status = to.check(cu.cuStreamSynchronize(to.copies()), "cuStreamSynchronize");
  }
  if (Status back = to.open(); status.ok()) status = std::move(back);
  to.pinned().put(staging);
  return status;
}

Result<Links::Path> Links::try_out(DeviceCore& to, DeviceCore& from) {
  const DriverCalls& cu = *to.driver().operator->();
  if (const char* const setting = std::getenv("ARGOSY_PEER_COPIES"); setting != nullptr && *setting == '0') {
    return Path{false, "ARGOSY_PEER_COPIES=0"};
  }
  int can = 0;
  ARGOSY_RETURN_IF_ERROR(to.check(cu.cuDeviceCanAccessPeer(&can, to.gpu(), from.gpu()), "cuDeviceCanAccessPeer"));
  if (can == 0) return Path{false, "the GPUs do not reach each other"};
  if (Status granted = from.memory().grant(to.gpu()); !granted.ok()) return Path{false, granted.message()};
  constexpr std::size_t kBytes = kTrialWords * 4;
  // The copy streams are not ordered with other streams, and the other GPU may be capturing a step.
  ARGOSY_ASSIGN_OR_RETURN(const Buffer here, to.memory().allocate(kBytes, true));
  ARGOSY_ASSIGN_OR_RETURN(const Buffer there, from.memory().allocate(kBytes, true));
  const auto source = reinterpret_cast<CuPointer>(there.data()), target = reinterpret_cast<CuPointer>(here.data());
  std::vector<std::uint32_t> sent(kTrialWords), got(kTrialWords);
  for (std::uint32_t trial = 1; trial <= 2; ++trial) {
    for (std::size_t i = 0; i < kTrialWords; ++i) {
      sent[i] = static_cast<std::uint32_t>(i + 1) * (2654435761U * trial) ^ static_cast<std::uint32_t>(from.gpu());
    }
    ARGOSY_RETURN_IF_ERROR(from.open());
    ARGOSY_RETURN_IF_ERROR(
        from.check(cu.cuMemcpyHtoDAsync_v2(source, sent.data(), kBytes, from.copies()), "cuMemcpyHtoDAsync"));
    ARGOSY_RETURN_IF_ERROR(from.check(cu.cuStreamSynchronize(from.copies()), "cuStreamSynchronize"));
    ARGOSY_RETURN_IF_ERROR(to.open());
    ARGOSY_RETURN_IF_ERROR(to.check(
        cu.cuMemcpyPeerAsync(target, to.context(), source, from.context(), kBytes, to.copies()), "cuMemcpyPeerAsync"));
    ARGOSY_RETURN_IF_ERROR(
        to.check(cu.cuMemcpyDtoHAsync_v2(got.data(), target, kBytes, to.copies()), "cuMemcpyDtoHAsync"));
    ARGOSY_RETURN_IF_ERROR(to.check(cu.cuStreamSynchronize(to.copies()), "cuStreamSynchronize"));
    if (got != sent) {
      ARGOSY_LOG(kWarning, "copies from ", from.owner(), "'s GPU to ", to.owner(),
                 "'s bring wrong data; they go by the host (check ACS and the IOMMU: docs/gpu-status.md)");
      return Path{false, "direct copies bring wrong data"};
    }
  }
  return Path{true, {}};
}

void Links::release_idle(CuDevice gpu) {
  std::vector<std::shared_ptr<DeviceCore>> on_it;
  {
    MutexLock lock(mutex_);
    for (const auto& weak : cores_) {
      if (auto core = weak.lock(); core != nullptr && core->gpu() == gpu) on_it.push_back(std::move(core));
    }
  }
  for (const auto& core : on_it) core->memory().release_idle();
}

std::shared_ptr<void> Links::shared(const std::string& key, const std::function<std::shared_ptr<void>()>& make) {
  MutexLock lock(shared_mutex_);
  std::shared_ptr<void>& held = shared_[key];
  if (held == nullptr) held = make();
  return held;
}

std::string Links::describe(CuDevice to, CuDevice from) const {
  MutexLock lock(mutex_);
  const auto known = paths_.find({to, from});
  if (known == paths_.end()) return {};
  return known->second.direct ? "direct" : "through the host: " + known->second.why_not;
}

}  // namespace argosy::cuda
