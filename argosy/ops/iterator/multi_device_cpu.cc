#include <atomic>
#include <optional>

#include "argosy/base/guard.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/iterator/handle_texts.h"
#include "argosy/ops/iterator/iterator_kernels.h"
#include "argosy/ops/iterator/multi_device_state.h"
#include "argosy/ops/iterator/named_handle.h"

namespace argosy::datasets {

// --- ShardedPass -----------------------------------------------------------------------------------------------------

void ShardedPass::next(std::size_t shard, Cancellation* cancellation, Pipeline::Got got) {
  auto element = std::make_shared<std::optional<Result<Element>>>();
  const auto try_complete = [this, shard, element](Status& status) {
    std::deque<Result<Element>>& mine = kept_[shard];
    if (!mine.empty()) {
      *element = std::move(mine.front());
      mine.pop_front();
      return true;
    }
    if (closed_) status = cancelled("the iterator was initialized anew, or has gone").with_id("ARG-ITERATOR-002");
    if (ended_) status = out_of_range("End of sequence");
    return closed_ || ended_;
  };
  const auto done = [element, got = std::move(got)](Status status) {
    if (!status.ok()) return got(std::move(status));
    got(*std::move(*element));
  };
  // Whatever it is that the caller does with the element, this stays until all is done.
  const std::shared_ptr<ShardedPass> self = shared_from_this();
  blocked_.add(self, cancellation, "MultiDeviceIteratorGetNextFromShard", try_complete, done);
  fill();
}

void ShardedPass::fill() {
  while (true) {
    {
      MutexLock lock(blocked_.mutex());
      if (asking_ || ended_ || closed_ || kept_[turn_].size() >= places_) return;
      asking_ = true;
    }
    // Whoever comes second goes on: this loop, or the thread that brings the element. No call nests in another.
    auto came = std::make_shared<std::atomic<bool>>(false);
    pipeline_->next(nullptr, [self = shared_from_this(), came](Result<Element> got) {
      self->take(std::move(got));
      if (came->exchange(true)) self->fill();
    });
    if (!came->exchange(true)) return;
  }
}

void ShardedPass::take(Result<Element> got) {
  {
    MutexLock lock(blocked_.mutex());
    asking_ = false;
    if (got.status().code() == Code::kOutOfRange) {
      ended_ = true;
    } else {
      once_there_is_memory([&] { kept_[turn_].push_back(std::move(got)); });
      turn_ = (turn_ + 1) % kept_.size();
    }
  }
  blocked_.wake();
}

bool ShardedPass::busy() {
  MutexLock lock(blocked_.mutex());
  return !blocked_.idle();
}

void ShardedPass::close() {
  {
    MutexLock lock(blocked_.mutex());
    closed_ = true;
    for (auto& kept : kept_) kept.clear();
  }
  blocked_.wake();
  pipeline_->close();
}

// --- MultiDeviceState ------------------------------------------------------------------------------------------------

MultiDeviceState::~MultiDeviceState() { release_contents(); }

bool MultiDeviceState::in_use() const {
  std::shared_ptr<ShardedPass> pass;
  {
    MutexLock lock(mutex_);
    pass = pass_;
  }
  return pass != nullptr && pass->busy();
}

void MultiDeviceState::release_contents() {
  std::shared_ptr<ShardedPass> last;
  {
    MutexLock lock(mutex_);
    gone_ = true;
    last = std::move(pass_);
  }
  if (last != nullptr) last->close();
}

Status MultiDeviceState::exists() const {
  MutexLock lock(mutex_);
  return gone_ ? iterator_is_gone() : ok_status();
}

Result<std::int64_t> MultiDeviceState::initialize(DatasetPtr dataset, std::int64_t places) {
  ARGOSY_RETURN_IF_ERROR(exists());
  if (places < 1) return invalid_argument("max_buffer_size must be positive, not ", places);
  ARGOSY_RETURN_IF_ERROR(check_elements(types_, shapes_, dataset->types(), dataset->shapes()));
  auto fresh = std::make_shared<ShardedPass>(shards_, static_cast<std::size_t>(places), memory_);
  ARGOSY_RETURN_IF_ERROR(fresh->open(std::move(dataset)));
  std::int64_t number = 0;
  {
    MutexLock lock(mutex_);
    if (!gone_) {
      fresh.swap(pass_);
      number = ++number_;
    }
  }
  if (fresh != nullptr) fresh->close();
  if (number == 0) return iterator_is_gone();
  return number;
}

void MultiDeviceState::next(std::int64_t shard, std::int64_t pass, Cancellation* cancellation, Pipeline::Got got) {
  std::shared_ptr<ShardedPass> now;
  std::int64_t number = 0;
  bool gone = false;
  {
    MutexLock lock(mutex_);
    now = pass_;
    number = number_;
    gone = gone_;
  }
  if (gone && now == nullptr) return got(iterator_is_gone());
  if (now == nullptr) {
    return got(
        failed_precondition("GetNextFromShard() failed because the MultiDeviceIterator has not been initialized. "
                            "Ensure that you have run the initializer operation for this iterator before "
                            "getting the next element.")
            .with_id("ARG-ITERATOR-001"));
  }
  if (pass != number) return got(invalid_argument("Invalid incarnation id. Provided: ", pass, "; Expected: ", number));
  if (shard < 0 || shard >= static_cast<std::int64_t>(shards_)) {
    return got(invalid_argument("there is no shard ", shard, ": the iterator has ", shards_));
  }
  now->next(static_cast<std::size_t>(shard), cancellation, std::move(got));
}

namespace {

std::size_t shards_of(const KernelInit& init) { return init.attrs.get<std::vector<std::string>>("devices").size(); }

// The iterator of this name.
class Named final : public Kernel {
 public:
  explicit Named(const KernelInit& init)
      : types_(types_of(init)), shapes_(shapes_of(init)), shards_(shards_of(init)), handle_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Named>(init));
  }
  Status run(KernelContext& c) override {
    const auto fresh = [&] { return std::make_shared<MultiDeviceState>(types_, shapes_, shards_, c.allocator()); };
    const auto check = [&](MultiDeviceState& state) -> Status {
      ARGOSY_RETURN_IF_ERROR(check_elements(types_, shapes_, state.types(), state.shapes()));
      if (state.shards() == shards_) return ok_status();
      return invalid_argument("the iterator \"", handle_.name(), "\" serves ", state.shards(), " devices, not ",
                              shards_);
    };
    ARGOSY_ASSIGN_OR_RETURN(Tensor handle, handle_.get<MultiDeviceState>(c, fresh, check));
    c.set_output(0, std::move(handle));
    return ok_status();
  }

 private:
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  const std::size_t shards_;
  IteratorHandle handle_;
};

// One that lives as long as somebody holds its handle.
class Unnamed final : public Kernel {
 public:
  explicit Unnamed(const KernelInit& init)
      : types_(types_of(init)), shapes_(shapes_of(init)), shards_(shards_of(init)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Unnamed>(init));
  }
  Status run(KernelContext& c) override {
    auto state = std::make_shared<MultiDeviceState>(types_, shapes_, shards_, c.allocator());
    c.set_output(0, Tensor::scalar(ResourceHandle("", "AnonymousMultiDeviceIterator", std::move(state))));
    if (c.num_outputs() > 1) c.set_output(1, Tensor::scalar(Variant()));
    return ok_status();
  }

 private:
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
  const std::size_t shards_;
};

Status initialize(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(DatasetPtr dataset, dataset_in(c.input(0)));
  ARGOSY_ASSIGN_OR_RETURN(const auto state, c.resource<MultiDeviceState>(1));
  if (c.input(2).shape().rank() != 0) return invalid_argument("max_buffer_size must be a scalar");
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t pass,
                          state->initialize(std::move(dataset), *c.input(2).data<std::int64_t>()));
  c.set_output(0, Tensor::scalar(pass));
  return ok_status();
}

class NextFromShard final : public AsyncKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit&) {
    return std::unique_ptr<Kernel>(std::make_unique<NextFromShard>());
  }
  void run_async(KernelContext& c, Done done) override {
    const auto state = c.resource<MultiDeviceState>(0);
    if (!state.ok()) return done(state.status());
    if (c.input(1).shape().rank() != 0 || c.input(2).shape().rank() != 0) {
      return done(invalid_argument("shard_num and incarnation_id must be scalars"));
    }
    Cancellation* const cancellation = c.step() != nullptr ? &c.step()->cancellation() : nullptr;
    (*state)->next(*c.input(1).data<std::int32_t>(), *c.input(2).data<std::int64_t>(), cancellation,
                   [&c, done = std::move(done)](Result<Element> got) {
                     if (!got.ok()) return done(got.status());
                     done(give_element(c, *std::move(got)));
                   });
  }
};

}  // namespace

void add_multi_device(KernelRegistry& kernels) {
  kernels.add("MultiDeviceIterator", "cpu", Named::make);
  kernels.add("AnonymousMultiDeviceIterator", "cpu", Unnamed::make);
  kernels.add("AnonymousMultiDeviceIteratorV3", "cpu", Unnamed::make);
  kernels.add("MultiDeviceIteratorInit", "cpu", initialize);
  kernels.add("MultiDeviceIteratorGetNextFromShard", "cpu", NextFromShard::make);
  kernels.add("MultiDeviceIteratorToStringHandle", "cpu", to_string_handle<MultiDeviceState>);
  kernels.add("MultiDeviceIteratorFromStringHandle", "cpu", FromString<MultiDeviceState>::make);
  kernels.add("DeleteMultiDeviceIterator", "cpu", delete_iterator);
}

}  // namespace argosy::datasets
