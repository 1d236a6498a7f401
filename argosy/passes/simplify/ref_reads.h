// RefReads: which nodes read reference variables and which update them.
//
//   v ─► Identity ─► Reshape ─► Neg        v's reads: Identity, Reshape
//   v ─► AssignAdd                         v's writer: AssignAdd
//
// A read is a node whose outputs are the variable's own memory in TensorFlow. Identity, Reshape and what else forwards its
// input are reads. So are slices of aligned rows (OpDef::view). They may be chained, and lead into branches and loops.
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
  NodeId root;                                         // the first node of its name
  int first_writer = std::numeric_limits<int>::max();  // positions
  int last_use = -1;                                   // of a read, as an input
  bool in_loop = false;                                // read there: in a later iteration after what is behind it
  bool may_grow = false;                               // a writer may give it another number of elements
  // In the order of the graph, of those that RefReads::out_of_order() gives.
  std::vector<NodeId> writers = {};
  std::vector<NodeId> reads = {};

  bool is_written() const { return first_writer != std::numeric_limits<int>::max(); }
  bool read_in_order() const { return !is_written() || (!in_loop && last_use < first_writer); }
};

// Hands the value of its input 0 on as it is, whatever its memory.
bool is_identity(const Node& n);

class RefReads {
 public:
  // `order`: topological, of all nodes. The graph must outlive this. Nodes added later are unknown to it.
  RefReads(const Graph& graph, std::vector<NodeId> order);

  int position(NodeId id) const { return position_[id.index]; }
  // The variable that the node reads; null: it is no read.
  const RefVariable* variable_of(NodeId read) const;
  // The variables that are read behind their first writer, in the order of the graph.
  std::vector<RefVariable> out_of_order();

 private:
  template <typename Note>
  void visit(const Note& note);
  bool forwards_input(const Node& n) const;
  bool has_shape_of_its_own(Endpoint read) const;
  NodeId named(const Node& variable, NodeId id);
  RefVariable& variable(NodeId root);

  const Graph& graph_;
  const std::vector<NodeId> order_;
  std::map<std::pair<std::string, std::string>, NodeId> named_;  // the first node of each variable
  std::vector<int> position_;                                    // by node: its place in the order
  std::vector<NodeId> root_;               // by node: the variable its output 0 is, or is a read of
  std::vector<char> is_read_;              // by node: its outputs are the variable's value
  std::vector<std::int32_t> variable_of_;  // by node: where in variables_ the variable is that it makes; -1: nowhere
  std::vector<RefVariable> variables_;
};

}  // namespace argosy
