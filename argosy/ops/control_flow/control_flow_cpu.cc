#include <algorithm>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/attr_kernel.h"

namespace argosy {

namespace {

Status switch_kernel(KernelContext& c) {
  const Tensor& pred = c.input(1);
  if (pred.dtype() != DType::kBool || pred.shape().rank() != 0) {
    return invalid_argument("Switch: pred must be a bool scalar, not ", dtype_name(pred.dtype()), pred.shape());
  }
  c.set_output(*pred.data<bool>() ? 1 : 0, c.input(0));
  return ok_status();
}

Status merge_kernel(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).valid()) continue;
    c.set_output(0, c.input(i));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const index, c.output(1, {}));
    *index->data<std::int32_t>() = i;
    return ok_status();
  }
  return invalid_argument("Merge: every input is dead");
}

Status forward_input(KernelContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

Status loop_cond(KernelContext& c) {
  if (c.input(0).shape().rank() != 0) return invalid_argument("LoopCond: one truth, not shape ", c.input(0).shape());
  return forward_input(c);
}

Status nothing(KernelContext&) { return ok_status(); }

// True for a scalar that is neither zero nor an empty string; for other tensors, if they have elements.
Status to_bool(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  bool& truth = *y->data<bool>();
  truth = x.elements() > 0;
  if (x.shape().rank() != 0) return ok_status();
  if (x.dtype() == DType::kBool) {
    truth = *x.data<bool>();
  } else if (x.dtype() == DType::kString) {
    truth = !x.data<std::string>()->empty();
  } else {
    return dispatch<RealTypes>(x.dtype(), "ToBool", [&]<typename T>() {
      truth = *x.data<T>() != T(0);
      return ok_status();
    });
  }
  return ok_status();
}

Status for_steps(KernelContext& c) {
  constexpr const char* kNames[] = {"start", "limit", "delta"};
  std::int64_t v[3];
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).shape().rank() != 0)
      return invalid_argument(kNames[i], " must be a scalar, but ", c.input(i).shape());
    v[i] = *c.input(i).data<std::int32_t>();
  }
  const std::int64_t way = v[1] - v[0], delta = v[2];
  if (way != 0 && (delta == 0 || (way > 0) != (delta > 0)))
    return invalid_argument("Invalid start/limit/delta: ", v[0], " ", v[1], " ", v[2]);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const steps, c.output(0, {}));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const one, c.output(1, {}));
  *steps->data<std::int64_t>() = way == 0 ? 0 : (std::abs(way) + std::abs(delta) - 1) / std::abs(delta);
  *one->data<std::int64_t>() = 1;
  return ok_status();
}

// Of the kernels there are, only the CPU's looks.
Status device_index(KernelContext& c, const AttrMap& attrs) {
  const auto& names = attrs.get<std::vector<std::string>>("device_names");
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int32_t>() = static_cast<std::int32_t>(std::find(names.begin(), names.end(), "CPU") - names.begin());
  return ok_status();
}

class Abort final : public Kernel {
 public:
  explicit Abort(std::string message) : message_(std::move(message)) {}
  Status run(KernelContext&) override { return aborted("Abort: ", message_.empty() ? "no reason given" : message_); }
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Abort>(init.attrs.get_string("error_msg")));
  }

 private:
  std::string message_;
};

}  // namespace

void add_kernels_cpu_control_flow(KernelRegistry& kernels) {
  for (const char* op : {"Switch", "RefSwitch"}) kernels.add(op, "cpu", switch_kernel);
  for (const char* op : {"Merge", "RefMerge"}) kernels.add(op, "cpu", merge_kernel);
  for (const char* op : {"Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration"}) {
    kernels.add(op, "cpu", forward_input);
  }
  kernels.add("LoopCond", "cpu", loop_cond);
  kernels.add("ControlTrigger", "cpu", nothing);
  kernels.add("ToBool", "cpu", to_bool);
  kernels.add("_ForSteps", "cpu", for_steps);
  kernels.add("DeviceIndex", "cpu", AttrKernel<device_index>::make);
  kernels.add("Abort", "cpu", Abort::make);
}

}  // namespace argosy
