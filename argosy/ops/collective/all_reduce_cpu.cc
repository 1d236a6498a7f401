#include "argosy/op/step_context.h"
#include "argosy/ops/collective/meeting.h"

namespace argosy {

AllReduceNode::AllReduceNode(const KernelInit& init)
    : group_(init.attrs.get_string("group")),
      rank_(static_cast<int>(init.attrs.get_int("rank"))),
      size_(static_cast<int>(init.attrs.get_int("size"))),
      total_(static_cast<int>(init.attrs.get_int("total"))),
      shards_(init.attrs.get<std::vector<std::int64_t>>("shards")) {
  fixed_order_ = !shards_.empty();
  if (fixed_order_) return;
  shards_ = {rank_};
  total_ = size_;
}

Result<SumCall> AllReduceNode::call(KernelContext& c) const {
  SumCall call{.rank = rank_, .size = size_, .total = total_, .fixed_order = fixed_order_, .shards = shards_};
  call.context = &c;
  if (size_ != 1 && c.step() == nullptr) return failed_precondition("_AllReduce: ranks meet within a step");
  const int outputs = c.num_inputs() / static_cast<int>(shards_.size());
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Tensor& like = c.input(i % outputs);
    if (c.input(i).shape() != like.shape()) {
      return invalid_argument("_AllReduce: value ", i % outputs, " is ", c.input(i).shape(), " in shard ",
                              shards_[i / outputs], " and ", like.shape(), " in shard ", shards_[0]);
    }
    call.values.push_back(c.input(i));
  }
  for (int i = 0; i < outputs; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const sum, c.output(i, c.input(i).shape()));
    call.sums.push_back(*sum);
  }
  return call;
}

void AllReduceNode::arrive(SumCall call) const {
  if (size_ == 1) {
    const Exchange alone = call.exchange != nullptr ? call.exchange : exchange;
    std::vector<SumCall> calls;
    calls.push_back(std::move(call));
    return alone(std::move(calls), group_);
  }
  auto meeting = call.context->step()->step_resources().find_or_make<Meeting>(
      "_collective", group_, [&] { return std::make_shared<Meeting>(group_); });
  if (!meeting.ok()) return call.give_up(meeting.status());
  (*meeting)->arrive(std::move(call));
}

namespace {

class AllReduce final : public AsyncKernel {
 public:
  explicit AllReduce(const KernelInit& init) : node_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<AllReduce>(init));
  }
  void run_async(KernelContext& c, Done done) override {
    Result<SumCall> call = node_.call(c);
    if (!call.ok()) return done(call.status());
    call->done = std::move(done);
    node_.arrive(*std::move(call));
  }

 private:
  const AllReduceNode node_;
};

}  // namespace

void add_kernels_cpu_all_reduce(KernelRegistry& kernels) { kernels.add("_AllReduce", "cpu", AllReduce::make); }

}  // namespace argosy
