// ParallelMap: threads that take the input's elements one after the other and map them at the same time. The caller
// does the same instead of waiting: small functions cost less than waking somebody.
//
// The thread that has set taking_ takes an element, so the order of slots_ is the input's. If results are in order, the
// caller waits for the first slot, else for any that is done. At most `calls` elements are being mapped at once.
#include <algorithm>
#include <deque>

#include "argosy/base/guard.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

// The least number of elements being mapped or waiting for the caller; with fewer, threads wait for each other.
constexpr std::size_t kRoom = 16;
// The most; more calls at once keep no machine busier, and fill its memory.
constexpr std::size_t kMostRoom = 1 << 14;

class ParallelMap final : public UnaryDataset {
 public:
  ParallelMap(const DatasetArgs& a, std::vector<PartialShape> shapes, DatasetPtr input, Captured f, std::int64_t calls,
              bool in_order)
      : UnaryDataset(a.op(), a.types(), std::move(shapes), std::move(input)),
        f_(std::move(f)),
        calls_(static_cast<std::size_t>(calls)),
        room_(std::clamp(calls_, kRoom, kMostRoom)),
        in_order_(in_order),
        preserve_(a.attrs().get_or<bool>("preserve_cardinality", true)) {}
  std::int64_t cardinality() const override { return preserve_ ? input().cardinality() : kUnknownCardinality; }
  Status check_types() const override { return ok_status(); }  // a function's results, which were looked at
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    auto iterator = std::make_unique<Iterator>(self<ParallelMap>(), context);
    ARGOSY_RETURN_IF_ERROR(iterator->open());
    return IteratorPtr(std::move(iterator));
  }

 private:
  class Iterator final : public ThreadedIterator {
   public:
    Iterator(std::shared_ptr<const ParallelMap> d, const IteratorContext& context)
        : ThreadedIterator(context), d_(std::move(d)) {}
    ~Iterator() override { stop(); }
    Status open() {
      ARGOSY_ASSIGN_OR_RETURN(input_, d_->input().iterate(inner()));
      return ok_status();
    }

    Result<bool> next(Element& out) override {
      MutexLock lock(mutex_);
      if (!started_) ARGOSY_RETURN_IF_ERROR(start_all());
      while (true) {
        if (stopping_) return stopped();
        const auto found = first_done();
        if (found != slots_.end()) {
          const std::shared_ptr<Slot> slot = std::move(*found);
          slots_.erase(found);
          // Woken when there is room for several elements at once.
          if (idle_ > 0 && slots_.size() <= d_->room_ / 2) room_.notify_all();
          if (!slot->result.ok()) return std::move(slot->result).status();
          if (*slot->result) {
            out = std::move(slot->element);
            return true;
          }
          finish();  // the function says so: whatever comes behind is dropped
          slots_.clear();
          return false;
        }
        if (ended_ && slots_.empty()) return false;
        if (may_take()) {
          map_one();
          continue;
        }
        waiting_ = true;
        changed_.wait(mutex_);
        waiting_ = false;
      }
    }
    bool ready() override {
      MutexLock lock(mutex_);
      return started_ && first_done() != slots_.end();
    }

   private:
    struct Slot {
      Element element;
      Result<bool> result = false;
      bool done = false;
    };
    using Slots = std::deque<std::shared_ptr<Slot>>;

    Slots::iterator first_done() ARGOSY_REQUIRES(mutex_) {
      if (d_->in_order_) return !slots_.empty() && slots_.front()->done ? slots_.begin() : slots_.end();
      return std::find_if(slots_.begin(), slots_.end(), [](const auto& slot) { return slot->done; });
    }

    Status start_all() ARGOSY_REQUIRES(mutex_) {
      // More threads than cores map no faster, as in TensorFlow, whose functions run on as many.
      const std::size_t threads = std::min<std::size_t>(d_->calls_, static_cast<std::size_t>(available_cores()));
      for (std::size_t i = 0; i < threads; ++i) {
        const Status status = start([this] { map_all(); });
        if (!status.ok() && i == 0) return status;
      }
      started_ = true;
      return ok_status();
    }

    void map_all() {
      set_thread_budget(1);  // the cores are taken by the other threads
      MutexLock lock(mutex_);
      while (!stopping_ && !ended_) {
        if (may_take()) {
          map_one();
        } else {
          ++idle_;
          room_.wait(mutex_);
          --idle_;
        }
      }
    }

    bool may_take() const ARGOSY_REQUIRES(mutex_) {
      return !stopping_ && !ended_ && !taking_ && active_ < d_->calls_ && slots_.size() < d_->room_;
    }

    // Takes an element and maps it, without the lock. REQUIRES: may_take().
    void map_one() ARGOSY_REQUIRES(mutex_) {
      auto slot = once_there_is_memory([] { return std::make_shared<Slot>(); });
      Element element, mapped;
      taking_ = true;
      ++active_;
      mutex_.unlock();
      Result<bool> some = guarded([&] { return input_->next(element); });
      mutex_.lock();
      taking_ = false;
      if (stopping_ || ended_ || (some.ok() && !*some)) {
        --active_;
        return finish();
      }
      auto* const slots = &slots_;
      once_there_is_memory([&] { slots->push_back(slot); });  // else its element would be lost
      if (idle_ > 0 && may_take()) room_.notify_one();
      if (some.ok()) {
        mutex_.unlock();
        some = guarded([&] { return map_result(d_->f_(std::move(element), inner()), d_->preserve_, mapped); });
        mutex_.lock();
      }
      --active_;
      slot->element = std::move(mapped);
      slot->result = std::move(some);
      slot->done = true;
      if (waiting_ && (first_done() != slots_.end() || may_take())) changed_.notify_all();
    }
    void finish() ARGOSY_REQUIRES(mutex_) {
      ended_ = true;
      changed_.notify_all();
      room_.notify_all();
    }

    const std::shared_ptr<const ParallelMap> d_;
    IteratorPtr input_;  // of the one who set taking_
    Slots slots_ ARGOSY_GUARDED_BY(mutex_);
    bool started_ ARGOSY_GUARDED_BY(mutex_) = false;
    bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;
    bool waiting_ ARGOSY_GUARDED_BY(mutex_) = false;  // the caller
    bool taking_ ARGOSY_GUARDED_BY(mutex_) = false;
    int idle_ ARGOSY_GUARDED_BY(mutex_) = 0;  // threads that wait
    std::size_t active_ ARGOSY_GUARDED_BY(mutex_) = 0;
  };

  const Captured f_;
  const std::size_t calls_, room_;
  const bool in_order_, preserve_;
};

Result<DatasetPtr> make_parallel_map(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(std::int64_t calls, a.integer("num_parallel_calls"));
  if (calls == -1) calls = 2 * std::int64_t{available_cores()};
  if (calls <= 0) return invalid_argument("num_parallel_calls must be greater than zero.");
  Captured f = a.function("f");
  ARGOSY_RETURN_IF_ERROR(check_returns(f, a.types()));
  const bool sloppy =
      a.attrs().get_or<bool>("sloppy", false) || a.attrs().get_or<std::string>("deterministic", "default") == "false";
  return parallel_map_dataset(a, a.shapes(), std::move(input), std::move(f), calls, !sloppy);
}

}  // namespace

DatasetPtr parallel_map_dataset(const DatasetArgs& a, std::vector<PartialShape> shapes, DatasetPtr input, Captured f,
                                std::int64_t calls, bool in_order) {
  return std::make_shared<ParallelMap>(a, std::move(shapes), std::move(input), std::move(f), calls, in_order);
}

void add_parallel_maps(KernelRegistry& kernels) {
  add_dataset<make_parallel_map>(kernels, {"ParallelMapDataset", "ParallelMapDatasetV2"});
}

}  // namespace argosy::datasets
