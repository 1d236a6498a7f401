// Rendezvous: passes values from one task's partition of a step to another's. Each run of a step has one on each task.
// Kernels of `_Send` and `_Recv` (argosy/ops/send_recv) use it from the graph. A worker's RecvTensor, and the in-memory
// channels of tests, use it from the other side.
//
// Rules.
//   - A key has one value. A second send of a key fails: INTERNAL.
//   - A send never waits. A receive may come first; it is answered when the value comes.
//   - abort() answers every receive that waits, and every later call, with the first cause.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "argosy/base/status.h"
#include "argosy/tensor/tensor.h"

namespace argosy {

// Names a value in a step. The text is TensorFlow's:
// "<send device>;<incarnation, 16 hex digits>;<receive device>;<edge>;<frame>:<iteration>".
struct RendezvousKey {
  std::string send_device;             // full name: "/job:ps/replica:0/task:0/device:CPU:0"
  std::uint64_t send_incarnation = 0;  // of the sending device's process; a value of another incarnation is refused
  std::string receive_device;          // full name
  std::string edge;                    // unique in the step: "edge_12_weights/read"
  std::uint64_t frame = 0;             // the loop's frame; 0: outside of loops
  std::int64_t iteration = 0;          // in that frame

  std::string to_string() const;
  static Result<RendezvousKey> parse(std::string_view text);  // INVALID_ARGUMENT: not of that form
  bool operator==(const RendezvousKey&) const = default;
};

// Thread-safe.
class Rendezvous {
 public:
  struct Received {
    Tensor value;       // invalid where dead
    bool dead = false;  // the producer was on a branch that was not taken
  };
  // Called once, from any thread, perhaps before receive() returns.
  using Done = std::function<void(Result<Received>)>;

  virtual ~Rendezvous() = default;
  // Shares the tensor's memory. REQUIRES: nobody writes to it afterwards.
  virtual Status send(const RendezvousKey& key, Tensor value, bool dead) = 0;
  virtual void receive(const RendezvousKey& key, Done done) = 0;
  // REQUIRES: `cause` is an error. Later calls have no effect.
  virtual void abort(Status cause) = 0;
};

}  // namespace argosy
