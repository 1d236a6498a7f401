#include "argosy/tf/worker/collective/group_table.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "argosy/base/str.h"

namespace argosy::tf {

namespace {

auto rank_key(const DeviceSpec& spec) {
  const DeviceName& d = spec.name;
  return std::tuple(task_of_member(spec).to_string(), d.type, d.id.value_or(0));
}

Status disagree(const auto&... what) { return members_disagree(str_cat(what...)); }

Status check_kind(std::int64_t size, const std::string& type, const GroupMemberRequest& request) {
  if (request.device_type != type) {
    return disagree("Device ", request.device.name.to_string(), " is joining a group with incompatible device type",
                    type, " (group_key=", request.group, ")");
  }
  if (request.size != size) {
    return disagree("Device ", request.device.name.to_string(), " is joining a group with size", request.size,
                    ", but that group has size ", size, " (group_key=", request.group, ")");
  }
  return ok_status();
}

Status started_again() {
  return aborted("a member of the group was started again").with_id("ARG-CLUSTER-107").with_hint("run the step again");
}

Status not_there(std::int32_t group) {
  return failed_precondition("group ", group, " not found. This normally means the server has restarted")
      .with_id("ARG-CLUSTER-106")
      .with_hint("run the step again");
}

}  // namespace

int Group::rank_of(const std::string& device) const {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].name.to_string() == device) return static_cast<int>(i);
  }
  return -1;
}

TaskName task_of_member(const DeviceSpec& member) { return {member.name.job, member.name.task.value_or(0)}; }

void rank_members(Group& group) {
  std::ranges::sort(group.members, {}, rank_key);
  std::set<TaskName> tasks;
  for (const DeviceSpec& member : group.members) tasks.insert(task_of_member(member));
  group.tasks = static_cast<int>(tasks.size());
}

KeyedGroup keyed_group(const Group& group, int rank) {
  KeyedGroup keyed{.task_of = {}, .rank = rank};
  std::map<TaskName, int> tasks;
  for (const DeviceSpec& member : group.members) {
    const auto next = static_cast<int>(tasks.size());
    keyed.task_of.push_back(tasks.try_emplace(task_of_member(member), next).first->second);
  }
  return keyed;
}

Status check_member(const Group& group, const GroupMemberRequest& request) {
  const std::string device = request.device.name.to_string();
  Status agrees = check_kind(static_cast<std::int64_t>(group.members.size()), group.device_type, request);
  if (!agrees.ok() || group.rank_of(device) >= 0) return agrees;
  return disagree("Device ", device, " is joining a group that is already full (group_key=", request.group, ")");
}

Status GroupTable::check(const Record& record, const GroupMemberRequest& request) {
  if (record.group != nullptr) return check_member(*record.group, request);
  return check_kind(record.size, record.device_type, request);
}

void GroupTable::drop(Record record, const Status& why, Calls& calls) {
  for (auto& [number, joined] : record.waiting) calls.push_back([joined = std::move(joined), why] { joined(why); });
  record.instances.drop(why, calls);
}

void GroupTable::erase(Records::iterator at, const Status& why, Calls& calls) {
  if (at->second.group != nullptr) --complete_;
  if (failed_.erase(at->first) > 0) std::erase(failed_order_, at->first);
  drop(std::move(at->second), why, calls);
  groups_.erase(at);
}

void GroupTable::tell_error(Records::iterator at, Calls& calls) {
  Record& record = at->second;
  for (const auto& [name, spec] : record.devices) record.heard[name] = true;
  for (auto& [number, waiting] : record.waiting) {
    calls.push_back([waiting = std::move(waiting), why = record.error] { waiting(why); });
  }
  record.waiting.clear();
  if (record.group != nullptr || !failed_.insert(at->first).second) return;
  failed_order_.push_back(at->first);
  if (failed_order_.size() > kFailed) erase(groups_.find(failed_order_.front()), record.error, calls);
}

void GroupTable::complete(std::int32_t key, Record& record) {
  auto group = std::make_shared<Group>();
  group->key = key;
  group->device_type = record.device_type;
  for (const auto& [name, spec] : record.devices) group->members.push_back(spec);
  rank_members(*group);
  record.group = std::move(group);
}

std::int64_t GroupTable::join(const GroupMemberRequest& request, Joined joined) {
  const std::string device = request.device.name.to_string();
  Calls calls;
  std::int64_t number = 0;
  {
    MutexLock lock(mutex_);
    number = next_++;
    if (const auto old = groups_.find(request.group); old != groups_.end()) {
      const auto member = old->second.devices.find(device);
      const bool other_life =
          member != old->second.devices.end() && member->second.incarnation != request.device.incarnation;
      // Who has heard what was wrong, and comes again, starts anew.
      const bool again = !old->second.error.ok() && old->second.heard.contains(device);
      if (other_life && old->second.group == nullptr) {
        member->second = request.device;
      } else if (other_life || again) {
        erase(old, started_again(), calls);
      }
    }
    const auto [at, fresh] = groups_.try_emplace(request.group);
    Record& record = at->second;
    if (fresh) {
      forgotten_.joined_anew(request.group);
      record.size = request.size;
      record.device_type = request.device_type;
    }
    record.waiting.emplace(number, std::move(joined));
    if (record.error.ok()) record.error = check(record, request);
    if (record.error.ok()) record.devices[device] = request.device;
    const bool all = record.devices.size() == static_cast<std::size_t>(record.size);
    if (record.error.ok() && all && record.group == nullptr && complete_ >= kComplete) {
      record.error = too_many_at_leader(complete_, "groups of collectives");
    }
    if (!record.error.ok()) {
      record.heard[device] = true;
      tell_error(at, calls);
    } else if (all) {
      if (record.group == nullptr) {
        complete(request.group, record);
        ++complete_;
      }
      for (auto& [waiting_number, waiting] : record.waiting) {
        calls.push_back([waiting = std::move(waiting), group = record.group] { waiting(group); });
      }
      record.waiting.clear();
    }
  }
  call_all(calls);
  return number;
}

void GroupTable::cancel_join(std::int32_t group, std::int64_t number) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    const auto at = groups_.find(group);
    if (at == groups_.end() || !at->second.waiting.contains(number)) return;
    // Not kept as TensorFlow keeps it: the members' next steps make the group anew.
    const Record& record = at->second;
    const Status why = cancelled("group is cancelled: a member gave up when ", record.devices.size(), " of ",
                                 record.size, " were there")
                           .with_id("ARG-CLUSTER-128")
                           .with_hint("start the other workers, and run the step again");
    erase(at, why, calls);
  }
  call_all(calls);
}

void GroupTable::call_all(const Calls& calls) {
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
      const Status known = at == groups_.end() ? forgotten_.why(request.group) : Status();
      calls.push_back([told, error = known.ok() ? not_there(request.group) : known] { told(error); });
    } else {
      at->second.instances.join(request, rank, at->second.size, std::move(told), calls);
    }
  }
  call_all(calls);
}

void GroupTable::forget(std::int32_t group, const Status& why) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    const auto at = groups_.find(group);
    if (at == groups_.end() || at->second.group == nullptr) return;
    erase(at, why, calls);
    forgotten_.remember(group, why);
  }
  call_all(calls);
}

void GroupTable::forget_all(const Status& why) {
  Calls calls;
  {
    MutexLock lock(mutex_);
    for (auto& [key, record] : groups_) drop(std::move(record), why, calls);
    groups_.clear();
    failed_.clear();
    failed_order_.clear();
    forgotten_.clear();
    complete_ = 0;
  }
  call_all(calls);
}

std::size_t GroupTable::size() const {
  MutexLock lock(mutex_);
  return groups_.size();
}

}  // namespace argosy::tf
