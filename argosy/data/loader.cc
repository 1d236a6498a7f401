#include "argosy/data/loader.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "argosy/base/clock.h"
#include "argosy/base/guard.h"
#include "argosy/base/mutex.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/data/permutation.h"
#include "argosy/data/recycling_allocator.h"

namespace argosy::data {

class Loader::Impl {
 public:
  Impl(const Dataset& dataset, LoaderOptions options)
      : dataset_(dataset),
        options_(options),
        memory_(dataset.components().size() * static_cast<std::size_t>(options.prefetch + 2)),
        slots_(static_cast<std::size_t>(options.prefetch)),
        planned_(options.start),
        given_(options.start) {}

  ~Impl() {
    {
      const MutexLock lock(mutex_);
      closing_ = true;
      room_.notify_all();
    }
    for (std::thread& t : threads_) t.join();
  }

  // Starts the threads. RESOURCE_EXHAUSTED: the system has no thread left. The destructor ends those that were started.
  Status start() {
    return guarded([&] {
      for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
      return ok_status();
    });
  }

  Result<Batch> next() {
    const MutexLock lock(mutex_);
    std::optional<Result<Batch>>& slot = slots_[consumed_ % slots_.size()];
    if (!slot) {
      const std::int64_t start = now_nanos();
      while (!slot) ready_.wait(mutex_);
      waited_ += seconds_since(start);
    }
    if (!slot->ok()) return slot->status();  // stays for the next call
    Result<Batch> batch = std::move(*slot);
    slot.reset();
    ++consumed_;
    given_ = batch->end;
    room_.notify_one();
    return batch;
  }

  Cursor cursor() const { return given_; }
  const LoaderOptions& options() const { return options_; }
  double waited() const { return waited_; }
  const Dataset& dataset() const { return dataset_; }

 private:
  struct Plan {
    Cursor begin, end;
    std::int64_t examples = 0;  // 0: there is nothing left
  };

  // Returns the begin, the end and the size of the next batch to make.
  Plan plan_next() const ARGOSY_REQUIRES(mutex_) {
    const std::int64_t n = dataset_.size();
    Plan plan;
    plan.begin = plan.end = planned_;
    std::int64_t left = n - plan.begin.position;
    if (left == 0 || (options_.drop_last && left < options_.batch)) {
      plan.begin = {plan.begin.epoch + 1, 0};
      left = n;
    }
    if (options_.epochs >= 0 && plan.begin.epoch >= options_.epochs) return plan;
    plan.examples = std::min(left, options_.batch);
    plan.end = {plan.begin.epoch, plan.begin.position + plan.examples};
    const std::int64_t rest = n - plan.end.position;
    if (rest == 0 || (options_.drop_last && rest < options_.batch)) plan.end = {plan.end.epoch + 1, 0};
    return plan;
  }

  void work() {
    set_thread_budget(1);
    for (;;) {
      Plan plan;
      std::size_t ticket = 0;
      {
        const MutexLock lock(mutex_);
        while (!closing_ && (ended_ || planned_batches_ >= consumed_ + slots_.size())) room_.wait(mutex_);
        if (closing_) return;
        plan = plan_next();
        planned_ = plan.end;
        ticket = planned_batches_++;
        ended_ = plan.examples == 0;
      }
      // The thread must not end by an exception: next() hands its status to the caller.
      Result<Batch> batch = guarded([&] { return make(plan); });
      const MutexLock lock(mutex_);
      ended_ = ended_ || !batch.ok();  // an error ends the loader
      slots_[ticket % slots_.size()] = std::move(batch);
      ready_.notify_one();
    }
  }

  Result<Batch> make(const Plan& plan) {
    if (plan.examples == 0) {
      return out_of_range("the data ended after ", options_.epochs, " epochs of ", dataset_.size(), " examples")
          .with_id("ARG-DATA-009");
    }
    Batch batch{{}, plan.examples, plan.begin, plan.end};
    std::vector<std::int64_t> indices(static_cast<std::size_t>(plan.examples));
    const Permutation order(dataset_.size(), options_.seed, plan.begin.epoch);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t at = plan.begin.position + static_cast<std::int64_t>(i);
      indices[i] = options_.shuffle ? order[at] : at;
    }
    for (const Component& c : dataset_.components()) {
      ARGOSY_ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(c.dtype, c.shape.inserted(0, plan.examples), memory_));
      batch.tensors.push_back(std::move(t));
    }
    if (!options_.rows) {
      ARGOSY_RETURN_IF_ERROR(dataset_.fetch(indices, batch.tensors));
      return batch;
    }
    const auto [begin, end] = options_.rows(plan.examples);
    ARGOSY_CHECK(begin >= 0 && begin <= end && end <= plan.examples);
    std::vector<Tensor> some;
    for (const Tensor& t : batch.tensors) some.push_back(t.rows(begin, end));
    const auto mine =
        std::span(indices).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    if (begin < end) ARGOSY_RETURN_IF_ERROR(dataset_.fetch(mine, some));
    return batch;
  }

  // Constant after construction.
  const Dataset& dataset_;
  const LoaderOptions options_;
  RecyclingAllocator memory_;
  std::vector<std::thread> threads_;  // filled by start()

  Mutex mutex_;
  CondVar ready_, room_;
  // Batch t is in slot t % size from when it is made until next() returns it.
  std::vector<std::optional<Result<Batch>>> slots_ ARGOSY_GUARDED_BY(mutex_);
  Cursor planned_ ARGOSY_GUARDED_BY(mutex_);
  std::size_t planned_batches_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::size_t consumed_ ARGOSY_GUARDED_BY(mutex_) = 0;
  bool ended_ ARGOSY_GUARDED_BY(mutex_) = false;
  bool closing_ ARGOSY_GUARDED_BY(mutex_) = false;

  // Used only by the thread that calls next().
  Cursor given_;
  double waited_ = 0;
};

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Loader::~Loader() = default;

Result<std::unique_ptr<Loader>> Loader::open(const Dataset& dataset, LoaderOptions options) {
  const std::int64_t n = dataset.size();
  const auto refuse = [&](const auto&... why) {
    return invalid_argument("cannot load ", dataset.describe(), ": ", why...).with_id("ARG-DATA-010");
  };
  if (n == 0) return refuse("it has no examples");
  if (options.batch < 1) return refuse("a batch of ", options.batch, " examples");
  if (options.drop_last && options.batch > n) {
    return refuse("a batch of ", options.batch, " is never full with ", n, " examples, and smaller ones are dropped");
  }
  if (options.start.epoch < 0 || options.start.position < 0 || options.start.position > n) {
    return refuse("a start at example ", options.start.position, " of ", n, " in epoch ", options.start.epoch);
  }
  if (options.threads < 1 || options.threads > 256 || options.prefetch < 1 || options.prefetch > 4096) {
    return refuse(options.threads, " threads, ", options.prefetch, " batches ahead; at most 256 and 4096");
  }
  // A cursor at the very end of an epoch is the beginning of the next.
  if (options.start.position == n) options.start = {options.start.epoch + 1, 0};
  auto impl = std::make_unique<Impl>(dataset, options);
  ARGOSY_RETURN_IF_ERROR(impl->start());
  return std::unique_ptr<Loader>(new Loader(std::move(impl)));
}

Result<Batch> Loader::next() { return impl_->next(); }
Cursor Loader::cursor() const { return impl_->cursor(); }
const LoaderOptions& Loader::options() const { return impl_->options(); }
double Loader::waited_seconds() const { return impl_->waited(); }
std::int64_t Loader::batches_per_epoch() const {
  const std::int64_t n = impl_->dataset().size();
  const std::int64_t batch = impl_->options().batch;
  return impl_->options().drop_last ? n / batch : (n - 1) / batch + 1;
}

Tensor Loader::state() const {
  const Cursor c = cursor();
  return Tensor::vector<std::int64_t>(
      {c.epoch, c.position, static_cast<std::int64_t>(options().seed), impl_->dataset().size()});
}

std::vector<std::int64_t> epoch_order(const Dataset& dataset, const LoaderOptions& options, std::int64_t epoch) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(dataset.size()));
  if (indices.empty()) return indices;
  const Permutation order(dataset.size(), options.seed, epoch);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    indices[i] = options.shuffle ? order[static_cast<std::int64_t>(i)] : static_cast<std::int64_t>(i);
  }
  return indices;
}

Result<Cursor> cursor_from_state(const Tensor& state, const Dataset& dataset, const LoaderOptions& options) {
  if (state.dtype() != DType::kInt64 || state.shape() != Shape{4}) {
    return invalid_argument("a loader's state is int64[4], not ", dtype_name(state.dtype()), state.shape())
        .with_id("ARG-DATA-011");
  }
  const auto* s = state.data<std::int64_t>();
  if (s[0] < 0 || s[1] < 0 || s[1] > s[3]) {
    return data_loss("a loader's state says example ", s[1], " of ", s[3], " in epoch ", s[0]).with_id("ARG-DATA-011");
  }
  if (s[3] != dataset.size() || static_cast<std::uint64_t>(s[2]) != options.seed) {
    return failed_precondition("the saved position belongs to ", s[3], " examples shuffled with seed ",
                               static_cast<std::uint64_t>(s[2]), ", the data now is ", dataset.describe(),
                               " with seed ", options.seed)
        .with_id("ARG-DATA-011")
        .with_hint("resume with the same --data and --seed");
  }
  return Cursor{s[0], s[1]};
}

}  // namespace argosy::data
