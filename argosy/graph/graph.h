// Graph: nodes in one dense array, edges as ids. Building never stops to check: the first error sticks to the graph,
// and status() returns it. Not thread-safe while it is built. Afterwards it is immutable, and threads may share it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "argosy/graph/name_table.h"
#include "argosy/graph/node_array.h"
#include "argosy/op/definition/attr_pool.h"
#include "argosy/op/definition/registry.h"

namespace argosy {

class FunctionBody;
class Graph;
struct Function;

// Output `index` of a node. Functions like matmul(a, b) take and return Values. Index kControl names the node itself,
// as a target or control input. Cheap to copy; valid as long as its graph.
class Value {
 public:
  static constexpr int kControl = -1;  // the index of a control value

  Value() = default;  // no value: also the result of every op once the graph has failed
  // A value of `graph`, which outlives it.
  Value(Graph* graph, NodeId node, int index) : graph_(graph), node_(node), index_(index) {}

  bool valid() const { return graph_ != nullptr; }       // names a value
  Graph& graph() const { return *graph_; }               // REQUIRES: valid()
  NodeId node() const { return node_; }                  // the node whose output it is
  int index() const { return index_; }                   // which output; kControl: the node itself
  Endpoint endpoint() const { return {node_, index_}; }  // without the graph
  // Another output of the same node.
  Value output(int index) const { return valid() ? Value(graph_, node_, index) : Value(); }
  Value control() const { return output(kControl); }  // the node, to wait for it

  Name node_name() const;             // a view into the graph: copy it to a string if the graph may end
  std::string name() const;           // "node:0", "^node" for a control value
  DType dtype() const;                // kInvalid when not valid
  const PartialShape& shape() const;  // as far as known; REQUIRES: a data value
  bool operator==(const Value&) const = default;

 private:
  Graph* graph_ = nullptr;
  NodeId node_;
  int index_ = 0;
};

class Graph {
 public:
  Graph();                                // uses the built-in ops; defined in argosy/ops
  explicit Graph(const OpRegistry& ops);  // `ops` outlives the graph.
  Graph(Graph&&) noexcept;                // Values of the other graph do not move along.
  Graph& operator=(Graph&&) noexcept;     // Values of the other graph do not move along.
  ~Graph();
  Graph(const Graph&) = delete;  // use clone()
  Graph& operator=(const Graph&) = delete;
  Graph clone() const;  // an equal graph with equal ids; shares only immutable state

  const OpRegistry& ops() const { return *ops_; }   // definitions that nodes refer to
  const Status& status() const { return status_; }  // the first error of building; it stays
  // Sets status(), unless there is an error already.
  void fail(Status status);

  // --- building ----------------------------------------------------------------------------------------------------

  // Adds a node: its attributes are completed from the input dtypes, its output shapes inferred, its name (default: the
  // op's) prefixed by the name scopes and made unique. Returns output 0, or the control value of a node without
  // outputs. Control values among the inputs become control inputs. An invalid input, or an error, gives an invalid
  // Value.
  Value add(std::string_view op, std::vector<Value> inputs, AttrMap attrs = {}, std::string_view name = "");

  // A scope in force; the destructor ends it.
  class [[nodiscard]] Scope {
   public:
    Scope(Scope&& other) noexcept;  // The other one ends nothing then.
    ~Scope();

   private:
    friend class Graph;
    struct State;
    Scope(Graph* graph, std::unique_ptr<State> undo);
    Graph* graph_;
    std::unique_ptr<State> undo_;
  };
  // Nodes added under it run on this device; inner scopes win part by part ("/gpu:1", "/job:worker"; "" ends a scope).
  Scope device(std::string_view device);
  // Nodes are named "scope/name"; the scope itself is made unique. "" starts at the root; "a/b/" re-enters a scope as
  // it is.
  Scope name_scope(std::string_view scope);
  // Nodes added under it get these control inputs.
  Scope control_dependencies(const std::vector<Value>& values);
  // Nodes added under it are colocated with this value's node.
  Scope colocate_with(const Value& value);

  // The seed of random ops (argosy/ops/random): as TensorFlow's graph-level seed. An op without a seed of its own takes
  // the next of a running count.
  void set_seed(std::int64_t seed) { seed_ = seed; }
  std::optional<std::int64_t> seed() const { return seed_; }  // unset: ops without a seed are not reproducible
  std::int64_t next_op_seed() { return op_seeds_++; }         // the op-level seed of the next op without one
  // The graph that add() adds to: that of the innermost open FunctionBody (argosy/graph/function_body.h), or this one.
  Graph& current() { return inner_ != nullptr ? inner_->current() : *this; }
  // Returns v for use in current(): v itself, or a capture of it. Not valid() if v is of an unrelated graph.
  Value local(const Value& v);

  // --- reading -----------------------------------------------------------------------------------------------------

  int size() const { return static_cast<int>(nodes_.size()); }    // number of nodes
  const Node& node(NodeId id) const { return nodes_[id.index]; }  // REQUIRES: an id of this graph
  const NodeArray& nodes() const { return nodes_; }               // by id
  // Prefetches the node into the cache, for reads in an order that the hardware cannot predict.
  void prefetch(NodeId id) const { nodes_.prefetch(static_cast<std::size_t>(id.index)); }
  // The ops that nodes have, or have had.
  const std::unordered_set<const OpDef*>& ops_met() const { return ops_met_; }
  // True if some node requests a device, or has requested one.
  bool asks_for_devices() const { return asks_for_devices_; }
  // Conservative: false means that no node has this one as a control input. True: one has it, or has had it.
  bool may_be_waited_for(NodeId id) const {
    return static_cast<std::size_t>(id.index) < waited_for_.size() && waited_for_[static_cast<std::size_t>(id.index)];
  }
  std::optional<NodeId> find(std::string_view name) const;  // by its name
  // As find(), for a node that `by` is colocated with. Faster: it looks among the inputs of `by` first.
  std::optional<NodeId> find_colocated(const Node& by, std::string_view name) const;
  // "node", "node:1" or "^node"; NOT_FOUND with the nearest name.
  Result<Value> value(std::string_view name);
  Result<Endpoint> endpoint(std::string_view name) const;  // "name" or "name:1"; NOT_FOUND where there is none
  Value value(Endpoint endpoint) { return Value(this, endpoint.node, endpoint.index); }  // the endpoint as a Value

  DType dtype(Endpoint e) const { return nodes_[e.node.index].output_dtypes[e.index]; }  // of an output
  // The shape of an output, as far as known.
  const PartialShape& shape(Endpoint e) const { return nodes_[e.node.index].output_shapes[e.index]; }
  // The integers that an endpoint is known to hold before any step; null: none is known. The results of this and of
  // handle() are valid until the graph changes.
  const PartialInts* known_ints(Endpoint e) const;
  // The dtype and shape behind an endpoint that is a handle; null: not known.
  const HandleFact* handle(Endpoint e) const;
  // The tensor of a Const node's output; null for anything else.
  const Tensor* constant(Endpoint e) const;

  // A use of a node by another node.
  struct Use {
    NodeId node;  // the user
    int input;    // the user's data input; below 0: a control input
  };
  // The users of all nodes, as of the call of consumers().
  class Uses {
   public:
    // The users of one node, of any of its outputs.
    std::span<const Use> operator[](std::int32_t node) const {
      return std::span(uses_).subspan(first_[node], first_[node + 1] - first_[node]);
    }

   private:
    friend class Graph;
    std::vector<std::uint32_t> first_;  // by node: its first position in uses_; then the size of uses_
    std::vector<Use> uses_;
  };
  Uses consumers() const;  // computes the users of all nodes: O(nodes + edges)
  // A topological order of all nodes. It follows the order of addition; a dependency that was added later comes just
  // before its first user. Edges that close a loop (out of NextIteration) do not count. INVALID_ARGUMENT names a node
  // on a cycle.
  Result<std::vector<NodeId>> topological_order() const;

  // --- changing (passes, importers) --------------------------------------------------------------------------------

  // Adds a node as it is: complete attributes, final unique name, no scopes. Shapes are inferred unless `shapes` is
  // given.
  Result<NodeId> add_node(NodeSpec spec);
  // Adds a copy of another graph's node with these inputs; both graphs have the same registry, and share their names.
  // Shapes are inferred unless `keep_shapes`. REQUIRES: no node of this graph has its name.
  Result<NodeId> add_copy(const Graph& from, NodeId node, std::span<const Endpoint> inputs,
                          std::span<const NodeId> controls, bool keep_shapes);
  // Reserves room for this many nodes.
  void reserve(std::size_t nodes);
  // Turns the node into a NoOp without inputs, control inputs and outputs. REQUIRES: nothing reads it.
  void replace_with_noop(NodeId node);
  // Keeps the nodes of `order`, in that order, and removes the rest. Shapes that are not fully known are inferred
  // again. Returns the new id of every node (index -1: removed). REQUIRES: inputs of kept nodes are kept.
  Result<std::vector<NodeId>> retain(const std::vector<NodeId>& order);
  // REQUIRES: same dtype. Shapes downstream are not inferred again.
  void set_input(NodeId node, int input, Endpoint from);
  void add_input(NodeId node, Endpoint from);           // closes loops: Merge of an Enter and a NextIteration
  void add_control_input(NodeId node, NodeId from);     // `node` runs after `from`
  void remove_control_input(NodeId node, NodeId from);  // removes that order
  void replace_control_input(NodeId node, NodeId from, NodeId to);  // `node` runs after `to` instead
  // Appends outputs to the node. The caller updates the attributes that declare them.
  void add_outputs(NodeId node, const std::vector<DType>& dtypes, const std::vector<PartialShape>& shapes);
  void set_device(NodeId node, std::string_view device);  // "" = anywhere
  // Sets Node::colocated_with. REQUIRES: `names` is in this graph's name pool, or in one that it keeps.
  void set_colocation(NodeId node, Name names) { nodes_[node.index].colocated_with = names; }
  // REQUIRES: not "_class", for which there is set_colocation().
  void set_attr(NodeId node, std::string_view name, AttrValue value) {
    nodes_[node.index].attrs.set(name, std::move(value));
  }
  // Turns the node into another op, with these inputs, control inputs and complete attributes. It keeps its name and
  // device, and is colocated with no other node. REQUIRES: outputs that others read keep their dtypes.
  Status replace_with(NodeId node, std::string_view op, std::span<const Endpoint> inputs,
                      std::span<const NodeId> controls, AttrMap attrs);
  // Replaces the known shape of an output. Shapes of its readers are not inferred again.
  void refine_shape(Endpoint e, PartialShape shape) { nodes_[e.node.index].output_shapes[e.index] = std::move(shape); }
  std::string unique_name(std::string_view name);  // `name`, or the next of name_1, name_2, … that is free

  // --- functions ---------------------------------------------------------------------------------------------------

  // The functions that If, While, PartitionedCall and other callers name. Immutable once added.
  void add_function(std::shared_ptr<const Function> function);
  const Function* function(std::string_view name) const;  // null when unknown
  // A name that no function of this graph has.
  std::string new_function_name(std::string_view base);
  // All functions, by name.
  const std::map<std::string, std::shared_ptr<const Function>, std::less<>>& functions() const { return functions_; }

 private:
  Result<NodeId> try_add(std::string_view op, const std::vector<Value>& inputs, AttrMap attrs, std::string_view name);
  Status infer(NodeId id);
  Name device_name(std::string_view device);
  // Removes the node names ("loc:@…") from "_class" in `attrs`, and returns them.
  Name take_colocation(AttrMap& attrs);
  // Completes the node that was added last, but for its name.
  Status settle_last(bool inferring);
  NameTable& names() const;
  // Updates the facts of all nodes (ops_met_, waited_for_, in_order_) for a node that was added or changed.
  void note(std::int32_t node);
  void note_wait(std::int32_t node, NodeId from) {
    const auto waited = static_cast<std::size_t>(from.index);
    if (waited >= waited_for_.size()) waited_for_.resize(nodes_.size());
    waited_for_[waited] = 1;
    note_edge(node, from);
  }
  void note_edge(std::int32_t node, NodeId from) {
    if (from.index >= node && !nodes_[from.index].op->closes_loop) in_order_ = false;
  }

  const OpRegistry* ops_;
  Status status_;
  NodeArray nodes_;
  // The names of nodes, and of every scope ever opened. After changes of many nodes it is rebuilt at the next lookup
  // (names_stale_): most steps look up no name.
  mutable NameTable names_;
  mutable bool names_stale_ = false;
  // The storage of node and device names. It shares ownership of the pools of graphs that nodes were copied from.
  std::shared_ptr<NamePool> pool_ = std::make_shared<NamePool>();
  std::vector<Name> devices_;  // the devices that nodes request, each once
  Name last_colocation_;       // the last result of take_colocation()
  bool asks_for_devices_ = false;
  std::vector<char> waited_for_;  // by node: may_be_waited_for(); nodes beyond its end: false
  bool in_order_ = true;          // the order of ids is topological, apart from edges that close a loop
  std::unordered_set<const OpDef*> ops_met_;
  const OpDef* last_met_ = nullptr;
  AttrPool attr_pool_;
  // Known integers and handle facts of outputs. first_fact_ has by node a position in facts_, or -1: none.
  struct Fact {
    std::int32_t output = 0;
    std::int32_t next = -1;  // the next fact of the same node, in facts_; -1: none
    std::optional<PartialInts> ints;
    HandleFact handle;  // dtype kInvalid: none
  };
  const Fact* fact(Endpoint e) const;
  Fact& changeable_fact(Endpoint e);
  std::vector<std::int32_t> first_fact_;
  std::deque<Fact> facts_;  // a deque, so that pointers to facts stay valid
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions_;

  std::optional<std::int64_t> seed_;
  std::int64_t op_seeds_ = 0;
  // The open body inside this graph; the body that this graph is, while it is open.
  friend class FunctionBody;
  Graph* inner_ = nullptr;
  FunctionBody* body_ = nullptr;
  std::string function_prefix_;  // prefix of the names of functions made in this body: the body's own name
  std::unordered_map<std::string, int> function_counts_;

  // Scopes in force.
  std::string name_prefix_;
  std::string device_;
  std::vector<NodeId> control_scope_;
  Name colocation_;
};

// A function: a graph of its own whose "_Arg" nodes are the parameters and whose returns are endpoints of it.
struct Function {
  std::string name;                     // unique in the graph
  Graph body;                           // its nodes, with an argument node for each parameter
  std::vector<NodeId> args;             // in the order of the parameters
  std::vector<Endpoint> returns;        // the results
  std::vector<NodeId> control_returns;  // run even when no return needs them
};

}  // namespace argosy
