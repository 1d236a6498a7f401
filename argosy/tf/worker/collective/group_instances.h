// GroupInstances: the leader's table of one group's collectives ("instances"): the kind of each, and the source of a
// broadcast. Used under GroupTable's lock. Its memory is bounded: the oldest answered instances are removed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"
#include "argosy/tensor/dtype.h"

namespace argosy::tf {

struct InstanceRequest {
  std::int32_t group = 0, instance = 0;
  int kind = 0;  // KeyedMember::Kind
  DType dtype = DType::kInvalid;
  std::string device;
  bool source = false;
  std::vector<int> ring_offsets;  // of a reduction
};

// INTERNAL "ARG-CLUSTER-105" in TensorFlow's words: the request differs in kind or dtype from an earlier one of its
// key.
Status check_instance(int kind, DType dtype, const InstanceRequest& request);

// INTERNAL "ARG-CLUSTER-105".
Status members_disagree(std::string_view what);
// RESOURCE_EXHAUSTED "ARG-CLUSTER-127".
Status too_many_at_leader(std::size_t count, std::string_view what);

class GroupInstances {
 public:
  using Told = std::function<void(Result<int>)>;  // the rank that sends; -1: none has to
  // Callbacks to call when no lock is held.
  using Calls = std::vector<std::function<void()>>;
  static constexpr std::size_t kTold = 65536;      // that nobody waits for
  static constexpr std::size_t kMost = 2 * kTold;  // all; ARG-CLUSTER-127 above

  // Registers that the member of that rank, in a group of `size`, takes part in a collective.
  void join(const InstanceRequest& request, int rank, int size, Told told, Calls& calls);
  // Removes all instances. Members that wait get `why`.
  void drop(const Status& why, Calls& calls);

 private:
  struct Instance {
    int kind = 0;
    DType dtype = DType::kInvalid;
    int source = -1;
    std::map<std::string, bool> known;  // devices that have joined
    Status error;
    bool told = false;
    std::vector<Told> waiting;
  };
  static void find_source(Instance& instance, const InstanceRequest& request, int rank, int size);

  std::map<std::int32_t, Instance> instances_;
  std::deque<std::int32_t> told_;  // the oldest first
};

}  // namespace argosy::tf
