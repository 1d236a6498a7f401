// Rendezvous: where a value that leaves one task's partition of a step meets the partition that wants it. One lives as
// long as one run of a step on one task. `_Send` and `_Recv` (argosy/ops/send_recv) are its users on the graph's side;
// a worker's RecvTensor and the in-memory channels of tests are its users on the other.
//
// Rules.
//   - One value a key. A second send of a key fails: INTERNAL.
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
  std::uint64_t send_incarnation = 0;  // of the sending device's process; another one's value is refused
  std::string receive_device;          // full name
  std::string edge;                    // unique in the step: "edge_12_weights/read"
  std::uint64_t frame = 0;             // of the loop; 0: the root
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
  // Shares the tensor's memory: nobody writes it afterwards.
  virtual Status send(const RendezvousKey& key, Tensor value, bool dead) = 0;
  virtual void receive(const RendezvousKey& key, Done done) = 0;
  // `cause` must be an error. The first one counts.
  virtual void abort(Status cause) = 0;
};

}  // namespace argosy
