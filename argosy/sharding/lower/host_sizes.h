// HostSizes: nodes that compute sizes of shards and of global values, on the host, from the batch that is fed. Internal
// to lower/.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "argosy/graph/graph.h"
#include "argosy/sharding/placement.h"
#include "argosy/sharding/sizes/sizes.h"

namespace argosy {

inline constexpr const char* kHost = "/device:CPU:0";

class HostSizes {
 public:
  // `batch`: a fed value whose dimension 0 is the batch.
  HostSizes(Graph& graph, Endpoint batch, std::vector<std::int64_t> weights);

  // The methods return int64 scalars, except pack() and part().
  Value batch();                 // the number of examples
  Value global(AffineSize size);  // the size for this batch
  // The rows that shard d has of a dimension of global size `size`, sharded as `p`.
  Value local(AffineSize size, const Placement& p, int d);
  Value local(Value size, const Placement& p, int d);
  // The first row that shard d has in each round of such a dimension.
  Value begin(Value size, const Placement& p, int d);

  // A vector of these scalars, of dtype `dtype`.
  Value pack(const std::vector<Value>& sizes, DType dtype);
  Value number(std::int64_t n);  // a constant
  // local / global as a scalar of a floating dtype.
  Value part(Value local, Value global, DType dtype);

 private:
  Value items(Value size, const Placement& p);
  Value times(Value v, std::int64_t by);

  Graph& graph_;
  const Endpoint batch_node_;
  const std::vector<std::int64_t> weights_;
  Value batch_;
  std::map<std::int64_t, Value> numbers_;
  std::map<std::pair<std::int64_t, std::int64_t>, Value> globals_;
  std::map<std::tuple<Endpoint, std::int64_t, int>, Value> shards_;  // by size, rounds * unit, shard
};

}  // namespace argosy
