#include "argosy/base/narrow.h"
#include "argosy/comm/combine.h"
#include "argosy/comm/inproc_group.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/collective/collective_node.h"
#include "argosy/ops/collective/group_timers.h"
#include "argosy/ops/collective/keyed_tasks.h"
#include "argosy/ops/collective/named_groups.h"
#include "argosy/ops/collective/net_attr.h"

namespace argosy {

namespace {

// The group's size in the op's own attributes and inputs, for a node whose group no pass has resolved; 0: unknown.
std::int64_t asked_size(const KernelInit& init) {
  for (const char* name : {"num_devices", "group_size"}) {
    if (const auto* size = init.attrs.find_as<std::int64_t>(name)) return *size;
  }
  return 0;
}

// The communicators of one group: a resource of the step, by the group's name.
class GroupOfStep final : public Resource {
 public:
  // `timers`: those of the options.
  GroupOfStep(int size, const InprocOptions& options, std::shared_ptr<GroupTimers> timers)
      : timers_(std::move(timers)), group_(size, options) {}
  std::string describe() const override { return str_cat("communicators of ", group_.size(), " ranks"); }
  const InprocGroup& group() const { return group_; }

 private:
  const std::shared_ptr<GroupTimers> timers_;  // outlives the group
  const InprocGroup group_;
};

Result<std::shared_ptr<GroupOfStep>> group_of_step(KernelContext& c, const std::string& name, int size) {
  ARGOSY_ASSIGN_OR_RETURN(const auto timers, GroupTimers::of(c.resources()));
  StepContext& step = *c.step();
  // Without a time-out of their own, ranks wait as long as the step lasts.
  const InprocOptions options{.timeout = {}, .cancellation = &step.cancellation(), .timers = &timers->timers};
  return step.step_resources().find_or_make<GroupOfStep>(
      "_collective", name, [&] { return std::make_shared<GroupOfStep>(size, options, timers); });
}

// Divides the result of a reduction by `by`, as a mean does.
Status divide(const Tensor& result, int by) {
  ARGOSY_ASSIGN_OR_RETURN(const CombineFn mean, find_combine(result.dtype(), Reduction::kMean, CombineOrder::kChain));
  std::byte* const here = static_cast<std::byte*>(result.raw());
  const std::byte* const in[] = {here};
  std::byte* const out[] = {here};
  mean({.in = in, .out = out, .inputs = 1, .outputs = 1, .divisor = static_cast<double>(by)}, 0,
       static_cast<std::size_t>(result.elements()));
  return ok_status();
}

}  // namespace

Reduction reduction_of(std::string_view word) {
  if (word == "min" || word == "Min") return Reduction::kMin;
  if (word == "max" || word == "Max") return Reduction::kMax;
  if (word == "prod" || word == "Mul") return Reduction::kProd;
  return Reduction::kSum;
}

CollectiveNode::CollectiveNode(const KernelInit& init)
    : op_(init.op.name),
      group_(init.attrs.get_or<std::string>("group", "")),
      rank_(saturated_int(init.attrs.get_or<std::int64_t>("rank", 0))),
      size_(saturated_int(init.attrs.get_or<std::int64_t>("size", 1))),
      grouped_(!group_.empty() || asked_size(init) == 1),
      shards_({rank_}),
      keyed_(init) {
  call_ = {.kind = Collective::kAllReduceShards,
           .root = saturated_int(init.attrs.get_or<std::int64_t>("root", 0)),
           .total = size_,
           .name = group_,
           .same_shapes = true,
           .any_order = true};
  // A time-out beyond the clock's range is infinite.
  if (const float seconds = init.attrs.get_or<float>("timeout_seconds", 0); seconds > 0 && seconds < 1e9F) {
    call_.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  if (const auto* weights = init.attrs.find_as<std::vector<std::int64_t>>("weights")) {
    weights_ = *weights;
    call_.any_rows = true;
  }
  if (const auto* net = init.attrs.find_as<std::vector<std::int64_t>>(kNetAttr)) net_ = *net;
  if (op_ == "_AllReduce" || op_ == "_ReduceScatter") {
    if (op_ == "_ReduceScatter") {
      call_.kind = Collective::kReduceScatterShards;
      prepare_ = &CollectiveNode::reduce_scatter;
    }
    if (const auto& shards = init.attrs.get<std::vector<std::int64_t>>("shards"); !shards.empty()) {
      call_.any_order = false;
      shards_ = shards;
      call_.total = saturated_int(init.attrs.get_int("total"));
    }
  } else if (op_ == "_AllGather") {
    call_.kind = Collective::kAllGather;
    prepare_ = &CollectiveNode::all_gather;
  } else if (op_ == "_AllToAll") {
    call_.kind = Collective::kAllToAllParts;
    call_.same_shapes = false;  // every pair of ranks has shapes of its own
    dim_ = saturated_int(init.attrs.get_int("dim"));
    prepare_ = &CollectiveNode::all_to_all;
  } else if (op_.ends_with("AllGatherVariables")) {
    call_.kind = Collective::kAllGather;
    prepare_ = &CollectiveNode::all_gather_variables;
  } else if (op_.starts_with("CollectiveGather")) {
    call_.kind = Collective::kAllGather;
    prepare_ = &CollectiveNode::gather;
  } else if (op_.starts_with("CollectiveBcast")) {
    call_.kind = Collective::kBroadcast;
    prepare_ = &CollectiveNode::broadcast;
    if (const auto* shape = init.attrs.find_as<PartialShape>("shape")) shape_ = *shape;
  } else {
    call_.reduction = reduction_of(init.attrs.get_string(op_ == "NcclAllReduce" ? "reduction" : "merge_op"));
    const bool divided = init.attrs.get_or<std::string>("final_op", "Id") == "Div";
    if (divided && call_.reduction == Reduction::kSum) {
      call_.reduction = Reduction::kMean;
    } else {
      divides_ = divided;
    }
  }
}

Status CollectiveNode::check_ranks() const {
  // Limits the group: it allocates memory for every rank and shard of its attributes.
  constexpr int kMostRanks = 1 << 16;
  for (const int ranks : {size_, call_.total}) {
    if (ranks >= 1 && ranks <= kMostRanks) continue;
    return invalid_argument(op_, ": the group '", group_, "' has ", ranks, " ranks; at most ", kMostRanks, " meet")
        .with_id("ARG-COMM-005");
  }
  for (const int rank : {rank_, call_.root}) {
    if (rank < 0 || rank >= size_) return invalid_argument(op_, ": rank ", rank, " of a group of ", size_);
  }
  return ok_status();
}

void CollectiveNode::start(KernelContext& c, GroupBackend* backend, Communicator::Done done) const {
  if (!grouped_ && keyed_.by_key && c.step() != nullptr && c.device() != nullptr) {
    if (const auto tasks = keyed_tasks(c.resources()); tasks.ok())
      return start_keyed(c, *tasks, backend, std::move(done));
  }
  if (!grouped_ || (size_ != 1 && c.step() == nullptr)) {
    return done(failed_precondition(op_, ": ranks meet within a step"));
  }
  if (Status legal = check_ranks(); !legal.ok()) return done(std::move(legal));
  auto tensors = std::make_shared<Tensors>();
  CollectiveCall call = call_;
  call.member = c.node();
  if (Status prepared = (this->*prepare_)(c, *tensors); !prepared.ok()) return done(std::move(prepared));
  if (backend != nullptr) {
    // Recorded after outputs are allocated: their memory is free only in stream order.
    Result<Event> ready = c.device()->launch_queue()->record();
    if (!ready.ok()) return done(ready.status());
    call.ready = *std::move(ready);
  }
  call.out = tensors->results;
  if (call.kind == Collective::kAllReduceShards || call.kind == Collective::kReduceScatterShards) {
    call.shards = tensors->shards;
  } else {
    call.tensors = tensors->values;
  }
  auto over = [this, tensors, done = std::move(done)](Result<Event> end) {
    if (end.ok() && divides_) {
      if (Status divided = divide(tensors->results[0], size_); !divided.ok()) end = std::move(divided);
    }
    // The step, and with it the tensors' memory and this node, may end with `done`.
    *tensors = {};
    if (end.ok() || end.status().id() != "ARG-COMM-002") return done(std::move(end));
    done(Status(end.status().code(), end.status().message())
             .with_id("ARG-GROUP-007")
             .with_hint("find out what holds up the others, or give timeout_seconds more time"));
  };
  if (!net_.empty()) return start_over_tasks(c, backend, call, std::move(over));
  if (size_ == 1) return InprocGroup(1).on_device(0, c.device(), backend)->start(call, std::move(over));
  Result<std::shared_ptr<GroupOfStep>> found = group_of_step(c, group_, size_);
  if (!found.ok()) return over(found.status());
  (*found)->group().on_device(rank_, c.device(), backend)->start(call, std::move(over));
}

Status CollectiveNode::take_shards(KernelContext& c, int inputs, Tensors& tensors) const {
  const int outputs = inputs / static_cast<int>(shards_.size());
  for (int i = 0; i < inputs; ++i) {
    const Tensor& like = c.input(i % outputs);
    if (c.input(i).shape() != like.shape()) {
      return invalid_argument(op_, ": value ", i % outputs, " is ", c.input(i).shape(), " in shard ",
                              shards_[i / outputs], " and ", like.shape(), " in shard ", shards_[0]);
    }
    tensors.values.push_back(c.input(i));
  }
  const auto each = static_cast<std::size_t>(outputs);
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    tensors.shards.push_back({static_cast<int>(shards_[s]), std::span(tensors.values).subspan(s * each, each)});
  }
  return ok_status();
}

Status CollectiveNode::reduce(KernelContext& c, Tensors& tensors) const {
  // In TensorFlow's ops, the inputs after the first identify the group.
  const int inputs = op_ == "_AllReduce" ? c.num_inputs() : 1;
  ARGOSY_RETURN_IF_ERROR(take_shards(c, inputs, tensors));
  for (int i = 0; i < inputs / static_cast<int>(shards_.size()); ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const sum, c.output(i, c.input(i).shape()));
    tensors.results.push_back(*sum);
  }
  return ok_status();
}

Status CollectiveNode::gather(KernelContext& c, Tensors& tensors) const {
  const Tensor& part = c.input(0);
  if (part.shape().rank() == 0) return invalid_argument("input should have rank > 0, recieved ", 0);
  std::vector<std::int64_t> sizes(part.shape().sizes().begin(), part.shape().sizes().end());
  if (sizes[0] > INT64_MAX / size_)
    return invalid_argument(op_, ": ", size_, " parts of ", sizes[0], " rows are too many");
  sizes[0] *= size_;
  ARGOSY_ASSIGN_OR_RETURN(const Shape global, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const all, c.output(0, global));
  tensors.values.push_back(part);
  tensors.results.push_back(*all);
  return ok_status();
}

Status CollectiveNode::broadcast(KernelContext& c, Tensors& tensors) const {
  if (rank_ == call_.root) {
    if (c.num_inputs() == 0) {
      return invalid_argument(op_, ": who receives cannot be the root of its group, ", call_.root);
    }
    const Tensor& x = c.input(0);
    if (shape_ && !shape_->compatible(PartialShape(x.shape()))) {
      return invalid_argument(op_, ": the attribute shape is ", *shape_, ", the value ", x.shape());
    }
    tensors.values.push_back(x);
    c.set_output(0, x);
    return ok_status();
  }
  Shape shape;
  if (shape_) {
    ARGOSY_ASSIGN_OR_RETURN(shape, shape_->full());
  } else {
    ARGOSY_ASSIGN_OR_RETURN(shape, to_shape(c.input(c.num_inputs() - 1), "shape"));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const got, c.output(0, shape));
  tensors.values.push_back(*got);
  return ok_status();
}

}  // namespace argosy
