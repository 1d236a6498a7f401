#include "argosy/passes/functions/lower_loops.h"

#include <algorithm>

#include "argosy/graph/function_body.h"

namespace argosy::lowering {

namespace {

// One While or For.
class LoopLowering {
 public:
  explicit LoopLowering(Caller& caller)
      : caller_(caller),
        graph_(caller.graph),
        in_(caller.in),
        node_(caller.node),
        outputs_(caller.outputs),
        finished_(caller.finished) {}

  Status lower_while() {
    const std::size_t count = node_.inputs.size();
    ARGOSY_ASSIGN_OR_RETURN(const Function* const body, find_function(graph_, caller_.function("body"), count, count));
    const std::string frame = graph_.unique_name(str_cat(node_.name, "/frame"));
    std::vector<LoopValue> values(count);
    NodeId first;  // the head of some value that every iteration has anew
    for (std::size_t i = 0; i < count; ++i) {
      LoopValue& v = values[i];
      v.invariant = body->returns[i] == Endpoint{body->args[i], 0};
      ARGOSY_ASSIGN_OR_RETURN(v.enter, enter(node_.inputs[i], frame, v.invariant));
      v.inside = {v.enter, 0};
      if (v.invariant) continue;
      ARGOSY_ASSIGN_OR_RETURN(v.merge, head(v.enter, node_.output_shapes[i]));
      v.inside = {v.merge, 0};
      if (first.index < 0) first = v.merge;
    }
    if (first.index < 0) {
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint truth, in_.constant(Tensor::scalar(true)));
      LoopValue pulse;
      ARGOSY_ASSIGN_OR_RETURN(pulse.enter, enter(truth, frame, false));
      ARGOSY_ASSIGN_OR_RETURN(pulse.merge, head(pulse.enter, PartialShape::scalar()));
      pulse.inside = {pulse.merge, 0};
      first = pulse.merge;
      values.push_back(pulse);
    }
    ARGOSY_ASSIGN_OR_RETURN(const NodeId loop_cond, condition(values, count, first));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId pivot, switch_values(values, loop_cond, first));
    return repeat(values, count, pivot);
  }

  // A loop that counts: its values, then the index and how many iterations are left.
  Status lower_for() {
    if (node_.inputs.size() < 3) return invalid_argument("it has no start, limit and delta");
    const std::size_t count = node_.inputs.size() - 3;
    ARGOSY_RETURN_IF_ERROR(find_function(graph_, caller_.function("body"), count + 1, count).status());
    std::vector<NodeId> controls = node_.controls;
    ARGOSY_ASSIGN_OR_RETURN(const NodeId gate, in_.gate_of(node_));
    if (gate.index >= 0) controls.push_back(gate);
    ARGOSY_ASSIGN_OR_RETURN(
        const NodeId steps,
        in_.add("_ForSteps", {node_.inputs[0], node_.inputs[1], node_.inputs[2]}, {}, "steps", std::move(controls)));
    const std::string frame = graph_.unique_name(str_cat(node_.name, "/frame"));
    std::vector<Endpoint> initial(node_.inputs.begin() + 3, node_.inputs.end());
    initial.insert(initial.end(), {node_.inputs[0], {steps, 0}});
    std::vector<LoopValue> values(count + 2);
    for (std::size_t i = 0; i < values.size(); ++i) {
      LoopValue& v = values[i];
      ARGOSY_ASSIGN_OR_RETURN(v.enter, enter(initial[i], frame, false));
      ARGOSY_ASSIGN_OR_RETURN(v.merge, head(v.enter, i < count ? node_.output_shapes[i] : PartialShape::scalar()));
      v.inside = {v.merge, 0};
    }
    ARGOSY_ASSIGN_OR_RETURN(const NodeId delta, enter(node_.inputs[2], frame, true));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId one, enter({steps, 1}, frame, true));
    const NodeId first = values.back().merge;
    ARGOSY_ASSIGN_OR_RETURN(const NodeId some, in_.add("ToBool", {{first, 0}}, {}, "cond/bool"));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId loop_cond, in_.add("LoopCond", {{some, 0}}, {}, "loop_cond"));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId pivot, switch_values(values, loop_cond, first));
    std::vector<Endpoint> args = {values[count].in_body};
    for (std::size_t i = 0; i < count; ++i) args.push_back(values[i].in_body);
    ARGOSY_ASSIGN_OR_RETURN(
        const Body body, in_.inline_function(caller_.function("body"), args, node_.output_dtypes, pivot, "body", true));
    std::vector<Endpoint> next = body.returns;
    ARGOSY_ASSIGN_OR_RETURN(const NodeId index, in_.add("AddV2", {values[count].in_body, {delta, 0}}, {}, "index"));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId left, in_.add("Sub", {values[count + 1].in_body, {one, 0}}, {}, "left"));
    next.insert(next.end(), {{index, 0}, {left, 0}});
    for (std::size_t i = 0; i < values.size(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId again, in_.add("NextIteration", {next[i]}, {}, "next", body.effects));
      graph_.add_input(values[i].merge, {again, 0});
      finished_.push_back(values[i].exit.node);
      if (i < count) outputs_.push_back(values[i].exit);
    }
    return ok_status();
  }

 private:
  struct LoopValue {
    bool invariant = false;
    NodeId enter, merge;
    Endpoint inside;  // of the condition
    Endpoint exit, in_body;
  };

  Result<NodeId> enter(Endpoint from, const std::string& frame, bool is_constant) {
    std::vector<NodeId> controls = node_.controls;
    if (in_.always_alive(from)) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId gate, in_.gate_of(node_));
      if (gate.index >= 0) controls.push_back(gate);
    }
    const auto* const parallel = node_.attrs.find_as<std::int64_t>("parallel_iterations");
    return in_.add("Enter", {from},
                   {{"frame_name", frame},
                    {"is_constant", is_constant},
                    {"parallel_iterations", parallel == nullptr ? 10 : *parallel}},
                   "enter", std::move(controls));
  }

  // The Merge at the head of the loop; its way back is connected by close().
  Result<NodeId> head(NodeId enter, const PartialShape& shape) {
    return in_.add("Merge", {{enter, 0}}, {{"N", 2}}, "merge", {}, {shape, PartialShape::scalar()});
  }

  Result<NodeId> condition(const std::vector<LoopValue>& values, std::size_t count, NodeId pivot) {
    std::vector<Endpoint> args;
    for (std::size_t i = 0; i < count; ++i) args.push_back(values[i].inside);
    ARGOSY_ASSIGN_OR_RETURN(const Body test, in_.inline_function(caller_.function("cond"), args,
                                                                 std::vector{DType::kInvalid}, pivot, "cond", true));
    Endpoint go_on = test.returns[0];
    if (graph_.dtype(go_on) != DType::kBool) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId truth, in_.add("ToBool", {go_on}, {}, "cond/bool"));
      go_on = {truth, 0};
    }
    return in_.add("LoopCond", {go_on}, {}, "loop_cond", test.effects);
  }

  // Gives the body's pivot.
  Result<NodeId> switch_values(std::vector<LoopValue>& values, NodeId loop_cond, NodeId first) {
    NodeId pivot;
    for (LoopValue& v : values) {
      v.in_body = v.inside;
      if (v.invariant) continue;
      ARGOSY_ASSIGN_OR_RETURN(const NodeId s, in_.add("Switch", {v.inside, {loop_cond, 0}}, {}, "switch"));
      ARGOSY_ASSIGN_OR_RETURN(const NodeId exit, in_.add("Exit", {{s, 0}}, {}, "exit"));
      v.in_body = {s, 1};
      v.exit = {exit, 0};
      if (v.merge == first) {
        ARGOSY_ASSIGN_OR_RETURN(pivot, in_.add("Identity", {{s, 1}}, {}, "body_pivot"));
      }
    }
    return pivot;
  }

  Status repeat(const std::vector<LoopValue>& values, std::size_t count, NodeId pivot) {
    std::vector<Endpoint> args;
    for (std::size_t i = 0; i < count; ++i) args.push_back(values[i].in_body);
    ARGOSY_ASSIGN_OR_RETURN(
        const Body body, in_.inline_function(caller_.function("body"), args, node_.output_dtypes, pivot, "body", true));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const LoopValue& v = values[i];
      if (v.invariant) {
        ARGOSY_ASSIGN_OR_RETURN(const Endpoint same, unchanged(node_.inputs[i], some_exit(values)));
        outputs_.push_back(same);
        continue;
      }
      const Endpoint next = i < count ? body.returns[i] : v.in_body;
      ARGOSY_ASSIGN_OR_RETURN(const NodeId again, in_.add("NextIteration", {next}, {}, "next", body.effects));
      graph_.add_input(v.merge, {again, 0});
      finished_.push_back(v.exit.node);
      if (i < count) outputs_.push_back(v.exit);
    }
    return ok_status();
  }

  static NodeId some_exit(const std::vector<LoopValue>& values) {
    return std::find_if(values.begin(), values.end(), [](const LoopValue& v) { return !v.invariant; })->exit.node;
  }
  // Outside the loop it is what it was, but dead with the loop and there when it has ended: who reads it may rely on what
  // the loop did. As in TensorFlow, a handle is there at once.
  Result<Endpoint> unchanged(Endpoint x, NodeId exit) {
    if (graph_.dtype(x) == DType::kResource) return in_.gated(x);
    ARGOSY_ASSIGN_OR_RETURN(const NodeId late, in_.add("Identity", {x}, {}, "unchanged", {exit}));
    return Endpoint{late, 0};
  }

  const Caller& caller_;
  Graph& graph_;
  Inliner& in_;
  const Node& node_;
  std::vector<Endpoint>& outputs_;
  std::vector<NodeId>& finished_;
};

}  // namespace

Status lower_while(Caller& caller) { return LoopLowering(caller).lower_while(); }
Status lower_for(Caller& caller) { return LoopLowering(caller).lower_for(); }

}  // namespace argosy::lowering
