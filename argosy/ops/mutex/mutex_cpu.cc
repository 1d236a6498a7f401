#include <atomic>
#include <memory>

#include "argosy/op/kernel/blocked_ops.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/op/state/resource_manager.h"

namespace argosy {

namespace {

// Who came first has it first.
class SharedMutex final : public Resource, public std::enable_shared_from_this<SharedMutex> {
 public:
  explicit SharedMutex(std::string name) : name_(std::move(name)) {}
  std::string describe() const override { return str_cat("mutex '", name_, "'"); }

  // `done` is called once the mutex is held, or with the reason why it never will be.
  void lock(Cancellation* cancellation, BlockedOps::Done done) {
    const auto try_complete = [this](Status&) { return !std::exchange(held_, true); };
    blocked_.add(shared_from_this(), cancellation, "MutexLock", try_complete, std::move(done));
  }
  void unlock() {
    {
      MutexLock lock(blocked_.mutex());
      held_ = false;
    }
    blocked_.wake();
  }

 private:
  const std::string name_;
  BlockedOps blocked_{BlockedOps::Order::kStrict};
  bool held_ = false;  // guarded by blocked_.mutex()
};

// The lock: whoever lets go first gives the mutex back, once.
class Held final : public VariantValue {
 public:
  explicit Held(std::shared_ptr<SharedMutex> mutex) : mutex_(std::move(mutex)) {}
  ~Held() override { release(); }
  std::string describe() const override { return str_cat("lock of ", mutex_->describe()); }
  // False when it was given back before.
  bool release() const {
    if (released_.exchange(true)) return false;
    mutex_->unlock();
    return true;
  }

 private:
  const std::shared_ptr<SharedMutex> mutex_;
  mutable std::atomic<bool> released_{false};
};

// What the step keeps of a lock: it goes with the step, however that ends and whoever still has the value.
class StepLock final : public Resource {
 public:
  explicit StepLock(std::shared_ptr<const Held> lock) : lock_(std::move(lock)) {}
  ~StepLock() override { lock_->release(); }
  std::string describe() const override { return lock_->describe(); }

 private:
  const std::shared_ptr<const Held> lock_;
};

constexpr const char* kLocks = "_mutex_locks";  // container of the step's resources

std::string name_in_step(const Held& lock) { return std::to_string(reinterpret_cast<std::uintptr_t>(&lock)); }

class MakeMutex final : public Kernel {
 public:
  explicit MakeMutex(const KernelInit& init) : named_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<MakeMutex>(init));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto mutex, named_.find_or_make<SharedMutex>(c.resources(), [&] {
      return std::make_shared<SharedMutex>(named_.name());
    }));
    c.set_output(0, named_.handle(std::move(mutex)));
    return ok_status();
  }

 private:
  NamedResource named_;
};

class Lock final : public AsyncKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit&) {
    return std::unique_ptr<Kernel>(std::make_unique<Lock>());
  }
  void run_async(KernelContext& c, Done done) override {
    auto mutex = c.resource<SharedMutex>(0);
    if (!mutex.ok()) return done(std::move(mutex).status());
    const auto own = *mutex;
    Cancellation* const cancellation = c.step() != nullptr ? &c.step()->cancellation() : nullptr;
    own->lock(cancellation,
              [&c, own, done = std::move(done)](Status status) { done(status.ok() ? give(c, own) : status); });
  }

 private:
  static Status give(KernelContext& c, std::shared_ptr<SharedMutex> mutex) {
    const auto lock = std::make_shared<const Held>(std::move(mutex));
    if (c.step() != nullptr) {
      ARGOSY_RETURN_IF_ERROR(
          c.step()
              ->step_resources()
              .find_or_make<StepLock>(kLocks, name_in_step(*lock), [&] { return std::make_shared<StepLock>(lock); })
              .status());
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
    *y->data<Variant>() = Variant(lock);
    return ok_status();
  }
};

class Consume final : public AsyncKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit&) {
    return std::unique_ptr<Kernel>(std::make_unique<Consume>());
  }
  void run_async(KernelContext& c, Done done) override { done(consume(c)); }

 private:
  static Status consume(KernelContext& c) {
    const Tensor& t = c.input(0);
    if (t.shape().rank() != 0) return invalid_argument("Expected input to be a scalar, but saw shape ", t.shape());
    const auto value = t.data<Variant>()->value();
    const auto lock = std::dynamic_pointer_cast<const Held>(value);
    if (lock == nullptr) {
      return invalid_argument("Expected input to contain a SharedLockReleaser object, but saw variant: '",
                              value != nullptr ? value->describe() : "<empty>", "'");
    }
    if (!lock->release()) return invalid_argument("Expected use count of lock to be 1, but it was given back before");
    if (c.step() != nullptr) return c.step()->step_resources().remove(kLocks, name_in_step(*lock));
    return ok_status();
  }
};

}  // namespace

void add_kernels_cpu_mutex(KernelRegistry& kernels) {
  kernels.add("MutexV2", "cpu", MakeMutex::make);
  kernels.add("MutexLock", "cpu", Lock::make);
  kernels.add("ConsumeMutexLock", "cpu", Consume::make);
}

}  // namespace argosy
