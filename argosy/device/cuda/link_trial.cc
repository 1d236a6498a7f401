#include "argosy/device/cuda/link_trial.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "argosy/base/clock.h"

namespace argosy::cuda {

namespace {

// Shared with the thread that does the work, which may outlive the call.
class Trial {
 public:
  Trial(std::shared_ptr<const Driver> driver, std::shared_ptr<Links> links, std::vector<TrialCard> cards,
        const TrialOptions& options);

  void work();
  // What is known when all was tried, or nothing more comes; `all` says which.
  std::vector<LinkFacts> wait(bool* all);

 private:
  struct Card {
    std::shared_ptr<Core> core;
    Buffer memory;
    std::byte* pinned = nullptr;
    Status status;
  };

  void prepare(std::size_t card);
  LinkFacts from_host(std::size_t card);
  LinkFacts to_host(std::size_t card);
  LinkFacts between(std::size_t from, std::size_t to);
  // `copy` starts one copy on the stream; the best of some, in bytes a second.
  template <typename Copy>
  Status measure(Core& core, CuStream stream, double* bytes_per_second, const Copy& copy);
  // What a card's memory must hold after it was filled for the k-th time.
  void pattern(std::byte* to, std::uint32_t seed) const;
  bool holds(const std::byte* data, std::uint32_t seed) const;
  Status fill(Card& card, std::uint32_t seed);

  const std::shared_ptr<const Driver> driver_;
  const std::shared_ptr<Links> links_;
  const std::vector<TrialCard> numbers_;
  const TrialOptions options_;
  std::vector<Card> cards_;  // the worker's
  std::uint32_t seed_ = 0;   // likewise

  Mutex mutex_;
  CondVar changed_;
  std::vector<LinkFacts> done_ ARGOSY_GUARDED_BY(mutex_);  // in the order of planned_
  std::vector<LinkFacts> planned_;
};

Trial::Trial(std::shared_ptr<const Driver> driver, std::shared_ptr<Links> links, std::vector<TrialCard> cards,
             const TrialOptions& options)
    : driver_(std::move(driver)), links_(std::move(links)), numbers_(std::move(cards)), options_(options) {
  cards_.resize(numbers_.size());
  for (const TrialCard& card : numbers_) {
    planned_.push_back({.to = card.number});
    planned_.push_back({.from = card.number});
  }
  for (const TrialCard& from : numbers_) {
    for (const TrialCard& to : numbers_) {
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
  Card& card = cards_[c];
  card.core = std::make_shared<Core>(driver_, numbers_[c].handle, str_cat("gpu:", numbers_[c].number), 0);
  links_->join(card.core);
  auto memory = card.core->allocate(options_.bytes, true);
  card.status = memory.status();
  if (!card.status.ok()) return;
  card.memory = *std::move(memory);
  card.pinned = card.core->staging(options_.bytes);
  if (card.pinned == nullptr) {
    card.status = resource_exhausted("the host has no ", format_bytes(options_.bytes), " of memory to pin");
  }
}

template <typename Copy>
Status Trial::measure(Core& core, CuStream stream, double* bytes_per_second, const Copy& copy) {
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
  Card& card = cards_[c];
  LinkFacts facts{.to = numbers_[c].number, .reaches = true, .direct = true};
  if (!card.status.ok()) {
    facts.problem = card.status.message();
    return facts;
  }
  const CuStream stream = card.core->copies();
  const auto at = reinterpret_cast<CuPointer>(card.memory.data());
  const std::uint32_t seed = ++seed_;
  pattern(card.pinned, seed);
  Status status = measure(*card.core, stream, &facts.bytes_per_second, [&] {
    return card.core->check(card.core->driver()->cuMemcpyHtoDAsync_v2(at, card.pinned, options_.bytes, stream),
                            "cuMemcpyHtoDAsync");
  });
  if (status.ok()) {
    // Back by way of other memory: what was sent may not be what is looked at.
    std::vector<std::byte> back(options_.bytes);
    status = card.core->check(card.core->driver()->cuMemcpyDtoHAsync_v2(back.data(), at, options_.bytes, stream),
                              "cuMemcpyDtoHAsync");
    if (status.ok()) status = card.core->check(card.core->driver()->cuStreamSynchronize(stream), "cuStreamSynchronize");
    facts.tried = status.ok();
    facts.intact = status.ok() && holds(back.data(), seed);
  }
  if (!status.ok()) facts.problem = status.message();
  if (facts.tried && !facts.intact) facts.problem = "what arrives is not what was sent";
  return facts;
}

Status Trial::fill(Card& card, std::uint32_t seed) {
  std::vector<std::byte> sent(options_.bytes);
  pattern(sent.data(), seed);
  const DriverCalls& cu = *card.core->driver().operator->();
  ARGOSY_RETURN_IF_ERROR(card.core->open());
  ARGOSY_RETURN_IF_ERROR(card.core->check(cu.cuMemcpyHtoDAsync_v2(reinterpret_cast<CuPointer>(card.memory.data()),
                                                                  sent.data(), options_.bytes, card.core->copies()),
                                          "cuMemcpyHtoDAsync"));
  return card.core->check(cu.cuStreamSynchronize(card.core->copies()), "cuStreamSynchronize");
}

LinkFacts Trial::to_host(std::size_t c) {
  Card& card = cards_[c];
  LinkFacts facts{.from = numbers_[c].number, .reaches = true, .direct = true};
  if (!card.status.ok()) {
    facts.problem = card.status.message();
    return facts;
  }
  const CuStream stream = card.core->copies();
  const std::uint32_t seed = ++seed_;
  Status status = fill(card, seed);
  if (status.ok()) {
    std::memset(card.pinned, 0, options_.bytes);
    status = measure(*card.core, stream, &facts.bytes_per_second, [&] {
      return card.core->check(card.core->driver()->cuMemcpyDtoHAsync_v2(
                                  card.pinned, reinterpret_cast<CuPointer>(card.memory.data()), options_.bytes, stream),
                              "cuMemcpyDtoHAsync");
    });
  }
  facts.tried = status.ok();
  facts.intact = status.ok() && holds(card.pinned, seed);
  if (!status.ok()) facts.problem = status.message();
  if (facts.tried && !facts.intact) facts.problem = "what arrives is not what was sent";
  return facts;
}

LinkFacts Trial::between(std::size_t from, std::size_t to) {
  Card &source = cards_[from], &target = cards_[to];
  LinkFacts facts{.from = numbers_[from].number, .to = numbers_[to].number};
  int can = 0;
  facts.reaches =
      (*driver_)->cuDeviceCanAccessPeer(&can, numbers_[to].handle, numbers_[from].handle) == kCuSuccess && can != 0;
  for (const Card* card : {&source, &target}) {
    if (card->status.ok()) continue;
    facts.problem = card->status.message();
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
      return links_->copy(*target.core, reinterpret_cast<CuPointer>(target.memory.data()), source.core->card(),
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
  for (std::size_t c = 0; c < cards_.size(); ++c) prepare(c);
  const auto give = [this](LinkFacts facts) {
    MutexLock lock(mutex_);
    done_.push_back(std::move(facts));
    changed_.notify_all();
  };
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    give(from_host(c));
    give(to_host(c));
  }
  for (std::size_t from = 0; from < cards_.size(); ++from) {
    for (std::size_t to = 0; to < cards_.size(); ++to) {
      if (from != to) give(between(from, to));
    }
  }
  for (Card& card : cards_) {
    if (card.pinned != nullptr) card.core->drop_staging(card.pinned);
  }
  cards_.clear();
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
                                 std::vector<TrialCard> cards, const TrialOptions& options) {
  if (cards.empty()) return {};
  const auto trial = std::make_shared<Trial>(driver, links, std::move(cards), options);
  // A thread of its own, so that a driver that never returns keeps nobody.
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
