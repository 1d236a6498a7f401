// PackedTransfers: which small values cross as one message (argosy/ops/send_recv/pack_values.h). Internal to
// argosy/passes/partition.
//
// A message waits for all its values. So two values share one only where that delays nothing for ever:
//   - both leave the same task for the same task, are never dead, and have no loop before them;
//   - both are equally deep: the most transfers on a way to a value, from the start of the step. What takes a value of
//     depth d elsewhere, and comes back, is deeper than d. So no value of a message waits for another one of it;
//   - the same ops that wait (queues, datasets, collectives) come before both. An op may wait for another step.
// Values are small where their shapes say so. What has no bytes of its own (texts, handles) is left out.
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
  static constexpr std::size_t kMostBytes = 64 << 10;     // of a value
  static constexpr std::size_t kMostOfMessage = 1 << 20;  // of all values of a message
  // What crosses: an output (never kControl), and the task that takes it.
  using Crossing = std::tuple<NodeId, std::int32_t, int>;

  struct Message {
    int from = 0, to = 0;  // tasks
    std::vector<Endpoint> values;
  };

  PackedTransfers() = default;  // every value crosses alone
  // `packs`: does the task know the ops that pack? The result refers to nothing.
  static Result<PackedTransfers> find(const PlacedStep& placed, const LoopFrames& frames,
                                      const std::vector<char>& mortal, const std::set<Crossing>& crossings,
                                      const std::function<bool(int task)>& packs);

  const std::vector<Message>& messages() const { return messages_; }
  // The message that it is in, and its place there. First -1: it crosses alone.
  std::pair<int, int> place_of(const Crossing& crossing) const;

 private:
  std::vector<Message> messages_;
  std::map<Crossing, std::pair<int, int>> places_;
};

}  // namespace argosy
