// OpTimes: the time that nodes take on a kind of device. It is measured on steps of the model itself (probe.h), at a
// few batch sizes. Other sizes follow from the op's cost (OpDef::cost).
//
//   a node of a plan ──► a node of the same name and op was measured: its seconds at the cost of the node
//                    ├─► nodes of the same op and of about its size were measured: their seconds per unit of cost
//                    └─► else: seconds per unit of cost of all nodes of its kind, and a launch
//
// A kind: bound by memory (more bytes than operations), or by arithmetic.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/op/definition/op_def.h"
#include "argosy/planner/curve.h"

namespace argosy {

class OpTimes {
 public:
  // Adds a measurement of a node: one run, or the median of several.
  void add(std::string_view name, std::string_view op, const Cost& cost, double seconds);

  // Returns the seconds of a node. It recognises copies by their names: "dense/MatMul/replica_1",
  // "Relu/replica_1/fused".
  double seconds(std::string_view name, std::string_view op, const Cost& cost) const;
  // The fraction, 0 to 1, of calls of seconds() for nodes that were measured under their own names.
  double measured_share() const {
    return asked_ > 0 ? static_cast<double>(measured_) / static_cast<double>(asked_) : 1;
  }

 private:
  struct Key {
    std::string name, op;
    auto operator<=>(const Key&) const = default;
  };
  struct Sum {
    double work = 0, seconds = 0;
    double runs = 0;
    double most = 0;  // the largest work of one node
    // Returns the seconds of a node: a launch, and the time for its work at the mean rate. REQUIRES: runs > 0.
    double of(double node_work) const;
  };
  const std::vector<std::pair<double, double>>* find(std::string_view name, std::string_view op) const;

  std::map<Key, std::vector<std::pair<double, double>>> nodes_;  // (work, seconds)
  std::map<std::string, Sum, std::less<>> ops_;
  Sum by_memory_, by_arithmetic_;  // all ops
  mutable std::int64_t asked_ = 0, measured_ = 0;
};

}  // namespace argosy
