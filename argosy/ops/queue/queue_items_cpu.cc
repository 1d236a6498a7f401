#include "argosy/ops/queue/queue_items.h"

#include <deque>
#include <map>

#include "argosy/ops/random/philox.h"

namespace argosy {

namespace {

class Fifo final : public QueueItems {
 public:
  std::int64_t size() const override { return static_cast<std::int64_t>(items_.size()); }
  void push(Tuple element) override { items_.push_back(std::move(element)); }
  Tuple pop() override {
    Tuple element = std::move(items_.front());
    items_.pop_front();
    return element;
  }
  void give_back(Tuple element) override { items_.push_front(std::move(element)); }
  std::unique_ptr<QueueItems> copy() const override { return std::make_unique<Fifo>(*this); }

 private:
  std::deque<Tuple> items_;
};

class Shuffled final : public QueueItems {
 public:
  Shuffled(std::int64_t seed, std::int64_t seed2) : words_(SharedPhilox(seed, seed2).reserve(0)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(items_.size()); }
  void push(Tuple element) override { items_.push_back(std::move(element)); }
  // The last element takes the place of the one that leaves.
  Tuple pop() override {
    Tuple& chosen = items_[words_() % items_.size()];
    Tuple element = std::move(chosen);
    if (&chosen != &items_.back()) chosen = std::move(items_.back());
    items_.pop_back();
    return element;
  }
  void give_back(Tuple element) override { items_.push_back(std::move(element)); }
  std::unique_ptr<QueueItems> copy() const override { return std::make_unique<Shuffled>(*this); }

 private:
  std::vector<Tuple> items_;
  PhiloxWords words_;
};

class ByPriority final : public QueueItems {
 public:
  std::int64_t size() const override { return static_cast<std::int64_t>(items_.size()); }
  void push(Tuple element) override {
    const std::int64_t priority = *element[0].data<std::int64_t>();
    items_.emplace(priority, std::move(element));  // behind its equals
  }
  Tuple pop() override { return std::move(items_.extract(items_.begin()).mapped()); }
  void give_back(Tuple element) override {
    const std::int64_t priority = *element[0].data<std::int64_t>();
    items_.emplace_hint(items_.lower_bound(priority), priority, std::move(element));
  }
  std::unique_ptr<QueueItems> copy() const override { return std::make_unique<ByPriority>(*this); }

 private:
  std::multimap<std::int64_t, Tuple> items_;
};

}  // namespace

std::unique_ptr<QueueItems> fifo_items() { return std::make_unique<Fifo>(); }
std::unique_ptr<QueueItems> shuffled_items(std::int64_t seed, std::int64_t seed2) {
  return std::make_unique<Shuffled>(seed, seed2);
}
std::unique_ptr<QueueItems> priority_items() { return std::make_unique<ByPriority>(); }

}  // namespace argosy
