#include "argosy/tf/worker/collective/group_leader.h"

namespace argosy::tf {

namespace {

std::string default_leader(const ClusterSpec& cluster) {
  for (const char* const job : {"chief", "worker"}) {
    if (cluster.address({job, 0}) != nullptr) return TaskName{job, 0}.to_string();
  }
  const std::vector<TaskName> tasks = cluster.tasks();
  return tasks.empty() ? std::string() : tasks[0].to_string();
}

}  // namespace

GroupLeader::GroupLeader(const Peers& peers) : peers_(peers), name_(default_leader(peers.cluster())) {}

Status GroupLeader::ask_for(const std::string& task) {
  ARGOSY_ASSIGN_OR_RETURN(const TaskName name, task_of(task));
  const std::string wanted = name.to_string();
  MutexLock lock(mutex_);
  if (peers_.cluster().address(name) == nullptr) {
    return invalid_argument("collective_group_leader is ", wanted,
                            ", which is no task of the cluster: ", str_join(peers_.cluster().tasks()))
        .with_id("ARG-CLUSTER-109")
        .with_hint("name a task of the cluster in ConfigProto.experimental.collective_group_leader");
  }
  if (asked_ && name_ != wanted) {
    return invalid_argument("collective_group_leader is ", wanted, "; an earlier session of ", peers_.own(), " named ",
                            name_)
        .with_id("ARG-CLUSTER-111")
        .with_hint("name the same task in every session, or start the tasks again");
  }
  name_ = wanted;
  asked_ = true;
  return ok_status();
}

std::string GroupLeader::name() const {
  MutexLock lock(mutex_);
  return name_;
}

std::string GroupLeader::asked_for() const {
  MutexLock lock(mutex_);
  return asked_ ? name_ : std::string();
}

}  // namespace argosy::tf
