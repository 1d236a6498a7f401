#include "argosy/ops/dataset/elements/prefetch_iterator.h"

#include <algorithm>
#include <new>

#include "argosy/base/guard.h"

namespace argosy::datasets {

PrefetchIterator::PrefetchIterator(const IteratorContext& context, Options options)
    : ThreadedIterator(context),
      options_(std::move(options)),
      held_(held_tuples(options_.components, "elements read ahead")),
      length_(std::max<std::size_t>(options_.length, 1)) {}

Status PrefetchIterator::open(const Open& open) {
  ARGOSY_ASSIGN_OR_RETURN(input_, open(inner()));
  return ok_status();
}

Status PrefetchIterator::start_opening(Open open) {
  MutexLock lock(mutex_);
  started_ = true;
  return start([this, open = std::move(open)] {
    auto input = guarded([&] { return open(inner()); });
    if (input.ok()) {
      input_ = *std::move(input);
      return run_prefetch();
    }
    {
      MutexLock inner_lock(mutex_);
      Slot failed{std::move(input).status(), {}};
      auto* const buffer = &buffer_;
      once_there_is_memory([&] { buffer->push_back(std::move(failed)); });
      ended_ = true;
      changed_.notify_all();
    }
    if (options_.on_news) options_.on_news();
  });
}

Result<bool> PrefetchIterator::next(Element& out) {
  MutexLock lock(mutex_);
  if (!started_) {
    ARGOSY_RETURN_IF_ERROR(start([this] { run_prefetch(); }));
    started_ = true;
  } else if (buffer_.empty() && !ended_ && length_ < options_.longest) {
    length_ = std::min(2 * length_, options_.longest);
  }
  while (buffer_.empty() && !ended_ && !stopping_) {
    waiting_ = true;
    changed_.wait(mutex_);
    waiting_ = false;
  }
  if (stopping_) return stopped();
  if (buffer_.empty()) return false;
  Slot slot = std::move(buffer_.front());
  buffer_.pop_front();
  // Woken when there is room for several elements at once.
  if (full_ && buffer_.size() <= length_ / 2) {
    full_ = false;
    changed_.notify_all();
  }
  if (!slot.status.ok()) return std::move(slot.status);
  out = std::move(slot.element);
  return true;
}

bool PrefetchIterator::ready() {
  MutexLock lock(mutex_);
  return started_ && (!buffer_.empty() || ended_ || stopping_);
}

bool PrefetchIterator::may_grow() {
  if (buffer_.empty()) return true;
  try {
    return held_.hold(std::ssize(buffer_) + 1).ok();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void PrefetchIterator::run_prefetch() {
  for (bool more = true; more;) {
    Slot slot;
    Result<bool> some = guarded([&] { return input_->next(slot.element); });
    {
      MutexLock lock(mutex_);
      if (some.ok() && !*some) {
        ended_ = true;
        changed_.notify_all();
        more = false;
      } else {
        if (!some.ok()) slot.status = std::move(some).status();  // a copy may find no memory, which would end all
        auto* const buffer = &buffer_;
        once_there_is_memory([&] { buffer->push_back(std::move(slot)); });
        if (waiting_) changed_.notify_all();
      }
    }
    if (options_.on_news) options_.on_news();
    MutexLock lock(mutex_);
    // If the budget does not allow one more element, that is no error: the thread waits.
    full_ = more && (buffer_.size() >= length_ || !may_grow());
    while (full_ && !stopping_) changed_.wait(mutex_);
    if (stopping_) return;
  }
}

}  // namespace argosy::datasets
