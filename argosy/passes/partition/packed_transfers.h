// PackedTransfers: groups small values that cross into messages (argosy/ops/send_recv/pack_values.h). Internal to
// argosy/passes/partition.
//
// A message waits for all its values. So two values share a message only if that cannot deadlock:
//   - both leave the same task for the same task, are never dead, and have no loop before them;
//   - both have the same depth: the largest number of transfers on a path from the start of the step to the value. A
//     value that depends on a transfer of depth d is deeper than d, so no value of a message depends on another;
//   - both depend on the same blocking ops (queues, datasets, collectives), since such an op may wait for another step.
// Only values whose known shape is small are packed, and no strings or handles.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "argosy/passes/partition/loop_frames.h"
#include "argosy/passes/partition/placed_step.h"

namespace argosy {

class PackedTransfers {
 public:
  static constexpr std::size_t kMostBytes = 64 << 10;     // limit of a value
  static constexpr std::size_t kMostOfMessage = 1 << 20;  // limit of all values of a message
  // A value transfer: the producer, its output (never kControl), and the receiving task.
  using Crossing = std::tuple<NodeId, std::int32_t, int>;

  struct Message {
    int from = 0, to = 0;  // tasks
    std::vector<Endpoint> values;
  };

  PackedTransfers() = default;  // every value crosses alone
  // `packs`: true if the task has the packing ops. The result keeps no references to the arguments.
  static Result<PackedTransfers> find(const PlacedStep& placed, const LoopFrames& frames,
                                      const std::vector<char>& maybe_dead, const std::set<Crossing>& crossings,
                                      const std::function<bool(int task)>& packs);

  const std::vector<Message>& messages() const { return messages_; }
  // (message, position in it) of a value; message -1: it crosses alone.
  std::pair<int, int> place_of(const Crossing& crossing) const;

 private:
  std::vector<Message> messages_;
  std::map<Crossing, std::pair<int, int>> places_;
};

}  // namespace argosy
