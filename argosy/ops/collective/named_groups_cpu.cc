// TensorFlow's collective ops that wait for no other member.
#include "argosy/base/threads/parallel.h"
#include "argosy/comm/combine.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/collective/named_groups.h"

namespace argosy {

namespace {

Status assign_group(KernelContext& c) {
  const Tensor& table = c.input(0);
  if (table.shape().rank() != 2) return invalid_argument("group_assignment must be a matrix, not ", table.shape());
  if (c.input(1).shape().rank() != 0 || c.input(2).shape().rank() != 0) {
    return invalid_argument("device_index and base_key must be scalars");
  }
  const std::int32_t device = *c.input(1).data<std::int32_t>(), base = *c.input(2).data<std::int32_t>();
  const auto devices = table.values<std::int32_t>();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i] != device) continue;
    c.set_output(0, Tensor::scalar(static_cast<std::int32_t>(table.shape()[1])));
    c.set_output(1, Tensor::scalar(static_cast<std::int32_t>(base + static_cast<std::int64_t>(i) / table.shape()[1])));
    return ok_status();
  }
  return invalid_argument("device_index ", device, " is not found in group_assignment ", table.to_string(16));
}

// The copies between devices are the edges'.
class NcclReduce final : public Kernel {
 public:
  explicit NcclReduce(Reduction reduction) : reduction_(reduction) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<NcclReduce>(reduction_of(init.attrs.get_string("reduction"))));
  }
  Status run(KernelContext& c) override {
    std::vector<const std::byte*> in;
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (c.input(i).shape() != c.input(0).shape()) {
        return invalid_argument("NcclReduce: input ", i, " is ", c.input(i).shape(), ", input 0 ", c.input(0).shape());
      }
      in.push_back(static_cast<const std::byte*>(c.input(i).raw()));
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, c.input(0).shape()));
    ARGOSY_ASSIGN_OR_RETURN(const CombineFn combine, find_combine(y->dtype(), reduction_, CombineOrder::kChain));
    std::byte* const out[] = {static_cast<std::byte*>(y->raw())};
    const CombineArrays arrays{.in = in.data(), .out = out, .inputs = static_cast<int>(in.size()), .outputs = 1};
    parallel_for_whole(y->elements(), 32768, [&](std::int64_t begin, std::int64_t end) {
      combine(arrays, static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    });
    return ok_status();
  }

 private:
  const Reduction reduction_;
};

class NcclBroadcast final : public Kernel {
 public:
  explicit NcclBroadcast(const KernelInit& init) : shape_(init.attrs.get<PartialShape>("shape")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<NcclBroadcast>(init));
  }
  Status run(KernelContext& c) override {
    if (!shape_.compatible(c.input(0).shape())) {
      return invalid_argument("NcclBroadcast: the attribute shape is ", shape_, ", the input ", c.input(0).shape());
    }
    c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  const PartialShape shape_;
};

}  // namespace

void add_kernels_cpu_named_groups(KernelRegistry& kernels) {
  kernels.add("CollectiveAssignGroupV2", "cpu", assign_group);
  kernels.add("NcclReduce", "cpu", NcclReduce::make);
  kernels.add("NcclBroadcast", "cpu", NcclBroadcast::make);
}

}  // namespace argosy
