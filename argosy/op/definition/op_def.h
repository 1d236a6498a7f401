// OpDef: everything that may be asked of an op, said once, beside the op (argosy/ops/<family>/<family>.cc).
// If a pass wants to know a fact about ops, the fact becomes a field here, never a list in the pass.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "argosy/op/definition/attr.h"

namespace argosy {

class GradContext;    // argosy/graph/gradients.h
class ShapeContext;   // argosy/op/definition/shape_context.h
class Value;          // argosy/graph/graph.h
struct ShardingRule;  // argosy/op/definition/sharding_rule.h

// Integers known before the step runs, each of which may be unknown: the value of a shape-like tensor.
using PartialInts = std::vector<std::optional<std::int64_t>>;

// What a resource or variant handle is known to refer to before a step: a variable, the elements of a
// list or a queue.
struct HandleFact {
  DType dtype = DType::kInvalid;      // of what lies behind a handle
  PartialShape shape;                 // of what lies behind a handle
  std::vector<HandleFact> more = {};  // of what has several components, a queue: those after the first
};

// What one run of a node takes.
struct Cost {
  double flops = 0;  // floating-point operations
  double bytes = 0;  // read and written, each tensor once
};

// Infers output shapes (and checks the inputs') from what is known; every output it does not set stays unknown.
using ShapeFn = Status (*)(ShapeContext&);
// One gradient per input, in order; an invalid Value{} means "none flows there".
using GradientFn = std::vector<Value> (*)(GradContext&);
// The integers of output `index`, if the op can tell them from attributes, shapes and known inputs.
using KnownIntsFn = std::optional<PartialInts> (*)(const ShapeContext&, int index);
// Does an output lie in the memory of input 0, in TensorFlow, for these shapes and known integers?
using ViewFn = bool (*)(const ShapeContext&);
// REQUIRES of the context: every output shape is set (unknown sizes count as 1).
using CostFn = Cost (*)(const ShapeContext&);

// The sharding rule of a node, where OpSpec::sharding cannot say it: it depends on shapes, attributes or known integers.
// REQUIRES of the context: the shapes of inputs and outputs are known.
using ShardingRuleFn = Result<ShardingRule> (*)(const ShapeContext&);

// An op without a gradient says so: silence is not an answer.
inline constexpr GradientFn kNotDifferentiable = nullptr;

Cost elementwise_cost(const ShapeContext& c);  // one flop per output element, every tensor moved once
Cost free_cost(const ShapeContext& c);         // moves nothing: Identity, Reshape, Const

// A node's place in a collective whose members say by attributes and inputs that they belong together.
struct GroupMember {
  std::string group;      // equal for all members, and for nobody else
  std::int64_t size = 0;  // how many they are
  std::string what;       // what the member wants done: equal for all members
  bool root = false;      // the one whose values the others get
  bool has_root = false;  // of a collective that needs one
};
// `ints`: the known integers of each input, or null. An error where the group cannot be told before the step runs.
using GroupFn = Result<GroupMember> (*)(const AttrMap& attrs, std::span<const PartialInts* const> ints);

// The meaning of an op to an executor that knows dead values, frames and iterations. The kernel does the rest:
//   * Switch sets the output that is taken, and leaves the other without a tensor (dead);
//   * Merge runs with the one live input; its other inputs are tensors that are not valid();
//   * all others forward input 0.
enum class Flow {
  kNone,
  kSwitch,          // output 0 when input 1 is false, output 1 when true
  kMerge,           // runs as soon as one input is live; dead when all are
  kEnter,           // into the frame "frame_name"; "is_constant": for every iteration
  kExit,            // to the parent frame; dead in every iteration but the last
  kNextIteration,   // to the next iteration of its frame
  kLoopCond,        // the loop goes on while it is true
  kControlTrigger,  // runs however dead its inputs are
};

// How output 0 follows its floating-point inputs: what lets a strategy sum an op's outputs instead of its inputs.
enum class Linear {
  kNo,
  kJointly,  // in all of them together: Identity, Add, Sum, Reshape
  kEach,     // in each, the others held fixed: Mul, MatMul, Conv2D
  kFirst,    // in the first, the others held fixed: RealDiv
};

// When an op gives its first input as it is, so that its readers may read that instead
// (argosy/passes/simplify/remove_identities.h).
enum class IdentityWhen : char {
  kNever,
  kNoAxes,     // input 1, a list of axes, is empty: Sum, Any
  kSameShape,  // its output has the shape of input 0: Reshape, Tile
};

// What of its first input an op's outputs follow from, where they follow from less than its values: constant folding
// then computes them of zeros (argosy/passes/simplify/known_values.h). What known_ints tells need not be said here.
enum class Reads : char {
  kValues,
  kShape,  // OnesLike, ZerosLike
  kRows,   // the size of its first dimension alone: _ShardWeight
  kSizes,  // its shape, which the outputs tell: Shape, Size, Rank. known_ints computes them
};

// What a stateful op does beside its outputs. Only what changes nothing may run twice in a step.
enum class Effect : char {
  kChanges,  // it changes state, or it does not say
  kReads,    // reads state that other ops change: ReadVariableOp, LookupTableFind
  kPrints,   // Print
  kChecks,   // fails the step or does nothing: Assert, CheckNumerics
  kNothing,  // TensorFlow's definition says stateful, for another reason: GuaranteeConst
};

// The input that an op's output is, broadcast to a shape that another input gives.
enum class Broadcasts : char {
  kNone,
  kFirst,   // BroadcastTo
  kSecond,  // Fill
};

// What an op computes, for rewrites that look for patterns: argosy/op/definition/opcode.h. The default, zero, is "none".
enum class Opcode : char;

// An input and an output that may share memory. While the kernel writes the output it may still read other inputs. Those
// may be the same memory (`f(a, b, a)`, views of one buffer) only with others_may_alias.
struct InPlace {
  int input = 0;   // may share its memory with the output
  int output = 0;  // may take over the input's memory
  // An input that is exactly the output's memory does no harm. That is so where every element of the output is written
  // after the elements in its place were read from all inputs, and no other element is read. Silence is no.
  bool others_may_alias = false;
};

// An optimizer's dense update, elementwise. Element i of the variable and of its slots becomes a function of their
// elements i, of element i of the gradient, and of scalars: all other inputs. So shards of the elements can be updated
// on their own (argosy/ops/optimizer/update_shard.h).
struct ElementwiseUpdate {
  int variables = 1;  // inputs [0, variables): the variable, then its slots, of the variable's shape
  int gradient = -1;  // the input of the variable's shape
};

// An op that calls functions of its graph, named by attributes: lowered before it runs
// (argosy/passes/functions/lower_functions.h).
enum class Calls {
  kNothing,
  kIf,      // "then_branch" or "else_branch", as input 0 says; the other inputs are its arguments
  kCase,    // one of "branches", as input 0 says (the last one when out of range)
  kWhile,   // "body" over and over while "cond" gives true, on the outputs of the time before
  kCall,    // "f"
  kCallOn,  // "f" of the inputs after input 0, which names the device
};

// One argument of an op, as TensorFlow's OpDef writes it.
struct ArgDef {
  std::string name;               // of the argument
  DType dtype = DType::kInvalid;  // fixed dtype, or
  std::string type_attr;          // … the type attribute that gives it, or
  std::string type_list_attr;     // … the list(type) attribute that gives one dtype per tensor
  std::string number_attr;        // the int attribute that says how many tensors of this dtype; empty = one
  bool is_ref = false;            // a reference to a variable: TensorFlow's Ref(T)
};

// Of an attribute's value.
enum class AttrKind {
  kInt,
  kFloat,
  kBool,
  kString,
  kType,
  kShape,
  kTensor,
  kFunction,
  kInts,
  kFloats,
  kBools,
  kStrings,
  kTypes,
  kShapes,
  kTensors,
  kFunctions,
};

// One attribute of an op.
struct AttrDef {
  std::string name;                     // of the attribute
  AttrKind kind = AttrKind::kInt;       // of its values
  AttrValue value;                      // default; monostate when it must be given or inferred
  std::vector<DType> types;             // allowed dtypes; empty = any
  std::vector<std::string> strings;     // allowed strings; empty = any
  std::optional<std::int64_t> minimum;  // of an int, or of a list's length
};

// What users of the registry write. The strings are TensorFlow's notation:
//   inputs, outputs   "x: T", "axis: int32", "values: N * T", "data: Tlist" (a list(type) attribute), "ref: Ref(T)"
//   attrs             "T: {float, double}", "T: number", "N: int >= 1", "padding: {'SAME', 'VALID'}",
//                     "strides: list(int)", "transpose_a: bool = false", "dilations: list(int) = [1, 1, 1, 1]"
// Named type sets, also inside braces: type (any), number (real and complex), real, floating, index (int32, int64),
// integer.
struct OpSpec {
  std::string name;                       // "MatMul"
  std::string doc;                        // one sentence
  std::vector<std::string> inputs = {};   // "a: T"; as TensorFlow's OpDef
  std::vector<std::string> outputs = {};  // "product: T"
  std::vector<std::string> attrs = {};    // "T: {float, double}", with a default "= …"
  ShapeFn shape;                          // infers the shapes of outputs
  GradientFn gradient;                    // or kNotDifferentiable
  CostFn cost = elementwise_cost;         // for placement and reports
  KnownIntsFn known_ints = nullptr;       // output integers that follow from known inputs; null: none do
  bool stateful = false;  // has effects or hidden state: never folded, merged or dropped while a step needs it
  Effect effect = Effect::kChanges;  // of a stateful op
  bool step_state = false;           // makes or uses state that ends with the step: stacks, TensorArrays
  bool commutative = false;          // in its first two inputs
  bool elementwise = false;          // output element i depends on (broadcast) input elements i alone: may be fused
  IdentityWhen identity_when = IdentityWhen::kNever;  // when it gives its first input as it is
  Linear linear = Linear::kNo;                        // how sums pass through it
  bool cpu_only = false;                              // TensorFlow has no GPU kernel: soft placement puts it on a CPU
  // TensorFlow has a GPU kernel that works on the host: asked for a GPU, it runs on a CPU.
  bool in_host_memory = false;
  bool accepts_uninitialized = false;  // a Ref input may name a variable without a value yet
  bool forwards = false;               // output 0 is input 0's memory: Identity, Reshape
  ViewFn view = nullptr;               // outputs are parts of input 0's memory, for some shapes: Slice along axis 0
  bool blocks_gradient = false;   // a missing gradient means zero, not an error: StopGradient, ZerosLike, Shape, ArgMax
  bool only_fed = false;          // gives what a step is fed, and nothing else: Placeholder
  bool closes_loop = false;       // its output feeds an earlier Merge: NextIteration
  Flow flow = Flow::kNone;        // how the executor treats it
  Calls calls = Calls::kNothing;  // functions that it calls
  bool async = false;             // its kernel waits for something (Recv, queues): see AsyncKernel
  Opcode opcode{};                // what rewrites know it as: none, unless one asks
  Reads reads = Reads::kValues;   // what of input 0 its outputs follow from
  Broadcasts broadcasts = Broadcasts::kNone;  // the input that its output is, broadcast to a shape
  // Its members are found, numbered and given "group", "rank" and "size" when a step is made (passes/place/resolve_collective_groups.h).
  GroupFn group = nullptr;
  bool collective = false;             // async, and done only once every node of its "group" attribute has started
  std::string fused_as = {};           // the op that does the same, then adds a bias and applies an activation
  std::vector<InPlace> in_place = {};  // pairs that may share memory
  std::optional<ElementwiseUpdate> update = std::nullopt;  // an optimizer's dense update
  bool random = false;            // draws numbers from a stream that its seeds name, and has no other effect
  bool batch_statistics = false;  // where `is_training`, it normalises by statistics over its first input's rows
  // How a sharded or partial input makes a sharded or partial output, for any mesh: argosy/op/definition/sharding_rule.h.
  // Text in its notation, or a function. Neither, and not elementwise: nobody has said it yet, which counts as "whole".
  std::string sharding = {};
  ShardingRuleFn sharding_rule = nullptr;  // where text cannot say it
  bool opens_files =
      false;  // reads or writes files that its inputs or attributes name (argosy/op/kernel/file_policy.h)
  // Random: every shard of a batch draws the same as one device does, not a part of it. Candidates are drawn for the
  // global batch; RandomShuffle has one order for all shards.
  bool draws_whole_stream = false;
  std::vector<int> host_inputs = {};   // arguments (by position in `inputs`) that a GPU kernel wants in host memory
  std::vector<int> host_outputs = {};  // outputs in host memory on every device
};

// The parsed form: immutable, owned by its registry.
struct OpDef : OpSpec {
  std::vector<ArgDef> input_args, output_args;  // parsed from `inputs`, `outputs`
  std::vector<AttrDef> attr_defs;               // parsed from `attrs`

  const AttrDef* attr(std::string_view attr_name) const;  // null where there is none
  bool has_ref_input() const;                             // it may change a variable
};

// Parses the notation above. Errors name the op and the string.
Result<OpDef> parse_op(OpSpec spec);

// dtypes of all inputs or outputs in order, lists expanded, from a node's attributes. `refs`, when given, says for each
// whether it is a reference. REQUIRES: the attributes are complete.
Result<std::vector<DType>> arg_dtypes(const std::vector<ArgDef>& args, const AttrMap& attrs,
                                      std::vector<bool>* refs = nullptr);

// Checks the attributes given for a node, infers those that follow from its input dtypes (T, N, type lists), fills in
// defaults. Attributes the op does not know are kept when their name starts with '_', else an error with the nearest
// name.
Status complete_attrs(const OpDef& op, std::span<const DType> input_dtypes, AttrMap& attrs);

}  // namespace argosy
