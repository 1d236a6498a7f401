// Node: one operation of a graph, and the handles that name nodes and their outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/small_vector.h"
#include "argosy/graph/name_pool.h"
#include "argosy/op/definition/op_def.h"

namespace argosy {

// A node's position in the graph's array. It stays valid when the graph grows or is copied.
struct NodeId {
  std::int32_t index = -1;  // in the graph's array; -1: none
  bool operator==(const NodeId&) const = default;
  auto operator<=>(const NodeId&) const = default;
};

// Output `index` of a node.
struct Endpoint {
  NodeId node;             // the producer
  std::int32_t index = 0;  // which of its outputs
  bool operator==(const Endpoint&) const = default;
  auto operator<=>(const Endpoint&) const = default;
  // For hashing.
  std::uint64_t key() const {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.index)) << 32) |
           static_cast<std::uint32_t>(index);
  }
};

// Kept small, since every pass reads every node, and graphs may have a million. Short lists are inline, names are in
// the graph's pool, and nodes with equal attributes share them.
struct Node {
  Name name;                  // unique in the graph
  const OpDef* op = nullptr;  // owned by the registry
  AttrMap attrs;  // complete: every attribute of the OpDef, plus any "_extra"; no "_class", but see colocated_with
  SmallVector<Endpoint, 2> inputs;      // data inputs, in the order of the op's definition
  SmallVector<NodeId, 2> controls;      // must finish before this one starts
  SmallVector<DType, 8> output_dtypes;  // by output
  SmallVector<bool, 8> output_refs;     // by output: it is a reference to a variable; empty: none is
  Name device;                          // the requested device; "": any
  Name colocated_with;                  // names of the nodes that it is colocated with, separated by spaces; "": none
  SmallVector<PartialShape, 1> output_shapes;  // as far as known before a step

  // Output i is a reference, as variables give.
  bool output_is_ref(int i) const { return !output_refs.empty() && output_refs[static_cast<std::size_t>(i)]; }
  SmallVector<std::string_view, 2> colocation() const;  // the names in `colocated_with`, valid as long as the graph's
  // The attributes as in TensorFlow's NodeDef: `attrs`, and "_class" = ["loc:@a", …] for the colocation.
  AttrMap attributes() const;
};

// The argument of Graph::add_node.
struct NodeSpec {
  std::string name;                       // must be new in the graph
  std::string op;                         // the name of a registered op
  std::vector<Endpoint> inputs = {};      // data inputs
  std::vector<NodeId> controls = {};      // control inputs
  AttrMap attrs = {};                     // Node::attributes()
  std::string device = {};                // "" = anywhere
  std::vector<PartialShape> shapes = {};  // of the outputs; empty: they are inferred
};

}  // namespace argosy

template <>
struct std::hash<argosy::NodeId> {
  std::size_t operator()(const argosy::NodeId& id) const noexcept { return static_cast<std::size_t>(id.index); }
};
template <>
struct std::hash<argosy::Endpoint> {
  std::size_t operator()(const argosy::Endpoint& e) const noexcept { return std::hash<std::uint64_t>()(e.key()); }
};
