// FlatMap and Interleave: every element becomes a dataset; `cycle` of these are open at once, and blocks of their
// elements come in turn. The parallel ones read every open dataset ahead, on a thread of its own, and give the same
// order, unless they may give what is there first.
#include <algorithm>

#include "argosy/base/threads/parallel.h"
#include "argosy/ops/dataset/elements/auto_shard.h"
#include "argosy/ops/dataset/elements/prefetch_iterator.h"
#include "argosy/ops/dataset/held_elements.h"
#include "argosy/ops/dataset/unary_dataset.h"

namespace argosy::datasets {

namespace {

struct Turns {
  std::int64_t cycle = 1, block = 1;
  bool prefetch = false, in_order = true;
  std::size_t buffer = 1;  // elements read ahead of each open dataset
};

// Wakes a caller who waits for any of several threads.
class News {
 public:
  void tell() {
    MutexLock lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  std::int64_t count() {
    MutexLock lock(mutex_);
    return count_;
  }
  void wait_beyond(std::int64_t seen) {
    MutexLock lock(mutex_);
    while (count_ == seen) changed_.wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::int64_t count_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

class Interleave final : public UnaryDataset {
 public:
  Interleave(const DatasetArgs& a, DatasetPtr input, Captured f, Turns turns)
      : UnaryDataset(a, std::move(input)), f_(std::move(f)), turns_(turns) {}
  Status check_types() const override { return ok_status(); }  // of what a function makes: as they come
  bool opens_readers() const override { return f_.any_op(is_reader); }
  Result<IteratorPtr> iterate(const IteratorContext& context) const override {
    const std::shared_ptr<const AutoShard> shard = context.shard;
    const auto where = shard != nullptr ? shard->at(*this) : AutoShard::Where::kElsewhere;
    if (where == AutoShard::Where::kElsewhere) return iterate_as<Iterator>(self<Interleave>(), context);
    IteratorContext whole = context;
    whole.shard = nullptr;
    if (where == AutoShard::Where::kAfter) {
      return shard_dataset(shared_from_this(), shard->count, shard->index)->iterate(whole);
    }
    ARGOSY_ASSIGN_OR_RETURN(IteratorPtr files, shard->of_files(shared_input())->iterate(whole));
    return IteratorPtr(std::make_unique<Iterator>(self<Interleave>(), whole, std::move(files)));
  }

 private:
  class Iterator final : public UnaryIterator<Interleave> {
   public:
    Iterator(std::shared_ptr<const Interleave> d, const IteratorContext& context, IteratorPtr input)
        : UnaryIterator(std::move(d), context, std::move(input)), turns_(d_->turns_) {
      // Told also when the pipeline ends.
      if (!turns_.in_order) linked_ = context.cancellation->add([this] { news_.tell(); }, &token_);
    }
    ~Iterator() override {
      if (linked_) context_.cancellation->remove(token_);
    }

    Result<bool> next(Element& out) override {
      if (turns_.prefetch && open_.empty()) ARGOSY_RETURN_IF_ERROR(open_all());
      return turns_.in_order ? next_in_order(out) : next_at_hand(out);
    }

   private:
    Result<bool> next_in_order(Element& out) {
      while (!ended_ || opened_ > 0) {
        IteratorPtr& current = slot();
        if (current == nullptr) {
          if (ended_) {
            advance();
          } else {
            ARGOSY_RETURN_IF_ERROR(open(current));
          }
          continue;
        }
        ARGOSY_ASSIGN_OR_RETURN(const bool some, current->next(out));
        if (some) {
          if (++in_block_ == turns_.block) advance();
          return true;
        }
        close(current);
        if (turns_.prefetch && !ended_) ARGOSY_RETURN_IF_ERROR(open(current));
        advance();
      }
      return false;
    }

    // Whatever comes first; blocks only where they come at no wait.
    Result<bool> next_at_hand(Element& out) {
      while (!ended_ || opened_ > 0) {
        const std::int64_t seen = news_.count();
        if (context_.cancellation->cancelled()) return context_.cancellation->status();
        bool moved = false;
        for (std::size_t i = 0; i < open_.size(); ++i) {
          IteratorPtr& current = slot();
          if (current == nullptr && !ended_) {
            ARGOSY_RETURN_IF_ERROR(open(current));
            moved = true;
          }
          if (current != nullptr && current->ready()) {
            ARGOSY_ASSIGN_OR_RETURN(const bool some, current->next(out));
            if (some) {
              if (++in_block_ == turns_.block) advance();
              return true;
            }
            close(current);
            moved = true;
          }
          advance();
        }
        if (!moved) news_.wait_beyond(seen);
      }
      return false;
    }

    IteratorPtr& slot() {
      if (at_ == open_.size()) open_.emplace_back();  // a cycle may be longer than there are datasets
      return open_[at_];
    }
    void advance() {
      in_block_ = 0;
      const auto cycle = static_cast<std::size_t>(turns_.cycle);
      at_ = (at_ + 1) % (ended_ ? std::max<std::size_t>(open_.size(), 1) : cycle);
    }
    void close(IteratorPtr& current) {
      current = nullptr;
      --opened_;
    }

    // The dataset of the input's next element, if there is one.
    Status open(IteratorPtr& to) {
      ARGOSY_RETURN_IF_ERROR(held_.hold(opened_ + 1));
      Element element;
      ARGOSY_ASSIGN_OR_RETURN(const bool some, next_input(element));
      if (!some) {
        ended_ = true;
        return ok_status();
      }
      const auto make = [d = d_, element = std::move(element)](const IteratorContext& c) -> Result<IteratorPtr> {
        ARGOSY_ASSIGN_OR_RETURN(const Element returned, d->f_(element, c));
        ARGOSY_ASSIGN_OR_RETURN(const DatasetPtr dataset, dataset_of(returned));
        ARGOSY_RETURN_IF_ERROR(same_types(d->types(), dataset->types()));
        return dataset->iterate(c);
      };
      if (turns_.prefetch) {
        PrefetchIterator::Options options{turns_.buffer, 0, {}, d_->types().size()};
        if (!turns_.in_order) options.on_news = [this] { news_.tell(); };
        auto prefetch = std::make_unique<PrefetchIterator>(context_, std::move(options));
        ARGOSY_RETURN_IF_ERROR(prefetch->start_opening(make));
        to = std::move(prefetch);
      } else {
        ARGOSY_ASSIGN_OR_RETURN(to, make(context_));
      }
      ++opened_;
      return ok_status();
    }

    Status open_all() {
      for (std::int64_t i = 0; i < turns_.cycle && !ended_; ++i) {
        open_.emplace_back();
        ARGOSY_RETURN_IF_ERROR(open(open_.back()));
        if (ended_) open_.pop_back();
      }
      if (open_.empty()) open_.emplace_back();
      return ok_status();
    }

    const Turns turns_;
    News news_;  // outlives the threads of open_
    HeldItems held_{HostUse::kBuffers, 1024, "the open datasets of an interleave"};
    std::vector<IteratorPtr> open_;
    std::size_t at_ = 0;
    std::int64_t in_block_ = 0, opened_ = 0;
    bool ended_ = false;
    Cancellation::Token token_ = 0;
    bool linked_ = false;
  };

  const Captured f_;
  const Turns turns_;
};

Result<DatasetPtr> make_flat_map(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  return DatasetPtr(std::make_shared<Interleave>(a, std::move(input), a.function("f"), Turns{}));
}

Result<Turns> turns_of(const DatasetArgs& a) {
  Turns turns;
  ARGOSY_ASSIGN_OR_RETURN(turns.cycle, a.integer("cycle_length"));
  if (turns.cycle == -1) turns.cycle = available_cores();
  if (turns.cycle <= 0) return invalid_argument("cycle_length must be greater than zero.");
  ARGOSY_ASSIGN_OR_RETURN(turns.block, a.integer("block_length"));
  if (turns.block <= 0) return invalid_argument("block_length must be greater than zero.");
  return turns;
}

Result<DatasetPtr> make_interleave(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(const Turns turns, turns_of(a));
  return DatasetPtr(std::make_shared<Interleave>(a, std::move(input), a.function("f"), turns));
}

// The most threads of one dataset: a machine gains nothing from reading more files at once. Longer cycles take turns.
constexpr std::int64_t kMostPrefetched = 64;
constexpr std::int64_t kMostBuffer = 1024;

Result<DatasetPtr> make_parallel_interleave(const DatasetArgs& a) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr input, a.dataset());
  ARGOSY_ASSIGN_OR_RETURN(Turns turns, turns_of(a));
  turns.buffer = static_cast<std::size_t>(std::min(2 * std::min(turns.block, kMostBuffer), kMostBuffer));
  const bool legacy = a.op() == "ParallelInterleaveDataset" || a.op() == "ExperimentalParallelInterleaveDataset" ||
                      a.op() == "LegacyParallelInterleaveDatasetV2";
  if (legacy || a.op() == "ParallelInterleaveDatasetV4") {
    for (const char* name : {"buffer_output_elements", "prefetch_input_elements"}) {
      ARGOSY_ASSIGN_OR_RETURN(const std::int64_t n, a.integer(name));
      if (n < (legacy ? 1 : -1) && !(n == 0 && name[0] == 'p') && n != -1) {
        return invalid_argument(name, name[0] == 'p' ? " must be >= 0" : " must be > 0");
      }
      if (name[0] == 'b' && n > 0) turns.buffer = static_cast<std::size_t>(std::min(n, kMostBuffer));
    }
  }
  if (!legacy) {
    ARGOSY_ASSIGN_OR_RETURN(const std::int64_t calls, a.integer("num_parallel_calls"));
    if (calls <= 0 && calls != -1) return invalid_argument("num_parallel_calls must be greater than zero.");
    if (calls > turns.cycle) {
      return invalid_argument("num_parallel_calls must less than or equal to cycle_length.");
    }
  }
  bool sloppy =
      a.attrs().get_or<bool>("sloppy", false) || a.attrs().get_or<std::string>("deterministic", "default") == "false";
  if (a.op().ends_with("ParallelInterleaveDataset")) {
    ARGOSY_ASSIGN_OR_RETURN(sloppy, a.boolean("sloppy"));
  }
  turns.prefetch = turns.cycle <= kMostPrefetched;
  turns.in_order = !sloppy || !turns.prefetch;
  return DatasetPtr(std::make_shared<Interleave>(a, std::move(input), a.function("f"), turns));
}

}  // namespace

void add_interleaves(KernelRegistry& kernels) {
  add_dataset<make_flat_map>(kernels, {"FlatMapDataset"});
  add_dataset<make_interleave>(kernels, {"InterleaveDataset"});
  add_dataset<make_parallel_interleave>(
      kernels, {"ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset", "ParallelInterleaveDatasetV2",
                "ParallelInterleaveDatasetV3", "ParallelInterleaveDatasetV4", "LegacyParallelInterleaveDatasetV2"});
}

}  // namespace argosy::datasets
