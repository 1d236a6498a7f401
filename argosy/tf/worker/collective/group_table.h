// GroupTable: who belongs to which group of collectives, as its leader knows it. Members come one by one, from this task
// or by CompleteGroup, and wait until all are there. The sentences are TensorFlow's. It knows no wire.
//
//   join ──► waits ──► all members are there ──► Group: devices in the order of their ranks
//   join_instance ──► of a broadcast: waits until all have said whether they send
//
// Thread-safe; callbacks are called with no lock held. A member that was started again takes the place of its earlier
// life, and the others join anew: their steps fail on it, and then they forget the group.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/device/device.h"
#include "argosy/tensor/dtype.h"

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

// Sorts the members as TensorFlow ranks them, and counts their tasks.
void rank_members(Group& group);

struct GroupMemberRequest {
  std::string name;  // of the member's node; "": not told
  std::int32_t group = 0, size = 0;
  std::string device_type;
  DeviceSpec device;
};

struct InstanceRequest {
  std::int32_t group = 0, instance = 0;
  int kind = 0;  // KeyedMember::Kind
  DType dtype = DType::kInvalid;
  std::string device;
  bool source = false;
};

// INTERNAL "ARG-CLUSTER-105" in TensorFlow's words: the member does not go with the group, or its collective with an
// earlier one of its key.
Status check_member(const Group& group, const GroupMemberRequest& request);
Status check_instance(int kind, DType dtype, const InstanceRequest& request);

class GroupTable {
 public:
  using Joined = std::function<void(Result<std::shared_ptr<const Group>>)>;
  using Told = std::function<void(Result<int>)>;  // the rank that sends; -1: none has to

  // INTERNAL "ARG-CLUSTER-105": members do not agree. All that wait, and those that come later, hear of it.
  void join(const GroupMemberRequest& request, Joined joined);
  // FAILED_PRECONDITION "ARG-CLUSTER-106": the group is not there.
  void join_instance(const InstanceRequest& request, Told told);
  // A complete group is forgotten: its members join anew. Who waits for one of its broadcasts gets `why`.
  void forget(std::int32_t group, const Status& why);
  void forget_all(const Status& why);

 private:
  struct Instance {
    int kind = 0;
    DType dtype = DType::kInvalid;
    int source = -1;
    std::map<std::string, bool> known;  // devices that have come
    Status error;
    std::vector<Told> waiting;
  };
  struct Record {
    std::int32_t size = 0;
    std::string device_type;
    std::map<std::string, DeviceSpec> devices;
    std::map<std::string, bool> heard;  // of `error`
    Status error;
    std::shared_ptr<const Group> group;  // null: not all are there
    std::vector<Joined> waiting;
    std::map<std::int32_t, Instance> instances;
  };
  // What is to be told once no lock is held.
  using Calls = std::vector<std::function<void()>>;
  static Status check(const Record& record, const GroupMemberRequest& request);
  static void drop(Record record, const Status& why, Calls& calls);

  Mutex mutex_;
  std::map<std::int32_t, Record> groups_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace argosy::tf
