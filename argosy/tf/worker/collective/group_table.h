// GroupTable: the leader's table of groups of collectives and their members. Members join one by one, from this task or
// by CompleteGroup, and wait until the group is complete. Error texts are TensorFlow's. Independent of the transport.
//
//   join ──► waits ──► all members are there ──► Group: devices in the order of their ranks
//   join_instance ──► of a broadcast: waits until all have said whether they send
//
// Thread-safe; callbacks are called with no lock held. A member that was restarted replaces its earlier incarnation.
// The other members join anew: their steps fail because of it, and then they forget the group.
//
// Its memory is bounded, whatever keys members send: a group is kept while a member waits for it or it is complete. Of
// groups that failed, the oldest are removed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/cluster/cluster_spec.h"
#include "argosy/comm/keyed/piece_exchange.h"
#include "argosy/device/device.h"
#include "argosy/tf/worker/collective/forgotten_groups.h"
#include "argosy/tf/worker/collective/group_instances.h"

namespace argosy::tf {

// A complete group. A value type.
struct Group {
  std::int32_t key = 0;
  std::string device_type;          // "CPU"; the same for all members
  std::vector<DeviceSpec> members;  // by rank
  int tasks = 0;                    // number of the members' tasks
  std::string communicator;         // TensorFlow's communicator_key, from the leader

  int rank_of(const std::string& device) const;  // -1: it is no member
};

// Sorts the members by TensorFlow's ranks, and counts their tasks. Tasks are sorted by their names as text: 10 before
// 2.
void rank_members(Group& group);
TaskName task_of_member(const DeviceSpec& member);
// Returns the group in the form that rings and trees use (argosy/comm/keyed), for the member of that rank.
KeyedGroup keyed_group(const Group& group, int rank);

struct GroupMemberRequest {
  std::int32_t group = 0, size = 0;
  std::string device_type;
  DeviceSpec device;
};

// INTERNAL "ARG-CLUSTER-105" in TensorFlow's words: the request contradicts the group.
Status check_member(const Group& group, const GroupMemberRequest& request);

class GroupTable {
 public:
  using Joined = std::function<void(Result<std::shared_ptr<const Group>>)>;
  using Told = GroupInstances::Told;
  static constexpr std::size_t kFailed = 1024;     // groups that failed before they were complete
  static constexpr std::size_t kComplete = 16384;  // groups

  // Adds a member; `joined` gets the group once it is complete. Returns a number for cancel_join(). Errors of `joined`:
  // INTERNAL "ARG-CLUSTER-105": members contradict each other; all that wait, and those that join later, get it.
  // RESOURCE_EXHAUSTED "ARG-CLUSTER-127": there are too many complete groups.
  std::int64_t join(const GroupMemberRequest& request, Joined joined);
  // Ends the wait of a member: it and the others that wait get CANCELLED. A complete group is not affected.
  void cancel_join(std::int32_t group, std::int64_t number);
  // Adds a member to a collective of a complete group. FAILED_PRECONDITION "ARG-CLUSTER-106": no such group or member.
  // A forgotten group that nobody rejoined gives its reason. RESOURCE_EXHAUSTED "ARG-CLUSTER-127": too many instances.
  void join_instance(const InstanceRequest& request, Told told);
  // Removes a complete group, so that its members must join anew. Members that wait for a broadcast of it get `why`.
  void forget(std::int32_t group, const Status& why);
  void forget_all(const Status& why);
  std::size_t size() const;

 private:
  struct Record {
    std::int32_t size = 0;
    std::string device_type;
    std::map<std::string, DeviceSpec> devices;
    std::map<std::string, bool> heard;  // of `error`
    Status error;
    std::shared_ptr<const Group> group;  // null: not all are there
    std::map<std::int64_t, Joined> waiting;
    GroupInstances instances;
  };
  using Records = std::map<std::int32_t, Record>;
  using Calls = GroupInstances::Calls;
  static Status check(const Record& record, const GroupMemberRequest& request);
  static void drop(Record record, const Status& why, Calls& calls);
  static void call_all(const Calls& calls);
  // The group's first error is told to all that wait.
  void tell_error(Records::iterator at, Calls& calls) ARGOSY_REQUIRES(mutex_);
  static void complete(std::int32_t key, Record& record);
  void erase(Records::iterator at, const Status& why, Calls& calls) ARGOSY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::int64_t next_ ARGOSY_GUARDED_BY(mutex_) = 1;
  Records groups_ ARGOSY_GUARDED_BY(mutex_);
  std::size_t complete_ ARGOSY_GUARDED_BY(mutex_) = 0;
  std::set<std::int32_t> failed_ ARGOSY_GUARDED_BY(mutex_);
  std::deque<std::int32_t> failed_order_ ARGOSY_GUARDED_BY(mutex_);  // the oldest first; some may be gone
  ForgottenGroups forgotten_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
