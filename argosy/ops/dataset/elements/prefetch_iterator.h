// PrefetchIterator: a thread that computes elements ahead of the caller, into a buffer of bounded length, as long as
// the budget of host memory allows.
// Internal to the family.
#pragma once

#include <deque>
#include <functional>

#include "argosy/ops/dataset/held_elements.h"

namespace argosy::datasets {

class PrefetchIterator final : public ThreadedIterator {
 public:
  struct Options {
    std::size_t length = 2;         // of the buffer
    std::size_t longest = 0;        // if above `length`: it doubles up to this when the caller finds it empty
    std::function<void()> on_news;  // called by the thread after every element and at the end
    std::size_t components = 1;     // of an element
  };
  using Open = std::function<Result<IteratorPtr>(const IteratorContext&)>;

  PrefetchIterator(const IteratorContext& context, Options options);
  ~PrefetchIterator() override { stop(); }
  // Opens the input now; the first next() starts the thread.
  Status open(const Open& open);
  // Starts the thread now, and opens the input there.
  Status start_opening(Open open);

  Result<bool> next(Element& out) override;
  bool ready() override;  // true at the end, too

 private:
  struct Slot {
    Status status;
    Element element;
  };
  void run_prefetch();
  // True if the budget of host memory allows one more element.
  bool may_grow() ARGOSY_REQUIRES(mutex_);
  void broke() override {
    if (options_.on_news) options_.on_news();
  }

  const Options options_;
  IteratorPtr input_;  // used by the thread alone, once it runs
  HeldItems held_ ARGOSY_GUARDED_BY(mutex_);
  std::deque<Slot> buffer_ ARGOSY_GUARDED_BY(mutex_);
  std::size_t length_ ARGOSY_GUARDED_BY(mutex_);
  bool started_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool waiting_ ARGOSY_GUARDED_BY(mutex_) = false;  // the caller waits
  bool full_ ARGOSY_GUARDED_BY(mutex_) = false;     // the thread waits for room
};

}  // namespace argosy::datasets
