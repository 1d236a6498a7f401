// start() of a collective by keys whose members are in other tasks' steps (collective_node.h).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "argosy/base/narrow.h"
#include "argosy/comm/keyed/ring.h"
#include "argosy/comm/keyed/tree_broadcast.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/ops/collective/collective_node.h"
#include "argosy/ops/collective/group_timers.h"
#include "argosy/ops/collective/keyed_tasks.h"

namespace argosy {

namespace {

// One run of a node; it lives until `done`.
struct KeyedRun : std::enable_shared_from_this<KeyedRun> {
  std::shared_ptr<KeyedTasks> tasks;
  KeyedMember member;
  std::string key;
  Tensor values, result;  // a gathering's result holds all parts
  Reduction reduction = Reduction::kSum;
  bool mean = false;
  std::shared_ptr<GroupTimers> timers;
  std::atomic<bool> met{false};
  Mutex mutex;
  Timers::Token timer ARGOSY_GUARDED_BY(mutex) = 0;
  Communicator::Done done;

  void end(Status status) {
    Timers::Token token = 0;
    {
      MutexLock lock(mutex);
      token = std::exchange(timer, 0);
    }
    if (token != 0) timers->timers.cancel(token);
    const Communicator::Done told = std::move(done);
    // The step, and with it the memory, may end with it.
    values = result = Tensor();
    if (status.ok()) return told(Event());
    told(std::move(status));
  }

  Status time_out_after(std::chrono::nanoseconds timeout, ResourceManager& resources) {
    ARGOSY_ASSIGN_OR_RETURN(timers, GroupTimers::of(resources));
    const auto late = [weak = weak_from_this()] {
      const auto run = weak.lock();
      if (run == nullptr) return;
      run->tasks->abort(run->member.step_id,
                        deadline_exceeded(run->met.load() ? "Collective has timed out during execution."
                                                          : "Collective has timed out waiting for other workers.")
                            .with_id("ARG-CLUSTER-102")
                            .with_hint("start the other workers; or give timeout_seconds more time"));
    };
    MutexLock lock(mutex);
    ARGOSY_ASSIGN_OR_RETURN(timer, timers->timers.set(std::chrono::steady_clock::now() + timeout, late));
    return ok_status();
  }

  void run(KeyedTasks::Membership membership) {
    met.store(true);
    const auto ended = [self = shared_from_this()](Status status) { self->end(std::move(status)); };
    if (member.kind == KeyedMember::kBroadcast) {
      return start_tree_broadcast(membership.group, membership.source, key, member.source ? values : result,
                                  std::move(membership.exchange), ended);
    }
    RingCall call{.group = std::move(membership.group), .key = key, .offsets = {0}, .values = result};
    if (member.kind == KeyedMember::kGather) {
      std::memcpy(static_cast<std::byte*>(result.raw()) + values.bytes() * static_cast<std::size_t>(call.group.rank),
                  values.raw(), values.bytes());
      return start_ring_gather(call, std::move(membership.exchange), ended);
    }
    call.reduction = reduction;
    call.mean = mean;
    call.offsets = std::move(membership.ring_offsets);
    if (values.bytes() > 0) std::memcpy(result.raw(), values.raw(), values.bytes());
    start_ring_reduce(call, std::move(membership.exchange), ended);
  }
};

Result<std::int32_t> key_input(const KernelContext& c, int i, const char* name) {
  if (c.input(i).shape().rank() != 0) {
    return invalid_argument("Unexpected dimensions on input ", name, ", got ", c.input(i).shape());
  }
  return *c.input(i).data<std::int32_t>();
}

}  // namespace

CollectiveNode::Keyed::Keyed(const KernelInit& init) {
  const auto& args = init.op.input_args;
  const auto is_key = [](const ArgDef& input) { return input.name == "group_key"; };
  by_key = init.op.attr("group_key") != nullptr || std::ranges::any_of(args, is_key);
  if (!by_key) return;
  has_value = args.size() > 0 && args[0].name == "input";
  if (const auto* size = init.attrs.find_as<std::int64_t>("group_size")) {
    keys = {{saturated_int(*size), saturated_int(init.attrs.get_int("group_key")),
             saturated_int(init.attrs.get_int("instance_key"))}};
  }
  if (const auto* offsets = init.attrs.find_as<std::vector<std::int64_t>>("subdiv_offsets")) {
    for (const std::int64_t offset : *offsets) ring_offsets.push_back(saturated_int(offset));
  }
  most_rings = saturated_int(init.attrs.get_or<std::int64_t>("max_subdivs_per_device", -1));
  mean = init.attrs.get_or<std::string>("final_op", "Id") == "Div";
}

void CollectiveNode::start_keyed(KernelContext& c, const std::shared_ptr<KeyedTasks>& tasks, GroupBackend* backend,
                                 Communicator::Done done) const {
  if (backend != nullptr) {
    return done(unimplemented(op_, ": real GPUs in collectives between tasks")
                    .with_id("ARG-CLUSTER-101")
                    .with_hint("--devices cpu on each task, or one task with all the GPUs"));
  }
  auto run = std::make_shared<KeyedRun>();
  run->tasks = tasks;
  if (Status ready = fill_keyed(c, run->member, run->values, run->result); !ready.ok()) return done(std::move(ready));
  const FrameIteration at = c.step()->frame_iteration();
  run->member.in_loop = at.frame != 0;
  run->key = str_cat(run->member.group, ":", run->member.instance, ":", at.frame, ":", at.iteration);
  run->reduction = call_.reduction == Reduction::kMean ? Reduction::kSum : call_.reduction;
  run->mean = keyed_.mean;
  run->done = std::move(done);
  const std::int64_t step_id = run->member.step_id;
  // It is called as long as the step lasts, also when this node has ended: then it aborts the others.
  Cancellation& cancellation = c.step()->cancellation();
  Cancellation::Token token = 0;
  if (!cancellation.add([&cancellation, tasks, step_id] { tasks->abort(step_id, cancellation.status()); }, &token)) {
    tasks->abort(step_id, cancellation.status());
    return run->end(cancellation.status());
  }
  if (call_.timeout.count() > 0) {
    if (Status timed = run->time_out_after(call_.timeout, c.resources()); !timed.ok())
      return run->end(std::move(timed));
  }
  tasks->join(run->member, [run](Result<KeyedTasks::Membership> membership) {
    if (!membership.ok()) return run->end(std::move(membership).status());
    run->run(*std::move(membership));
  });
}

Status CollectiveNode::fill_keyed(KernelContext& c, KeyedMember& to, Tensor& values, Tensor& result) const {
  to.step_id = c.step()->step_id();
  to.name = std::string(c.node());
  to.device = &c.device()->spec();
  const int first = keyed_.has_value ? 1 : 0;
  if (keyed_.keys) {
    to.size = (*keyed_.keys)[0];
    to.group = (*keyed_.keys)[1];
    to.instance = (*keyed_.keys)[2];
  } else {
    ARGOSY_ASSIGN_OR_RETURN(to.size, key_input(c, first, "group_size"));
    ARGOSY_ASSIGN_OR_RETURN(to.group, key_input(c, first + 1, "group_key"));
    ARGOSY_ASSIGN_OR_RETURN(to.instance, key_input(c, first + 2, "instance_key"));
  }
  if (to.size < 1) return invalid_argument("group_size must be positive integer but got ", to.size);
  if (keyed_.has_value) values = c.input(0);
  if (call_.kind == Collective::kBroadcast) {
    to.kind = KeyedMember::kBroadcast;
    to.source = keyed_.has_value;
    to.dtype = c.output_dtype(0);
    if (to.source) {
      if (shape_ && !shape_->compatible(PartialShape(values.shape()))) {
        return invalid_argument("Declared shape of op ", c.node(), " is ", *shape_, " and input shape is ",
                                values.shape());
      }
      to.shape = values.shape();
      c.set_output(0, values);
      return ok_status();
    }
    if (shape_) {
      ARGOSY_ASSIGN_OR_RETURN(to.shape, shape_->full());
    } else {
      ARGOSY_ASSIGN_OR_RETURN(to.shape, to_shape(c.input(c.num_inputs() - 1), "shape"));
    }
  } else {
    to.kind = call_.kind == Collective::kAllGather ? KeyedMember::kGather : KeyedMember::kReduction;
    to.dtype = values.dtype();
    to.shape = values.shape();
    to.bytes = static_cast<std::int64_t>(values.bytes());
    to.ring_offsets = keyed_.ring_offsets;
    to.most_rings = keyed_.most_rings;
  }
  if (to.kind == KeyedMember::kGather) {
    if (to.shape.rank() == 0) return invalid_argument("input should have rank > 0, received ", 0);
    std::vector<std::int64_t> sizes(to.shape.sizes().begin(), to.shape.sizes().end());
    if (sizes[0] > INT64_MAX / to.size) {
      return invalid_argument(op_, ": ", to.size, " parts of ", sizes[0], " rows are too many");
    }
    sizes[0] *= to.size;
    ARGOSY_ASSIGN_OR_RETURN(to.shape, Shape::make(sizes));
  }
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const out, c.output(0, to.shape));
  result = *out;
  return ok_status();
}

}  // namespace argosy
