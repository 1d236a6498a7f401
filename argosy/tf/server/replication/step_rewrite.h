// A step of a client, rewritten for many devices: what is fed, fetched and run in the new graph in place of the old
// values. Internal to the session server.
//
//   client's graph ─► the step alone ─► columns become rows, fed sizes become the batch's ─► DataParallel ─► StepRewrite
#pragma once

#include <span>
#include <vector>

#include "argosy/device/device.h"
#include "argosy/passes/simplify/prune.h"
#include "argosy/strategy/data_parallel/data_parallel.h"
#include "argosy/tf/server/replication/replica_devices.h"
#include "argosy/tf/server/replication/replication_options.h"
#include "argosy/tf/server/session/resolved_step.h"

namespace argosy::tf {

// Values are of `parallel.graph()`.
struct StepRewrite {
  DataParallel parallel;
  std::vector<Value> fed;                  // by feed: what takes it, with examples along the first axis
  std::vector<Shape> fed_shapes;           // of the feeds that it was made for
  std::vector<Value> fetched;              // global values, by fetch
  std::vector<Value> targets;              // to run
  std::vector<Value> losses;               // with a check, by loss: its global value; not valid(): not known
  std::vector<int> axes;                   // by feed: the axis of its examples, or -1
  std::vector<std::size_t> sizes;          // feeds that hold the batch size as a number
  std::vector<Value> columns, transposed;  // feeds whose examples lie along another axis: as given, and along the first
  // With ZeRO-1, of every slot of which each device has a shard: what writes and reads all of it.
  struct Slot {
    std::string variable;  // the client's, by the name of its resource
    Value value, write, read;
  };
  std::vector<Slot> slots = {};

  std::int64_t examples() const;  // of the feeds that it was made for
  // What is asked of a session that runs it, for feeds of so many examples.
  StepSignature signature(std::int64_t batch) const;
};

// `batch`: one of the results of feeds_of_batch() for these feeds. Call it where `graph` stays as it is. Errors say why
// the step cannot be replicated.
Result<StepRewrite> rewrite_step(const Graph& graph, const StepValues& values, const std::vector<Endpoint>& losses,
                                 std::span<const Tensor> feeds, const std::vector<int>& batch,
                                 const ReplicaDevices& devices, const ReplicationOptions& how);

// The shape of a feed, whose examples lie along this axis, with them along the first.
Shape transposed_shape(const Shape& shape, int axis);

// The name under which the devices keep a variable of this node.
std::string variable_name(const Node& variable);

// The signature of a step as the client asks for it, for feeds of any shape.
StepSignature signature_of(const StepValues& values);

}  // namespace argosy::tf
