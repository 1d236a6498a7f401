// start() of a collective whose group has ranks on other tasks (collective_node.h).
#include "argosy/comm/net/spanning_group.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/resource_manager.h"
#include "argosy/ops/collective/collective_node.h"
#include "argosy/ops/collective/task_net.h"

namespace argosy {

namespace {

// This task's ranks of a group that spans tasks: a resource of the step, by the group's name.
class SpanningGroupOfStep final : public Resource {
 public:
  SpanningGroupOfStep(std::shared_ptr<NetGroup> net, const SpanningOptions& options)
      : group_(std::move(net), options) {}
  std::string describe() const override { return str_cat("some of ", group_.size(), " ranks"); }
  SpanningGroup& group() { return group_; }

 private:
  SpanningGroup group_;
};

}  // namespace

void CollectiveNode::start_over_tasks(KernelContext& c, GroupBackend* backend, const CollectiveCall& call,
                                      Communicator::Done done) const {
  Result<std::shared_ptr<NetGroup>> net = task_net(c.resources());
  if (!net.ok()) return done(net.status());
  const SpanningOptions options{.size = size_,
                                .first = static_cast<int>(net_.at(1)),
                                .here = static_cast<int>(net_.at(2)),
                                .tag = static_cast<std::uint32_t>(net_.at(0)),
                                .cancellation = &c.step()->cancellation()};
  auto found = c.step()->step_resources().find_or_make<SpanningGroupOfStep>(
      "_collective", group_, [&] { return std::make_shared<SpanningGroupOfStep>(*net, options); });
  if (!found.ok()) return done(found.status());
  CollectiveCall mine = call;
  mine.device = c.device();
  (*found)->group().start(rank_, mine, std::move(done), backend);
}

}  // namespace argosy
