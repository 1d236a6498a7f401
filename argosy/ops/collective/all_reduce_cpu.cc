// What the nodes of collectives are, and their kernels where every device's memory is the host's.
#include "argosy/comm/combine.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/collective/collective_rendezvous.h"
#include "argosy/ops/collective/named_groups.h"

namespace argosy {

namespace {

// What the op's own attributes and inputs say of the group's size, where no step has told it; 0: nothing.
std::int64_t asked_size(const KernelInit& init) {
  for (const char* name : {"num_devices", "group_size"}) {
    if (const auto* size = init.attrs.find_as<std::int64_t>(name)) return *size;
  }
  return 0;
}

}  // namespace

Reduction reduction_of(std::string_view word) {
  if (word == "min" || word == "Min") return Reduction::kMin;
  if (word == "max" || word == "Max") return Reduction::kMax;
  if (word == "prod" || word == "Mul") return Reduction::kProd;
  return Reduction::kSum;
}

GroupNode::GroupNode(const KernelInit& init)
    : op_(init.op.name),
      group_(init.attrs.get_or<std::string>("group", "")),
      rank_(static_cast<int>(init.attrs.get_or<std::int64_t>("rank", 0))),
      size_(static_cast<int>(init.attrs.get_or<std::int64_t>("size", 1))),
      total_(size_),
      root_(static_cast<int>(init.attrs.get_or<std::int64_t>("root", 0))),
      grouped_(!group_.empty() || asked_size(init) == 1),
      shards_({rank_}) {
  // More than the clock can count is for ever.
  if (const float seconds = init.attrs.get_or<float>("timeout_seconds", 0); seconds > 0 && seconds < 1e9F) {
    timeout_ = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  }
  if (op_ == "_AllReduce") {
    if (const auto& shards = init.attrs.get<std::vector<std::int64_t>>("shards"); !shards.empty()) {
      deterministic_ = true;
      shards_ = shards;
      total_ = static_cast<int>(init.attrs.get_int("total"));
    }
    return;
  }
  if (op_.starts_with("CollectiveGather")) {
    kind_ = Collective::kAllGather;
  } else if (op_.starts_with("CollectiveBcast")) {
    kind_ = Collective::kBroadcast;
    if (const auto* shape = init.attrs.find_as<PartialShape>("shape")) shape_ = *shape;
  } else {
    reduction_ = reduction_of(init.attrs.get_string(op_ == "NcclAllReduce" ? "reduction" : "merge_op"));
    const bool divided = init.attrs.get_or<std::string>("final_op", "Id") == "Div";
    if (divided && reduction_ == Reduction::kSum) {
      reduction_ = Reduction::kMean;
    } else {
      divides_ = divided;
    }
  }
}

Result<CollectiveParticipant> GroupNode::call(KernelContext& c) const {
  CollectiveParticipant call{.kind = kind_,
                             .reduction = reduction_,
                             .rank = rank_,
                             .size = size_,
                             .total = total_,
                             .root = root_,
                             .timeout = timeout_,
                             .deterministic = deterministic_,
                             .shards = shards_};
  call.context = &c;
  if (!grouped_ || (size_ != 1 && c.step() == nullptr)) {
    return failed_precondition(op_, ": ranks meet within a step");
  }
  switch (kind_) {
    case Collective::kAllGather: ARGOSY_RETURN_IF_ERROR(gather(c, call)); break;
    case Collective::kBroadcast: ARGOSY_RETURN_IF_ERROR(broadcast(c, call)); break;
    default: ARGOSY_RETURN_IF_ERROR(reduce(c, call)); break;
  }
  return call;
}

Status GroupNode::reduce(KernelContext& c, CollectiveParticipant& call) const {
  // The other inputs of TensorFlow's ops say which group it is.
  const int inputs = op_ == "_AllReduce" ? c.num_inputs() : 1;
  const int outputs = inputs / static_cast<int>(shards_.size());
  for (int i = 0; i < inputs; ++i) {
    const Tensor& like = c.input(i % outputs);
    if (c.input(i).shape() != like.shape()) {
      return invalid_argument(op_, ": value ", i % outputs, " is ", c.input(i).shape(), " in shard ",
                              shards_[i / outputs], " and ", like.shape(), " in shard ", shards_[0]);
    }
    call.values.push_back(c.input(i));
  }
  for (int i = 0; i < outputs; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const sum, c.output(i, c.input(i).shape()));
    call.results.push_back(*sum);
  }
  return ok_status();
}

Status GroupNode::gather(KernelContext& c, CollectiveParticipant& call) const {
  const Tensor& part = c.input(0);
  if (part.shape().rank() == 0) return invalid_argument("input should have rank > 0, recieved ", 0);
  std::vector<std::int64_t> sizes(part.shape().sizes().begin(), part.shape().sizes().end());
  if (sizes[0] > INT64_MAX / size_)
    return invalid_argument(op_, ": ", size_, " parts of ", sizes[0], " rows are too many");
  sizes[0] *= size_;
  ARGOSY_ASSIGN_OR_RETURN(const Shape whole, Shape::make(sizes));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const all, c.output(0, whole));
  call.values.push_back(part);
  call.results.push_back(*all);
  return ok_status();
}

Status GroupNode::broadcast(KernelContext& c, CollectiveParticipant& call) const {
  if (rank_ == root_) {
    if (c.num_inputs() == 0) return invalid_argument(op_, ": who receives cannot be the root of its group, ", root_);
    const Tensor& x = c.input(0);
    if (shape_ && !shape_->compatible(PartialShape(x.shape()))) {
      return invalid_argument(op_, ": the attribute shape is ", *shape_, ", the value ", x.shape());
    }
    call.values.push_back(x);
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
  call.results.push_back(*got);
  return ok_status();
}

void GroupNode::join(CollectiveParticipant call) const {
  if (size_ == 1) {
    const Exchange alone = call.exchange != nullptr ? call.exchange : exchange;
    std::vector<CollectiveParticipant> calls;
    calls.push_back(std::move(call));
    return alone(std::move(calls), group_);
  }
  auto rendezvous = call.context->step()->step_resources().find_or_make<CollectiveRendezvous>(
      "_collective", group_, [&] { return std::make_shared<CollectiveRendezvous>(group_); });
  if (!rendezvous.ok()) return call.give_up(rendezvous.status());
  (*rendezvous)->join(std::move(call));
}

namespace {

// A mean of one, as the others are made.
Status divide(const Tensor& result, int by) {
  ARGOSY_ASSIGN_OR_RETURN(const CombineFn mean, find_combine(result.dtype(), Reduction::kMean, CombineOrder::kChain));
  std::byte* const here = static_cast<std::byte*>(result.raw());
  const std::byte* const in[] = {here};
  std::byte* const out[] = {here};
  mean({.in = in, .out = out, .inputs = 1, .outputs = 1, .divisor = static_cast<double>(by)}, 0,
       static_cast<std::size_t>(result.elements()));
  return ok_status();
}

class InGroup final : public AsyncKernel {
 public:
  explicit InGroup(const KernelInit& init) : node_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<InGroup>(init));
  }
  void run_async(KernelContext& c, Done done) override {
    Result<CollectiveParticipant> call = node_.call(c);
    if (!call.ok()) return done(call.status());
    if (node_.divides()) {
      call->done = [result = call->results[0], by = call->size, done = std::move(done)](Status status) {
        done(status.ok() ? divide(result, by) : std::move(status));
      };
    } else {
      call->done = std::move(done);
    }
    node_.join(*std::move(call));
  }

 private:
  const GroupNode node_;
};

}  // namespace

void add_kernels_cpu_all_reduce(KernelRegistry& kernels) {
  for (const char* op : {"_AllReduce", "NcclAllReduce", "CollectiveReduce", "CollectiveReduceV2", "CollectiveGather",
                         "CollectiveGatherV2", "CollectiveBcastSend", "CollectiveBcastSendV2", "CollectiveBcastRecv",
                         "CollectiveBcastRecvV2"}) {
    kernels.add(op, "cpu", InGroup::make);
  }
}

}  // namespace argosy
