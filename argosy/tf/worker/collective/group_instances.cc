#include "argosy/tf/worker/collective/group_instances.h"

#include <utility>

#include "argosy/base/str.h"
#include "argosy/ops/collective/keyed_tasks.h"

namespace argosy::tf {

Status members_disagree(std::string_view what) { return internal_error(what).with_id("ARG-CLUSTER-105"); }

Status too_many_at_leader(std::size_t count, std::string_view what) {
  return resource_exhausted(count, " ", what, " are open at their leader")
      .with_id("ARG-CLUSTER-127")
      .with_hint("use fewer keys, or start the leader again");
}

Status check_instance(int kind, DType dtype, const InstanceRequest& request) {
  if (kind == request.kind && dtype == request.dtype) return ok_status();
  return members_disagree(str_cat("Collective instance ", request.instance, " expected type ", kind, " and data_type ",
                                  static_cast<int>(dtype), " but got type ", request.kind, " and data_type ",
                                  static_cast<int>(request.dtype)));
}

void GroupInstances::find_source(Instance& instance, const InstanceRequest& request, int rank, int size) {
  if (std::exchange(instance.known[request.device], true)) return;
  if (request.source && instance.source >= 0) {
    instance.error = members_disagree(str_cat("Instance ", request.instance, " already has source ", instance.source,
                                              ", received second claim from ", rank));
  } else if (request.source) {
    instance.source = rank;
  }
  if (static_cast<int>(instance.known.size()) == size && instance.source < 0) {
    instance.error = members_disagree(str_cat("Instance ", request.instance,
                                              " found no source for broadcast.  This could mean that there were "
                                              "group_size=",
                                              instance.known.size(), " BcastRecvs but no BcastSend."));
  }
}

void GroupInstances::join(const InstanceRequest& request, int rank, int size, Told told, Calls& calls) {
  if (instances_.size() >= kMost && !instances_.contains(request.instance)) {
    calls.push_back([told = std::move(told), why = too_many_at_leader(kMost, "instances of a group")] { told(why); });
    return;
  }
  const auto [found, fresh] = instances_.try_emplace(request.instance);
  Instance& instance = found->second;
  if (fresh) {
    instance.kind = request.kind;
    instance.dtype = request.dtype;
  }
  if (instance.error.ok()) instance.error = check_instance(instance.kind, instance.dtype, request);
  const bool broadcast = instance.kind == KeyedMember::kBroadcast;
  if (instance.error.ok() && broadcast) find_source(instance, request, rank, size);
  instance.waiting.push_back(std::move(told));
  if (instance.error.ok() && broadcast && static_cast<int>(instance.known.size()) < size) return;
  for (Told& waiting : instance.waiting) {
    calls.push_back([waiting = std::move(waiting), error = instance.error, source = instance.source] {
      if (error.ok()) return waiting(source);
      waiting(error);
    });
  }
  instance.waiting.clear();
  if (!std::exchange(instance.told, true)) told_.push_back(request.instance);
  if (told_.size() <= kTold) return;
  instances_.erase(told_.front());
  told_.pop_front();
}

void GroupInstances::drop(const Status& why, Calls& calls) {
  for (auto& [key, instance] : instances_) {
    for (Told& told : instance.waiting) calls.push_back([told = std::move(told), why] { told(why); });
  }
  instances_.clear();
  told_.clear();
}

}  // namespace argosy::tf
