#include "argosy/tf/worker/collective/group_table.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "argosy/ops/collective/keyed_tasks.h"

namespace argosy::tf {

namespace {

auto rank_key(const DeviceSpec& spec) {
  const DeviceName& d = spec.name;
  return std::tuple(d.job, d.replica.value_or(0), d.task.value_or(0), d.type, d.id.value_or(0));
}

Status disagree(const auto&... what) { return internal_error(what...).with_id("ARG-CLUSTER-105"); }

Status check_kind(std::int64_t size, const std::string& type, const GroupMemberRequest& request) {
  if (request.device_type != type) {
    return disagree("Collective Op ", request.name, " is assigned to device ", request.device.name.to_string(),
                    " with type ", request.device_type, " and group_key ", request.group, " but that group has type ",
                    type);
  }
  if (request.size != size) {
    return disagree("Collective Op ", request.name, " has group_size ", request.size, " and group_key ", request.group,
                    " but that group has size ", size);
  }
  return ok_status();
}

Status started_again() {
  return aborted("a member of the group was started again").with_id("ARG-CLUSTER-107").with_hint("run the step again");
}

}  // namespace

int Group::rank_of(const std::string& device) const {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].name.to_string() == device) return static_cast<int>(i);
  }
  return -1;
}

void rank_members(Group& group) {
  std::ranges::sort(group.members, {}, rank_key);
  std::set<std::tuple<std::string, int, int>> tasks;
  for (const DeviceSpec& member : group.members) {
    tasks.emplace(member.name.job, member.name.replica.value_or(0), member.name.task.value_or(0));
  }
  group.tasks = static_cast<int>(tasks.size());
}

Status check_instance(int kind, DType dtype, const InstanceRequest& request) {
  if (kind == request.kind && dtype == request.dtype) return ok_status();
  return disagree("Collective instance ", request.instance, " expected type ", kind, " and data_type ",
                  static_cast<int>(dtype), " but got type ", request.kind, " and data_type ",
                  static_cast<int>(request.dtype));
}

Status check_member(const Group& group, const GroupMemberRequest& request) {
  const std::string device = request.device.name.to_string();
  Status agrees = check_kind(static_cast<std::int64_t>(group.members.size()), group.device_type, request);
  if (!agrees.ok() || group.rank_of(device) >= 0) return agrees;
  return disagree("Collective Op ", request.name, " is assigned to device ", device, " and group_key ", request.group,
                  " but that group doesn't contain that device.");
}

Status GroupTable::check(const Record& record, const GroupMemberRequest& request) {
  if (record.group != nullptr) return check_member(*record.group, request);
  return check_kind(record.size, record.device_type, request);
}

void GroupTable::drop(Record record, const Status& why, Calls& calls) {
  for (Joined& joined : record.waiting) calls.push_back([joined = std::move(joined), why] { joined(why); });
  for (auto& [key, instance] : record.instances) {
    for (Told& told : instance.waiting) calls.push_back([told = std::move(told), why] { told(why); });
  }
}

void GroupTable::join(const GroupMemberRequest& request, Joined joined) {
  const std::string device = request.device.name.to_string();
  Calls calls;
  {
    MutexLock lock(mutex_);
    if (const auto old = groups_.find(request.group); old != groups_.end()) {
      const auto member = old->second.devices.find(device);
      const bool other_life =
          member != old->second.devices.end() && member->second.incarnation != request.device.incarnation;
      // Who has heard what was wrong, and comes again, starts anew.
      const bool again = !old->second.error.ok() && old->second.heard.contains(device);
      if (other_life && old->second.group == nullptr) {
        member->second = request.device;
      } else if (other_life || again) {
        drop(std::move(old->second), started_again(), calls);
        groups_.erase(old);
      }
    }
    const auto [at, fresh] = groups_.try_emplace(request.group);
    Record& record = at->second;
    if (fresh) {
      record.size = request.size;
      record.device_type = request.device_type;
    }
    if (record.error.ok()) record.error = check(record, request);
    if (!record.error.ok()) {
      record.heard[device] = true;
      for (const auto& [name, spec] : record.devices) record.heard[name] = true;
      const Status why = record.error;
      record.waiting.push_back(std::move(joined));
      for (Joined& waiting : record.waiting) {
        calls.push_back([waiting = std::move(waiting), why] { waiting(why); });
      }
      record.waiting.clear();
    } else {
      record.devices[device] = request.device;
      record.waiting.push_back(std::move(joined));
      if (record.devices.size() == static_cast<std::size_t>(record.size)) {
        if (record.group == nullptr) {
          auto group = std::make_shared<Group>();
          group->key = request.group;
          group->device_type = record.device_type;
          for (const auto& [name, spec] : record.devices) group->members.push_back(spec);
          rank_members(*group);
          record.group = std::move(group);
        }
        for (Joined& waiting : record.waiting) {
          calls.push_back([waiting = std::move(waiting), group = record.group] { waiting(group); });
        }
        record.waiting.clear();
      }
    }
  }
  for (const auto& call : calls) call();
}

void GroupTable::join_instance(const InstanceRequest& request, Told told) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    const auto at = groups_.find(request.group);
    const int rank =
        at == groups_.end() || at->second.group == nullptr ? -1 : at->second.group->rank_of(request.device);
    if (rank < 0) {
      calls.push_back([told, key = request.group] {
        told(failed_precondition("group ", key, " not found. This normally means the server has restarted")
                 .with_id("ARG-CLUSTER-106")
                 .with_hint("run the step again"));
      });
    } else {
      const auto [found, fresh] = at->second.instances.try_emplace(request.instance);
      Instance& instance = found->second;
      if (fresh) {
        instance.kind = request.kind;
        instance.dtype = request.dtype;
      }
      if (instance.error.ok()) instance.error = check_instance(instance.kind, instance.dtype, request);
      const bool broadcast = instance.kind == KeyedMember::kBroadcast;
      if (instance.error.ok() && broadcast && !std::exchange(instance.known[request.device], true)) {
        if (request.source && instance.source >= 0) {
          instance.error = disagree("Instance ", request.instance, " already has source ", instance.source,
                                    ", received second claim from ", rank);
        } else if (request.source) {
          instance.source = rank;
        }
        if (static_cast<int>(instance.known.size()) == at->second.size && instance.source < 0) {
          instance.error = disagree("Instance ", request.instance,
                                    " found no source for broadcast.  This could mean that there were group_size=",
                                    instance.known.size(), " BcastRecvs but no BcastSend.");
        }
      }
      instance.waiting.push_back(std::move(told));
      if (!instance.error.ok() || !broadcast || static_cast<int>(instance.known.size()) == at->second.size) {
        for (Told& waiting : instance.waiting) {
          calls.push_back([waiting = std::move(waiting), error = instance.error, source = instance.source] {
            if (error.ok()) return waiting(source);
            waiting(error);
          });
        }
        instance.waiting.clear();
      }
    }
  }
  for (const auto& call : calls) call();
}

void GroupTable::forget(std::int32_t group, const Status& why) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    const auto at = groups_.find(group);
    if (at == groups_.end() || at->second.group == nullptr) return;
    drop(std::move(at->second), why, calls);
    groups_.erase(at);
  }
  for (const auto& call : calls) call();
}

void GroupTable::forget_all(const Status& why) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    for (auto& [key, record] : groups_) drop(std::move(record), why, calls);
    groups_.clear();
  }
  for (const auto& call : calls) call();
}

}  // namespace argosy::tf
