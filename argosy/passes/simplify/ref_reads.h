// RefReads: the nodes that read, and that update, each reference variable of a graph.
//
//   v ─► Identity ─► Reshape ─► Neg        v's reads: Identity, Reshape
//   v ─► AssignAdd                         v's writer: AssignAdd
//
// A read is a node whose outputs alias the variable's memory in TensorFlow: Identity, Reshape and other ops that
// forward their input, and slices of aligned rows (OpDef::view). Reads may be chained, and lead into branches and
// loops.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

struct RefVariable {
  NodeId root;                                         // the first node that makes this variable
  int first_writer = std::numeric_limits<int>::max();  // position in the order
  int last_use = -1;                                   // position of the last node that has a read as an input
  bool in_loop = false;                                // read in a loop: an iteration follows all of an earlier one
  bool may_grow = false;                               // a writer may give it another number of elements
  // In the order of the graph. Set only in the results of RefReads::out_of_order().
  std::vector<NodeId> writers = {};
  std::vector<NodeId> reads = {};

  bool is_written() const { return first_writer != std::numeric_limits<int>::max(); }
  bool read_in_order() const { return !is_written() || (!in_loop && last_use < first_writer); }
};

// True if the node's output is the value of its input 0, in any memory.
bool is_identity(const Node& n);

class RefReads {
 public:
  // `order`: a topological order of all nodes. The graph must outlive this. Nodes added later are not seen.
  RefReads(const Graph& graph, std::vector<NodeId> order);

  int position(NodeId id) const { return position_[id.index]; }
  // The variable that the node reads; null: it is no read.
  const RefVariable* variable_of(NodeId read) const;
  // The variables that are read after their first writer, in the order of the graph.
  std::vector<RefVariable> out_of_order();

 private:
  template <typename Note>
  void visit(const Note& note);
  bool forwards_input(const Node& n) const;
  std::vector<NodeId> written_by(const Node& n) const;
  bool has_shape_of_its_own(Endpoint read) const;
  NodeId named(const Node& variable, NodeId id);
  RefVariable& variable(NodeId root);

  const Graph& graph_;
  const std::vector<NodeId> order_;
  std::map<std::pair<std::string, std::string>, NodeId> named_;  // the first node of each variable
  std::vector<int> position_;                                    // by node: its place in the order
  std::vector<NodeId> root_;               // by node: the root of the variable that its output 0 is, or reads
  std::vector<char> is_read_;              // by node: its outputs are the variable's value
  std::vector<std::int32_t> variable_of_;  // by node: position in variables_ of the variable that it makes; -1: none
  std::vector<RefVariable> variables_;
};

}  // namespace argosy
