#include "argosy/op/kernel/kernel.h"

#include <algorithm>
#include <future>
#include <typeinfo>

#include "argosy/base/guard.h"

namespace argosy {

Status AsyncKernel::run(KernelContext& c) {
  std::promise<Status> promise;
  run_async(c, [&](Status status) { promise.set_value(std::move(status)); });
  return promise.get_future().get();
}

Result<const ResourceHandle*> KernelContext::resource_handle(int i) const {
  const Tensor& t = input(i);
  if (t.dtype() != DType::kResource || t.elements() != 1) {
    return invalid_argument("input ", i, " must be a resource handle, not ", dtype_name(t.dtype()), t.shape());
  }
  const ResourceHandle* handle = t.data<ResourceHandle>();
  if (!handle->resource())
    return failed_precondition("input ", i, ": resource \"", handle->name(), "\" does not exist");
  return handle;
}

Result<Variable*> KernelContext::variable(int i) const {
  ARGOSY_ASSIGN_OR_RETURN(const ResourceHandle* handle, resource_handle(i));
  Resource* const resource = handle->resource().get();
  if (typeid(*resource) != typeid(Variable)) return wrong_resource(*handle);
  return static_cast<Variable*>(resource);
}

Status KernelContext::wrong_resource(const ResourceHandle& handle) const {
  return invalid_argument("resource \"", handle.name(), "\" is a ", handle.resource()->describe(),
                          ", which this op does not take");
}

Result<Tensor*> KernelContext::allocate_output(int i, const Shape& shape, std::initializer_list<int> may_reuse) {
  OutputSlot& slot = f_.outputs[i];
  const DType dtype = f_.output_dtypes[i];
  slot.planned = false;  // this run's memory is no longer the plan's
  const bool elsewhere = slot.on_host && f_.host_allocator != nullptr;
  if (f_.may_donate != nullptr && is_plain(dtype) && !elsewhere) {
    for (const int r : may_reuse) {
      const Tensor& in = input(r);
      if (f_.may_donate[r] && in.unique() && in.shape() == shape && is_plain(in.dtype()) &&
          element_bytes(in.dtype()) == element_bytes(dtype)) {
        *slot.tensor = in.bitcast(dtype);
        return slot.tensor;
      }
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(*slot.tensor, Tensor::allocate(dtype, shape, elsewhere ? *f_.host_allocator : *f_.allocator));
  return slot.tensor;
}

namespace {
// A kernel's mistake: it fails the step, before anybody reads the value as what it is not. A reference is carried as a
// handle, whatever its variable's dtype; no value at all is dead.
void check_output(int i, const Tensor& is, DType says) {
  if (!is.valid() || is.dtype() == DType::kResource) return;
  throw CheckFailure(str_cat("output ", i, " is ", dtype_name(is.dtype()), ", its op says ", dtype_name(says)));
}
}  // namespace

void KernelContext::set_output(int i, Tensor tensor) {
  OutputSlot& slot = f_.outputs[i];
  if (f_.output_dtypes != nullptr && tensor.dtype() != f_.output_dtypes[i]) [[unlikely]] {
    check_output(i, tensor, f_.output_dtypes[i]);
  }
  if (slot.planned && slot.tensor->dtype() == tensor.dtype() && slot.tensor->shape() == tensor.shape()) {
    if (slot.tensor->raw() == tensor.raw()) return;
    if (f_.host_allocator == nullptr) return copy_elements(*slot.tensor, tensor);
    if (f_.allocator->copy_within(slot.tensor->raw(), tensor.raw(), tensor.bytes()).ok()) return;
    // A device that cannot copy has failed, and says so at the next wait.
  }
  slot.planned = false;
  *slot.tensor = std::move(tensor);
}

namespace {

class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(KernelFunction function) : function_(function) {}
  Status run(KernelContext& c) override { return function_(c); }

 private:
  KernelFunction function_;
};

std::string key(std::string_view op, std::string_view kind) { return str_cat(kind, "/", op); }

}  // namespace

void KernelRegistry::add(std::string op, std::string_view kind, KernelFunction function,
                         std::vector<KernelTypes> types) {
  kernels_[key(op, kind)].push_back({function, nullptr, std::move(types)});
}
void KernelRegistry::add(std::string op, std::string_view kind, KernelFactory factory, std::vector<KernelTypes> types) {
  kernels_[key(op, kind)].push_back({nullptr, factory, std::move(types)});
}

DType KernelRegistry::Entry::refused(const AttrMap& attrs) const {
  for (const KernelTypes& t : types) {
    const auto taken = [&](DType dtype) {
      return std::find(t.dtypes.begin(), t.dtypes.end(), dtype) != t.dtypes.end();
    };
    if (const auto* one = attrs.find_as<DType>(t.attr); one != nullptr && !taken(*one)) return *one;
    if (const auto* list = attrs.find_as<std::vector<DType>>(t.attr); list != nullptr) {
      const auto bad = std::find_if_not(list->begin(), list->end(), taken);
      if (bad != list->end()) return *bad;
    }
  }
  return DType::kInvalid;
}

DType KernelRegistry::refused(std::string_view op, std::string_view kind, const AttrMap& attrs) const {
  DType last = DType::kInvalid;
  const auto* entries = find(op, kind);
  if (entries == nullptr) return last;
  for (const Entry& entry : *entries) {
    last = entry.refused(attrs);
    if (last == DType::kInvalid) return last;
  }
  return last;
}

const std::vector<KernelRegistry::Entry>* KernelRegistry::find(std::string_view op, std::string_view kind) const {
  thread_local std::string text;  // asked for every node of every step: nothing is allocated for it
  text.assign(kind).append("/").append(op);
  const auto found = kernels_.find(text);
  return found == kernels_.end() ? nullptr : &found->second;
}

bool KernelRegistry::has(std::string_view op, std::string_view kind) const { return find(op, kind) != nullptr; }

Result<std::unique_ptr<Kernel>> KernelRegistry::make_one(const Entry& entry, const KernelInit& init) {
  if (entry.function != nullptr) return std::unique_ptr<Kernel>(std::make_unique<FunctionKernel>(entry.function));
  return entry.factory(init);
}

Result<std::unique_ptr<Kernel>> KernelRegistry::make(const KernelInit& init, std::string_view kind) const {
  const auto* entries = find(init.op.name, kind);
  if (entries == nullptr) {
    return unimplemented("op ", init.op.name, " has no kernel for ", kind).with_id("ARG-OP-002");
  }
  std::string reasons;
  for (const Entry& entry : *entries) {
    if (const DType bad = entry.refused(init.attrs); bad != DType::kInvalid) {
      reasons += str_cat(reasons.empty() ? "" : "; ", "not for ", dtype_name(bad));
      continue;
    }
    auto kernel = make_one(entry, init);
    if (kernel.ok() || kernel.status().code() != Code::kUnimplemented) return kernel;
    reasons += str_cat(reasons.empty() ? "" : "; ", kernel.status().message());
  }
  return unimplemented("op ", init.op.name, ": every kernel for ", kind, " declined: ", reasons).with_id("ARG-OP-003");
}

Result<std::unique_ptr<Kernel>> KernelRegistry::make_reference(const KernelInit& init, std::string_view kind) const {
  const auto* entries = find(init.op.name, kind);
  if (entries == nullptr) return unimplemented("op ", init.op.name, " has no kernel for ", kind);
  const auto takes = [&](const Entry& entry) { return entry.refused(init.attrs) == DType::kInvalid; };
  const auto last = std::find_if(entries->rbegin(), entries->rend(), takes);
  return make_one(last != entries->rend() ? *last : entries->back(), init);
}

std::vector<std::string> KernelRegistry::ops(std::string_view kind) const {
  const std::string prefix = str_cat(kind, "/");
  std::vector<std::string> names;
  for (const auto& [k, entries] : kernels_) {
    if (k.starts_with(prefix)) names.push_back(k.substr(prefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace argosy
