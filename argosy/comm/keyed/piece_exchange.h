// PieceExchange: pieces of one collective on their way between its members, each named by a key. What carries them is
// argosy/tf/worker/collective between tasks, and memory in tests.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "argosy/base/status.h"

namespace argosy {

// Thread-safe. Each `done` is called once, from any thread, perhaps before the call returns.
class PieceExchange {
 public:
  using Done = std::function<void(Status)>;
  virtual ~PieceExchange() = default;

  // Offers a piece. The bytes stay as they are until `done`: then the receiver has a copy of them. INTERNAL where the
  // key was offered before.
  virtual void send(const std::string& key, std::span<const std::byte> bytes, Done done) = 0;
  // Takes the piece that member `from` offers under that key into `to`. INTERNAL where it has another size.
  virtual void receive(int from, const std::string& key, std::span<std::byte> to, Done done) = 0;
  // Ends what waits, and what is still to come, with this error. Only the first counts.
  virtual void abort(const Status& cause) = 0;
};

// The members of a group, and which of them is meant. A value type.
struct KeyedGroup {
  std::vector<int> task_of;  // by member: which task it belongs to; members of a task are neighbours
  int rank = 0;              // this member
  int size() const { return static_cast<int>(task_of.size()); }
};

}  // namespace argosy
