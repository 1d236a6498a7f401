// Rewrites a client's step for many devices. StepRewrite holds the new graph, and the values to feed, fetch and run in
// it in place of the client's. Internal to the session server.
//
//   client's graph ─► pruned step ─► columns become rows, fed sizes the batch's ─► DataParallel ─► StepRewrite
#pragma once

#include <span>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/runtime/compile/resource_homes.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/tf/server/replication/replica_devices.h"
#include "argosy/tf/server/replication/replication_options.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// Values are of `parallel.graph()`.
struct StepRewrite {
  DataParallel parallel;
  std::vector<Value> fed;                  // by feed: the value to feed, with examples along the first axis
  std::vector<Shape> fed_shapes;           // of the feeds for which it was made
  std::vector<Value> fetched;              // global values, by fetch
  std::vector<Value> targets;              // to run
  std::vector<Value> losses;               // with a check, by loss: its global value; not valid(): not known
  std::vector<int> axes;                   // by feed: the batch axis, or -1
  std::vector<std::size_t> sizes;          // feeds that hold the batch size as a number
  std::vector<Value> columns, transposed;  // feeds with another batch axis than 0: as given, and transposed
  // With ZeRO-1, a slot that is sharded over the devices: the value to write, and the nodes that write and read all of
  // it.
  struct Slot {
    ResourceName variable;  // the client's
    Value value, write, read;
  };
  std::vector<Slot> slots = {};

  std::int64_t examples() const;  // in the feeds for which it was made
  // Returns the signature with which a session runs it, for feeds of `batch` examples.
  StepSignature signature(std::int64_t batch) const;
};

// `batch`: one of the results of feeds_of_batch() for these feeds. `graph` must not change meanwhile. Errors say why
// the step cannot be replicated.
Result<StepRewrite> rewrite_step(const Graph& graph, const StepValues& values, const std::vector<Endpoint>& losses,
                                 std::span<const Tensor> feeds, const std::vector<int>& batch,
                                 const ReplicaDevices& devices, const ReplicationOptions& how);

// Returns the shape of a feed after moving its batch axis `axis` to the front.
Shape transposed_shape(const Shape& shape, int axis);

// Returns the signature of a step as the client requests it, for feeds of any shape.
StepSignature signature_of(const StepValues& values);

}  // namespace argosy::tf
