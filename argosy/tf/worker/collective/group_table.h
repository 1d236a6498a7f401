// GroupTable: who belongs to which group of collectives, as its leader knows it. Members come one by one, from this task
// or by CompleteGroup, and wait until all are there. The sentences are TensorFlow's. It knows no wire.
//
//   join ──► waits ──► all members are there ──► Group: devices in the order of their ranks
//   join_instance ──► of a broadcast: waits until all have said whether they send
//
// Thread-safe; callbacks are called with no lock held. A member that was started again takes the place of its earlier
// life, and the others join anew: their steps fail on it, and then they forget the group.
//
// Its memory is bounded, whatever keys are told: a group is kept while somebody waits for it or it is complete. Of
// groups that failed the oldest go.
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
  std::string device_type;          // "CPU", of all members
  std::vector<DeviceSpec> members;  // by rank
  int tasks = 0;                    // how many tasks they are on
  std::string communicator;         // TensorFlow's communicator_key, as the leader told it

  int rank_of(const std::string& device) const;  // -1: it is no member
};

// Sorts the members as TensorFlow ranks them, and counts their tasks. Tasks go by their names as text: 10 before 2.
void rank_members(Group& group);
TaskName task_of_member(const DeviceSpec& member);
// The group as rings and trees see it, for the member of that rank.
KeyedGroup keyed_group(const Group& group, int rank);

struct GroupMemberRequest {
  std::int32_t group = 0, size = 0;
  std::string device_type;
  DeviceSpec device;
};

// INTERNAL "ARG-CLUSTER-105" in TensorFlow's words: the member does not go with the group.
Status check_member(const Group& group, const GroupMemberRequest& request);

class GroupTable {
 public:
  using Joined = std::function<void(Result<std::shared_ptr<const Group>>)>;
  using Told = GroupInstances::Told;
  static constexpr std::size_t kFailed = 1024;     // groups that failed before they were complete
  static constexpr std::size_t kComplete = 16384;  // groups

  // INTERNAL "ARG-CLUSTER-105": members do not agree. All that wait, and those that come later, hear of it.
  // RESOURCE_EXHAUSTED "ARG-CLUSTER-127": there are too many complete groups. The number is for give_up().
  std::int64_t join(const GroupMemberRequest& request, Joined joined);
  // That member does not wait any more. Who waits with it is told so, CANCELLED; a complete group stays.
  void give_up(std::int32_t group, std::int64_t number);
  // FAILED_PRECONDITION "ARG-CLUSTER-106": the group is not there. "ARG-CLUSTER-127": it has too many instances. Of a group
  // that was forgotten, and that nobody has joined anew: why it was.
  void join_instance(const InstanceRequest& request, Told told);
  // A complete group is forgotten: its members join anew. Who waits for one of its broadcasts gets `why`.
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
