#include "argosy/op/step_context.h"
#include "argosy/ops/collective/meeting.h"

namespace argosy {

namespace {

class AllReduce final : public AsyncKernel {
 public:
  explicit AllReduce(const KernelInit& init)
      : group_(init.attrs.get_string("group")),
        rank_(static_cast<int>(init.attrs.get_int("rank"))),
        size_(static_cast<int>(init.attrs.get_int("size"))),
        total_(static_cast<int>(init.attrs.get_int("total"))),
        shards_(init.attrs.get<std::vector<std::int64_t>>("shards")) {
    if (!shards_.empty()) return;
    shards_ = {rank_};
    total_ = size_;
  }

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<AllReduce>(init));
  }

  void run_async(KernelContext& c, Done done) override {
    SumCall call{.rank = rank_, .size = size_, .total = total_, .shards = shards_, .context = &c};
    Status status = prepare(c, call);
    if (!status.ok()) return done(std::move(status));
    call.done = std::move(done);
    if (size_ == 1 || c.step() == nullptr) {
      std::vector<SumCall> alone;
      if (size_ != 1) return call.done(failed_precondition("_AllReduce: ranks meet within a step"));
      alone.push_back(std::move(call));
      return exchange(std::move(alone), group_);
    }
    auto meeting = c.step()->step_resources().find_or_make<Meeting>("_collective", group_,
                                                                    [&] { return std::make_shared<Meeting>(group_); });
    if (!meeting.ok()) return call.done(meeting.status());
    (*meeting)->arrive(std::move(call));
  }

 private:
  Status prepare(KernelContext& c, SumCall& call) const {
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
    return ok_status();
  }

  const std::string group_;
  const int rank_, size_;
  int total_;
  std::vector<std::int64_t> shards_;
};

}  // namespace

void add_kernels_cpu_all_reduce(KernelRegistry& kernels) { kernels.add("_AllReduce", "cpu", AllReduce::make); }

}  // namespace argosy
