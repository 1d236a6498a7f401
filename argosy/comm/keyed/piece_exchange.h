// PieceExchange: the transport of a collective's pieces between its members. A key names each piece. Between tasks it
// is implemented in argosy/tf/worker/collective; tests have one in memory.
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

  // Offers a piece. The bytes must stay unchanged until `done`, when the receiver has a copy. INTERNAL: the key was
  // offered before.
  virtual void send(const std::string& key, std::span<const std::byte> bytes, Done done) = 0;
  // Copies the piece that member `from` offers under this key into `to`. INTERNAL: the piece has another size.
  virtual void receive(int from, const std::string& key, std::span<std::byte> to, Done done) = 0;
  // Ends every waiting call, and every later one, with this error. Later calls of abort() have no effect.
  virtual void abort(const Status& cause) = 0;
};

// The members of a group, and this member's rank. A value type.
struct KeyedGroup {
  std::vector<int> task_of;  // by member: its task; the members of a task are contiguous
  int rank = 0;              // this member
  int size() const { return static_cast<int>(task_of.size()); }
};

}  // namespace argosy
