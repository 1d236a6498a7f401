#include <map>

#include "argosy/device/device.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/op/state/holder.h"
#include "argosy/ops/list/tensor_list.h"

namespace argosy {

namespace {

// Values of a session, by handle (GetSessionHandle). Thread-safe.
class SessionStore final : public Resource, public Holder {
 public:
  std::string describe() const override { return "values of a session"; }
  void release_contents() override {
    decltype(values_) gone;  // without the lock
    MutexLock lock(mutex_);
    gone.swap(values_);
  }

  // TensorFlow's form: name;number;device.
  std::string add(std::string_view node, std::string_view device, Tensor value) {
    MutexLock lock(mutex_);
    std::string handle = str_cat(node, ";", next_++, ";", device);
    values_.emplace(handle, std::move(value));
    return handle;
  }
  Result<Tensor> find(const std::string& handle) const {
    MutexLock lock(mutex_);
    const auto found = values_.find(handle);
    if (found != values_.end()) return found->second;
    return invalid_argument("The tensor with handle '", handle, "' is not in the session store.");
  }
  Status remove(const std::string& handle) {
    MutexLock lock(mutex_);
    if (values_.erase(handle) > 0) return ok_status();
    return invalid_argument("Failed to delete a tensor with handle '", handle, "' in the session store.");
  }

 private:
  mutable Mutex mutex_;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Tensor> values_ ARGOSY_GUARDED_BY(mutex_);
};

class SessionStoreKernel : public Kernel {
 public:
  explicit SessionStoreKernel(const KernelInit& init) : session_(init.op_state) {}

 protected:
  Result<std::shared_ptr<SessionStore>> session_store(KernelContext& c) const {
    ResourceManager& where = session_ != nullptr ? *session_ : c.resources();
    return where.find_or_make<SessionStore>("session", "values", [] { return std::make_shared<SessionStore>(); });
  }
  static Result<std::string> handle_input(const KernelContext& c) {
    const Tensor& t = c.input(0);
    if (t.dtype() != DType::kString || t.shape().rank() != 0) {
      return invalid_argument("a handle must be a scalar string, not ", dtype_name(t.dtype()), t.shape());
    }
    return *t.data<std::string>();
  }

 private:
  const std::shared_ptr<ResourceManager> session_;
};

class GetSessionHandleKernel final : public SessionStoreKernel {
 public:
  using SessionStoreKernel::SessionStoreKernel;
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const auto store, session_store(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor value, kept(c, c.input(0)));
    const std::string device = c.device() != nullptr ? c.device()->spec().name.to_string() : "";
    std::string handle = store->add(c.node(), device, std::move(value));
    if (c.output_dtype(0) == DType::kResource) {
      c.set_output(0, Tensor::scalar(ResourceHandle("session", std::move(handle), store)));
      return ok_status();
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
    *y->data<std::string>() = std::move(handle);
    return ok_status();
  }
};

class GetSessionTensorKernel final : public SessionStoreKernel {
 public:
  using SessionStoreKernel::SessionStoreKernel;
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::string handle, handle_input(c));
    ARGOSY_ASSIGN_OR_RETURN(const auto store, session_store(c));
    ARGOSY_ASSIGN_OR_RETURN(Tensor value, store->find(handle));
    if (value.dtype() != c.output_dtype(0)) {
      return invalid_argument("the value of handle '", handle, "' is ", dtype_name(value.dtype()), ", not ",
                              dtype_name(c.output_dtype(0)));
    }
    c.set_output(0, std::move(value));
    return ok_status();
  }
};

class DeleteSessionTensorKernel final : public SessionStoreKernel {
 public:
  using SessionStoreKernel::SessionStoreKernel;
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::string handle, handle_input(c));
    ARGOSY_ASSIGN_OR_RETURN(const auto store, session_store(c));
    return store->remove(handle);
  }
};

template <typename K>
Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
  return std::unique_ptr<Kernel>(std::make_unique<K>(init));
}

}  // namespace

void add_kernels_cpu_session_value(KernelRegistry& kernels) {
  for (const char* op : {"GetSessionHandle", "GetSessionHandleV2"})
    kernels.add(op, "cpu", make<GetSessionHandleKernel>);
  kernels.add("GetSessionTensor", "cpu", make<GetSessionTensorKernel>);
  kernels.add("DeleteSessionTensor", "cpu", make<DeleteSessionTensorKernel>);
}

}  // namespace argosy
