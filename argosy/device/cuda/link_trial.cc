#include "argosy/device/cuda/link_trial.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "argosy/base/clock.h"

namespace argosy::cuda {

namespace {

// State shared with the thread that does the trial, which may outlive the call.
class Trial {
 public:
  Trial(std::shared_ptr<const Driver> driver, std::shared_ptr<Links> links, std::vector<TrialGpu> gpus,
        const TrialOptions& options);

  void work();
  // Waits until all links were tried (sets `*all`), or nothing more comes. Returns the results so far.
  std::vector<LinkFacts> wait(bool* all);

 private:
  struct Gpu {
    std::shared_ptr<DeviceCore> core;
    Buffer memory;
    std::byte* pinned = nullptr;
    Status status;
  };

  void prepare(std::size_t gpu);
  LinkFacts from_host(std::size_t gpu);
  LinkFacts to_host(std::size_t gpu);
  LinkFacts between(std::size_t from, std::size_t to);
  // Times several copies that `copy` starts on the stream; the best one counts, in bytes per second.
  template <typename Copy>
  Status measure(DeviceCore& core, CuStream stream, double* bytes_per_second, const Copy& copy);
  // The pattern that a GPU's memory is filled with, from a seed; and whether data hold it.
  void pattern(std::byte* to, std::uint32_t seed) const;
  bool holds(const std::byte* data, std::uint32_t seed) const;
  Status fill(Gpu& gpu, std::uint32_t seed);

  const std::shared_ptr<const Driver> driver_;
  const std::shared_ptr<Links> links_;
  const std::vector<TrialGpu> numbers_;
  const TrialOptions options_;
  std::vector<Gpu> gpus_;   // the worker's
  std::uint32_t seed_ = 0;  // likewise

  Mutex mutex_;
  CondVar changed_;
  std::vector<LinkFacts> done_ ARGOSY_GUARDED_BY(mutex_);  // in the order of planned_
  std::vector<LinkFacts> planned_;
};

Trial::Trial(std::shared_ptr<const Driver> driver, std::shared_ptr<Links> links, std::vector<TrialGpu> gpus,
             const TrialOptions& options)
    : driver_(std::move(driver)), links_(std::move(links)), numbers_(std::move(gpus)), options_(options) {
  gpus_.resize(numbers_.size());
  for (const TrialGpu& gpu : numbers_) {
    planned_.push_back({.to = gpu.number});
    planned_.push_back({.from = gpu.number});
  }
  for (const TrialGpu& from : numbers_) {
    for (const TrialGpu& to : numbers_) {
      if (&from != &to) planned_.push_back({.from = from.number, .to = to.number});
    }
  }
}

void Trial::pattern(std::byte* to, std::uint32_t seed) const {
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::size_t at = 0; at + 4 <= options_.bytes; at += 4) {
    state = state * 1664525U + 1013904223U;
    std::memcpy(to + at, &state, 4);
  }
}

bool Trial::holds(const std::byte* data, std::uint32_t seed) const {
  std::uint32_t state = seed * 2654435761U + 1, found = 0;
  for (std::size_t at = 0; at + 4 <= options_.bytes; at += 4) {
    state = state * 1664525U + 1013904223U;
    std::memcpy(&found, data + at, 4);
    if (found != state) return false;
  }
  return true;
}

void Trial::prepare(std::size_t c) {
  Gpu& gpu = gpus_[c];
  gpu.core = std::make_shared<DeviceCore>(driver_, numbers_[c].handle, str_cat("gpu:", numbers_[c].number), 0,
                                          CudaDevice::kGrace);
  links_->join(gpu.core);
  auto memory = gpu.core->memory().allocate(options_.bytes, true);
  gpu.status = memory.status();
  if (!gpu.status.ok()) return;
  gpu.memory = *std::move(memory);
  gpu.pinned = gpu.core->pinned().take(options_.bytes);
  if (gpu.pinned == nullptr) {
    gpu.status = resource_exhausted("the host has no ", format_bytes(options_.bytes), " of memory to pin");
  }
}

template <typename Copy>
Status Trial::measure(DeviceCore& core, CuStream stream, double* bytes_per_second, const Copy& copy) {
  for (int round = 0; round < options_.rounds; ++round) {
    ARGOSY_RETURN_IF_ERROR(core.open());
    const std::int64_t start = now_nanos();
    ARGOSY_RETURN_IF_ERROR(copy());
    ARGOSY_RETURN_IF_ERROR(core.open());
    ARGOSY_RETURN_IF_ERROR(core.check(core.driver()->cuStreamSynchronize(stream), "cuStreamSynchronize"));
    const double seconds = static_cast<double>(std::max<std::int64_t>(now_nanos() - start, 1)) * 1e-9;
    *bytes_per_second = std::max(*bytes_per_second, static_cast<double>(options_.bytes) / seconds);
  }
  return {};
}

LinkFacts Trial::from_host(std::size_t c) {
  Gpu& gpu = gpus_[c];
  LinkFacts facts{.to = numbers_[c].number, .reaches = true, .direct = true};
  if (!gpu.status.ok()) {
    facts.problem = gpu.status.message();
    return facts;
  }
  const CuStream stream = gpu.core->copies();
  const auto at = reinterpret_cast<CuPointer>(gpu.memory.data());
  const std::uint32_t seed = ++seed_;
  pattern(gpu.pinned, seed);
  Status status = measure(*gpu.core, stream, &facts.bytes_per_second, [&] {
    return gpu.core->check(gpu.core->driver()->cuMemcpyHtoDAsync_v2(at, gpu.pinned, options_.bytes, stream),
                           "cuMemcpyHtoDAsync");
  });
  if (status.ok()) {
    // The data go back through other memory: a copy that moved nothing would otherwise look intact.
    std::vector<std::byte> back(options_.bytes);
    status = gpu.core->check(gpu.core->driver()->cuMemcpyDtoHAsync_v2(back.data(), at, options_.bytes, stream),
                             "cuMemcpyDtoHAsync");
    if (status.ok()) status = gpu.core->check(gpu.core->driver()->cuStreamSynchronize(stream), "cuStreamSynchronize");
    facts.tried = status.ok();
    facts.intact = status.ok() && holds(back.data(), seed);
  }
  if (!status.ok()) facts.problem = status.message();
  if (facts.tried && !facts.intact) facts.problem = "what arrives is not what was sent";
  return facts;
}

Status Trial::fill(Gpu& gpu, std::uint32_t seed) {
  std::vector<std::byte> sent(options_.bytes);
  pattern(sent.data(), seed);
  const DriverCalls& cu = *gpu.core->driver().operator->();
  ARGOSY_RETURN_IF_ERROR(gpu.core->open());
  ARGOSY_RETURN_IF_ERROR(gpu.core->check(cu.cuMemcpyHtoDAsync_v2(reinterpret_cast<CuPointer>(gpu.memory.data()),
                                                                 sent.data(), options_.bytes, gpu.core->copies()),
                                         "cuMemcpyHtoDAsync"));
  return gpu.core->check(cu.cuStreamSynchronize(gpu.core->copies()), "cuStreamSynchronize");
}

LinkFacts Trial::to_host(std::size_t c) {
  Gpu& gpu = gpus_[c];
  LinkFacts facts{.from = numbers_[c].number, .reaches = true, .direct = true};
  if (!gpu.status.ok()) {
    facts.problem = gpu.status.message();
    return facts;
  }
  const CuStream stream = gpu.core->copies();
  const std::uint32_t seed = ++seed_;
  Status status = fill(gpu, seed);
  if (status.ok()) {
    std::memset(gpu.pinned, 0, options_.bytes);
    status = measure(*gpu.core, stream, &facts.bytes_per_second, [&] {
      return gpu.core->check(gpu.core->driver()->cuMemcpyDtoHAsync_v2(
                                 gpu.pinned, reinterpret_cast<CuPointer>(gpu.memory.data()), options_.bytes, stream),
                             "cuMemcpyDtoHAsync");
    });
  }
  facts.tried = status.ok();
  facts.intact = status.ok() && holds(gpu.pinned, seed);
  if (!status.ok()) facts.problem = status.message();
  if (facts.tried && !facts.intact) facts.problem = "what arrives is not what was sent";
  return facts;
}

LinkFacts Trial::between(std::size_t from, std::size_t to) {
  Gpu &source = gpus_[from], &target = gpus_[to];
  LinkFacts facts{.from = numbers_[from].number, .to = numbers_[to].number};
  int can = 0;
  facts.reaches =
      (*driver_)->cuDeviceCanAccessPeer(&can, numbers_[to].handle, numbers_[from].handle) == kCuSuccess && can != 0;
  for (const Gpu* gpu : {&source, &target}) {
    if (gpu->status.ok()) continue;
    facts.problem = gpu->status.message();
    return facts;
  }
  const std::uint32_t seed = ++seed_;
  Status status = fill(source, seed);
  if (status.ok()) status = fill(target, 0);
  if (status.ok()) {
    const Result<bool> direct = links_->reach(*target.core, *source.core, &facts.why_not);
    status = direct.status();
    facts.direct = direct.ok() && *direct;
  }
  if (status.ok()) {
    status = measure(*target.core, target.core->copies(), &facts.bytes_per_second, [&] {
      return links_->copy(*target.core, reinterpret_cast<CuPointer>(target.memory.data()), source.core->gpu(),
                          reinterpret_cast<CuPointer>(source.memory.data()), options_.bytes);
    });
  }
  std::vector<std::byte> arrived(options_.bytes);
  if (status.ok()) {
    const DriverCalls& cu = *driver_->operator->();
    status =
        target.core->check(cu.cuMemcpyDtoHAsync_v2(arrived.data(), reinterpret_cast<CuPointer>(target.memory.data()),
                                                   options_.bytes, target.core->copies()),
                           "cuMemcpyDtoHAsync");
    if (status.ok()) {
      status = target.core->check(cu.cuStreamSynchronize(target.core->copies()), "cuStreamSynchronize");
    }
  }
  facts.tried = status.ok();
  facts.intact = status.ok() && holds(arrived.data(), seed);
  if (!status.ok()) facts.problem = status.message();
  if (facts.tried && !facts.intact) {
    facts.problem = "what arrives is not what was sent: ARGOSY_PEER_COPIES=0, and check ACS and the IOMMU";
  }
  return facts;
}

void Trial::work() {
  for (std::size_t c = 0; c < gpus_.size(); ++c) prepare(c);
  const auto give = [this](LinkFacts facts) {
    MutexLock lock(mutex_);
    done_.push_back(std::move(facts));
    changed_.notify_all();
  };
  for (std::size_t c = 0; c < gpus_.size(); ++c) {
    give(from_host(c));
    give(to_host(c));
  }
  for (std::size_t from = 0; from < gpus_.size(); ++from) {
    for (std::size_t to = 0; to < gpus_.size(); ++to) {
      if (from != to) give(between(from, to));
    }
  }
  for (Gpu& gpu : gpus_) {
    if (gpu.pinned != nullptr) gpu.core->pinned().put(gpu.pinned);
  }
  gpus_.clear();
}

std::vector<LinkFacts> Trial::wait(bool* all) {
  MutexLock lock(mutex_);
  while (done_.size() < planned_.size()) {
    const std::size_t before = done_.size();
    const auto end = std::chrono::steady_clock::now() + options_.deadline;
    while (done_.size() == before && changed_.wait_until(mutex_, end)) {
    }
    if (done_.size() == before) break;
  }
  std::vector<LinkFacts> found = done_;
  *all = found.size() == planned_.size();
  const double seconds = std::chrono::duration<double>(options_.deadline).count();
  for (std::size_t i = found.size(); i < planned_.size(); ++i) {
    found.push_back(planned_[i]);
    found.back().problem = i == done_.size() ? str_cat("a copy does not end within ", seconds, " s")
                                             : "not tried: a copy before it does not end";
  }
  return found;
}

}  // namespace

std::vector<LinkFacts> try_links(const std::shared_ptr<const Driver>& driver, const std::shared_ptr<Links>& links,
                                 std::vector<TrialGpu> gpus, const TrialOptions& options) {
  if (gpus.empty()) return {};
  const auto trial = std::make_shared<Trial>(driver, links, std::move(gpus), options);
  // The trial runs on a thread of its own, so that a driver that never returns does not block the caller.
  std::thread worker([trial] { trial->work(); });
  bool all = false;
  std::vector<LinkFacts> found = trial->wait(&all);
  if (all) {
    worker.join();
  } else {
    worker.detach();
  }
  return found;
}

}  // namespace argosy::cuda
