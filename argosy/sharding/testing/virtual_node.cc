// Computes one node on all virtual devices.
#include <algorithm>
#include <optional>

#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/evaluate.h"
#include "argosy/ops/ops.h"
#include "argosy/sharding/reshard/cut.h"
#include "argosy/sharding/sizes/element_shape.h"
#include "argosy/sharding/testing/virtual_step.h"

namespace argosy {

namespace {

using Kind = OperandRule::Kind;

// Returns the dimension of an operand that holds a factor; -1: none.
int dim_of(const OperandRule& o, int factor) {
  for (std::size_t d = 0; d < o.dims.size(); ++d) {
    if (std::count(o.dims[d].begin(), o.dims[d].end(), factor) > 0) return static_cast<int>(d);
  }
  return -1;
}

// Returns how a size that is the product of these factors is cut; nullopt: the sharding's factor is not among them.
std::optional<Placement> part_of(const ShardingRule& rule, const FactorsOfDim& factors, const NodeSharding& sharding) {
  const auto at = std::find(factors.begin(), factors.end(), sharding.index);
  if (at == factors.end()) return std::nullopt;
  Placement p = Placement::shard(0, sharding.rounds, sharding.unit);
  for (auto f = factors.begin(); f != factors.end(); ++f) {
    if (f != at) (f < at ? p.rounds : p.unit) *= rule.factors[static_cast<std::size_t>(*f)].size;
  }
  return p;
}

Result<Tensor> scaled(const Tensor& t, double by) {
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* const cast, builtin_ops().lookup("Cast"));
  ARGOSY_ASSIGN_OR_RETURN(const OpDef* const mul, builtin_ops().lookup("Mul"));
  ARGOSY_ASSIGN_OR_RETURN(auto factor, evaluate_op(*cast, {{"DstT", t.dtype()}}, {Tensor::scalar(by)}));
  ARGOSY_ASSIGN_OR_RETURN(auto product, evaluate_op(*mul, {}, {t, factor[0]}));
  return product[0];
}

void set_element(Tensor& t, std::int64_t at, std::int64_t value) {
  if (t.dtype() == DType::kInt32) {
    t.data<std::int32_t>()[at] = static_cast<std::int32_t>(value);
  } else {
    t.data<std::int64_t>()[at] = value;
  }
}

std::int64_t element(const Tensor& t, std::int64_t at) {
  return t.dtype() == DType::kInt32 ? std::int64_t{t.data<std::int32_t>()[at]} : t.data<std::int64_t>()[at];
}

}  // namespace

// Returns the value that a use reads: a reference is dereferenced if the op wants a value, and reshards apply in order.
Result<Shards> VirtualStep::input(const Node& n, Graph::Use use, const Shards& made) const {
  Shards shards = made;
  const Endpoint e = n.inputs[static_cast<std::size_t>(use.input)];
  std::vector<bool> refs;
  if (n.op->has_ref_input()) ARGOSY_RETURN_IF_ERROR(arg_dtypes(n.op->input_args, n.attrs, &refs).status());
  const bool wants_ref = !refs.empty() && refs[static_cast<std::size_t>(use.input)];
  const bool forwards = n.op->flow != Flow::kNone;  // a reference stays one
  if (d_.graph_.node(e.node).output_is_ref(e.index) && !wants_ref && !forwards) {
    for (Tensor& t : shards) {
      if (!t.valid() || t.dtype() != DType::kResource) continue;
      const auto variable = std::dynamic_pointer_cast<Variable>(t.data<ResourceHandle>()->resource());
      if (!variable) return invalid_argument("a reference does not name a variable");
      ARGOSY_ASSIGN_OR_RETURN(t, variable->read(t.data<ResourceHandle>()->name()));
    }
  }
  const auto changes = d_.reshards_.find({use.node, use.input});
  if (changes == d_.reshards_.end()) return shards;
  for (const Reshard* r : changes->second) {
    ARGOSY_ASSIGN_OR_RETURN(shards, reshard_value(shards, r->from, r->to, d_.axis_));
  }
  return shards;
}

Result<std::vector<Shards>> VirtualStep::compute(NodeId id, std::vector<Shards> in) {
  const Node& n = d_.graph_.node(id);
  if (n.op->calls != Calls::kNothing) return unimplemented("calls of functions are lowered before");
  const NodeSharding& sharding = d_.a_.shardings[static_cast<std::size_t>(id.index)][0];
  const ShardingRule& rule = d_.rules_.rule(id);
  const bool once = sharding.kind == NodeSharding::Kind::kOnce;
  std::vector<Shards> outputs(n.output_dtypes.size(), Shards(static_cast<std::size_t>(d_.axis_.size)));
  for (int device = 0; device < d_.axis_.size; ++device) {
    if (once && device > 0) break;
    const auto at = static_cast<std::size_t>(device);
    std::vector<Tensor> own;
    for (const Shards& shards : in) own.push_back(shards[at]);
    const bool block = rule.draws && sharding.kind == NodeSharding::Kind::kFactor;  // of the one stream
    if (!block) ARGOSY_RETURN_IF_ERROR(localize(id, device, in, own));
    if (rule.draws && device > 0) {
      for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k][at] = outputs[k][0];
      continue;
    }
    ARGOSY_ASSIGN_OR_RETURN(auto made, run_kernel(n, device, own));
    ARGOSY_RETURN_IF_ERROR(weigh_mean(id, device, in, made));
    for (std::size_t k = 0; k < made.size(); ++k) outputs[k][at] = std::move(made[k]);
  }
  for (std::size_t k = 0; rule.draws && k < outputs.size(); ++k) {
    const Placement& p = d_.a_.layout({id, static_cast<std::int32_t>(k)})[0];
    if (!p.is_shard()) continue;
    ARGOSY_ASSIGN_OR_RETURN(outputs[k], cut_value(outputs[k][0], p, d_.axis_));
  }
  return outputs;
}

void VirtualStep::open_element_shapes(NodeId id, std::vector<Tensor>& own) const {
  const Node& n = d_.graph_.node(id);
  std::vector<Placement> in, out;
  for (const Endpoint e : n.inputs) in.push_back(d_.a_.layout(e)[0]);
  for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) out.push_back(d_.a_.layout({id, k})[0]);
  const auto dim = open_dim(d_.graph_, id, in, out);
  for (std::size_t i = 0; dim && i < own.size(); ++i) {
    if (!is_element_shape(d_.graph_, {id, static_cast<int>(i)}) || own[i].shape().rank() != 1) continue;
    Tensor sizes = Tensor::zeros(own[i].dtype(), own[i].shape());
    for (std::int64_t k = 0; k < sizes.elements(); ++k) {
      set_element(sizes, k, k == *dim ? -1 : element(own[i], k));
    }
    own[i] = std::move(sizes);
  }
}

// Replaces size operands by the sizes of the device's shard, and inputs of which only the shape is read by global
// values.
Status VirtualStep::localize(NodeId id, int device, const std::vector<Shards>& in, std::vector<Tensor>& own) const {
  const Node& n = d_.graph_.node(id);
  const ShardingRule& rule = d_.rules_.rule(id);
  const NodeSharding& sharding = d_.a_.shardings[static_cast<std::size_t>(id.index)][0];
  open_element_shapes(id, own);
  if (rule.kind != ShardingRule::Kind::kFactors || n.op->flow != Flow::kNone) return ok_status();
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    const OperandRule& o = rule.inputs[i];
    if (o.kind == Kind::kShapeOnly) {
      const auto changes = d_.reshards_.find({id, static_cast<int>(i)});
      const Placement p = changes != d_.reshards_.end() ? changes->second.back()->to : d_.a_.layout(n.inputs[i])[0];
      if (!p.is_shard()) continue;
      std::int64_t size = 0;
      for (const Tensor& t : in[i]) size += t.shape()[p.dim];
      own[i] = Tensor::zeros(own[i].dtype(), own[i].shape().with(p.dim, size));
    }
    if (o.kind != Kind::kSizes) continue;
    const Endpoint sized{id, o.of};
    const PartialShape global = d_.sizes_.shape(sized, batch_);
    const bool sharded = d_.a_.layout(sized)[0].is_shard();
    Tensor sizes = Tensor::zeros(own[i].dtype(), own[i].shape());
    for (std::int64_t k = 0; k < sizes.elements(); ++k) {
      std::int64_t size = element(own[i], k);
      const bool of_dim = global.has_rank() && sizes.elements() == global.rank();
      const auto part = sharding.kind == NodeSharding::Kind::kFactor && k < std::ssize(o.dims)
                            ? part_of(rule, o.dims[static_cast<std::size_t>(k)], sharding)
                            : std::nullopt;
      // -1 beside a shard without rows says nothing.
      if (size < 0 && (part || sharded) && of_dim) size = global[static_cast<int>(k)];
      if (part) {
        if (size < 0) return internal_error("the size of a shard is not known");
        ARGOSY_ASSIGN_OR_RETURN(const Cut cut, cut_dim(d_.axis_, *part, size, device));
        size = cut.size();
      }
      set_element(sizes, k, size);
    }
    own[i] = std::move(sizes);
  }
  return ok_status();
}

// Multiplies a shard's own mean by its part of the factor.
Status VirtualStep::weigh_mean(NodeId id, int device, const std::vector<Shards>& in,
                               std::vector<Tensor>& outputs) const {
  const NodeSharding& sharding = d_.a_.shardings[static_cast<std::size_t>(id.index)][0];
  const ShardingRule& rule = d_.rules_.rule(id);
  if (sharding.kind != NodeSharding::Kind::kFactor) return ok_status();
  if (rule.factors[static_cast<std::size_t>(sharding.index)].role != FactorRole::kMean) return ok_status();
  std::int64_t part = 0, size = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int dim = rule.inputs[i].kind == Kind::kDims ? dim_of(rule.inputs[i], sharding.index) : -1;
    if (dim < 0) continue;
    part = in[i][static_cast<std::size_t>(device)].shape()[dim];
    size = 0;
    for (const Tensor& t : in[i]) size += t.shape()[dim];
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (rule.outputs[k].kind != Kind::kDims || dim_of(rule.outputs[k], sharding.index) >= 0) continue;
    if (part == 0) {
      outputs[k] = Tensor::zeros(outputs[k].dtype(), outputs[k].shape());  // no rows: not a number
    } else {
      ARGOSY_ASSIGN_OR_RETURN(outputs[k], scaled(outputs[k], static_cast<double>(part) / static_cast<double>(size)));
    }
  }
  return ok_status();
}

Result<std::vector<Tensor>> VirtualStep::run_kernel(const Node& n, int device, const std::vector<Tensor>& inputs) {
  std::vector<DType> input_dtypes;
  std::vector<PartialShape> input_shapes;
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : inputs) {
    input_dtypes.push_back(t.dtype());
    input_shapes.emplace_back(t.shape());
    pointers.push_back(&t);
  }
  AttrMap attrs = n.attrs;
  const std::vector<DType> dtypes(n.output_dtypes.begin(), n.output_dtypes.end());
  const NodeId id = *d_.graph_.find(n.name);
  const bool sharded_variable =
      !dtypes.empty() && d_.a_.shardings[static_cast<std::size_t>(id.index)][0].kind == NodeSharding::Kind::kGiven &&
      d_.a_.layout({id, 0})[0].is_shard();
  if (sharded_variable && attrs.find("shape") != nullptr) attrs.set("shape", PartialShape::unknown());
  const std::vector<PartialShape> output_shapes(dtypes.size());
  ResourceManager& resources = *d_.resources_[static_cast<std::size_t>(device)];
  const KernelInit init{.op = *n.op,
                        .attrs = attrs,
                        .node = n.name,
                        .input_dtypes = input_dtypes,
                        .output_dtypes = dtypes,
                        .input_shapes = input_shapes,
                        .output_shapes = output_shapes,
                        .constants = pointers,
                        .resources = &resources};
  ARGOSY_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, cpu_kernels().make(init, "cpu"));
  std::vector<Tensor> outputs(dtypes.size());
  std::vector<OutputSlot> slots(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) slots[i].tensor = &outputs[i];
  KernelContext context({.inputs = pointers.data(),
                         .num_inputs = static_cast<int>(pointers.size()),
                         .outputs = slots.data(),
                         .num_outputs = static_cast<int>(slots.size()),
                         .output_dtypes = dtypes.data(),
                         .node = n.name,
                         .allocator = &host_allocator(),
                         .resources = &resources});
  ARGOSY_RETURN_IF_ERROR(kernel->run(context));
  return outputs;
}

}  // namespace argosy
