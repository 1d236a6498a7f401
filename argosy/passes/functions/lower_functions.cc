#include "argosy/passes/functions/lower_functions.h"

#include <algorithm>
#include <unordered_map>

#include "argosy/graph/function_body.h"
#include "argosy/passes/functions/inline_body.h"
#include "argosy/passes/has_op.h"

namespace argosy {

namespace {

using lowering::Body;
using lowering::Inliner;

class Lowering {
 public:
  Lowering(StepGraph& step, const LowerOptions& options) : step_(step), graph_(step.graph), in_(graph_, options) {}

  Result<int> run() {
    if (!has_op(graph_, [](const OpDef& op) { return op.calls != Calls::kNothing; })) return 0;
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      if (graph_.node({i}).op->calls != Calls::kNothing) in_.to_lower.push_back({NodeId{i}, 0});
    }
    int lowered = 0;
    while (!in_.to_lower.empty()) {
      const auto [id, depth] = in_.to_lower.back();
      in_.to_lower.pop_back();
      const std::string where = str_cat("node '", graph_.node(id).name, "' (", graph_.node(id).op->name, ")");
      Status done = lower(id, depth);
      if (!done.ok()) return std::move(done).with_where(where);
      ++lowered;
    }
    if (lowered > 0) redirect();
    return lowered;
  }

 private:
  Status lower(NodeId id, int depth) {
    in_.begin(id, depth);
    node_ = graph_.node(id);
    outputs_.clear();
    finished_.clear();
    switch (node_.op->calls) {
      case Calls::kIf: ARGOSY_RETURN_IF_ERROR(lower_if()); break;
      case Calls::kCase: ARGOSY_RETURN_IF_ERROR(lower_case()); break;
      case Calls::kWhile:
        ARGOSY_RETURN_IF_ERROR(node_.attrs.find("cond") != nullptr ? lower_while() : lower_for());
        break;
      case Calls::kCallOn: ARGOSY_RETURN_IF_ERROR(lower_call_on()); break;
      default: ARGOSY_RETURN_IF_ERROR(lower_call()); break;
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Endpoint from{id, static_cast<std::int32_t>(i)};
      // What the node said of its outputs may be more than their new producers can tell.
      const auto both = graph_.shape(outputs_[i]).merge(node_.output_shapes[i]);
      if (both.ok()) graph_.refine_shape(outputs_[i], *both);
      moved_[from] = outputs_[i];
      finished_.push_back(outputs_[i].node);
    }
    ARGOSY_ASSIGN_OR_RETURN(done_[id], in_.add("NoOp", {}, {}, "done", finished_));
    return ok_status();
  }

  std::string function(std::string_view attr) const { return node_.attrs.get<FunctionRef>(attr).name; }

  // --- branches ------------------------------------------------------------------------------------------------------

  Status lower_if() {
    ARGOSY_ASSIGN_OR_RETURN(Endpoint pred, in_.gated(node_.inputs[0]));
    if (graph_.dtype(pred) != DType::kBool) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId test, in_.add("ToBool", {pred}, {}, "pred"));
      pred = {test, 0};
    }
    return lower_branches({pred}, {{"then", function("then_branch")}, {"else", function("else_branch")}});
  }

  // One question after the other: is it branch 0? is it branch 1? … else the last.
  Status lower_case() {
    const auto& refs = node_.attrs.get<std::vector<FunctionRef>>("branches");
    if (refs.empty()) {
      return invalid_argument("it has no branches: \"branches\" must name at least one function").with_id("ARG-FN-010");
    }
    std::vector<std::pair<std::string, std::string>> branches;
    std::vector<Endpoint> preds;
    ARGOSY_ASSIGN_OR_RETURN(const Endpoint index, in_.gated(node_.inputs[0]));
    for (std::size_t k = 0; k < refs.size(); ++k) {
      branches.emplace_back(str_cat("branch", k), refs[k].name);
      if (k + 1 == refs.size()) break;
      ARGOSY_ASSIGN_OR_RETURN(const Endpoint number, in_.constant(Tensor::scalar(static_cast<std::int32_t>(k))));
      ARGOSY_ASSIGN_OR_RETURN(const NodeId equal, in_.add("Equal", {index, number}, {}, "is"));
      preds.push_back({equal, 0});
    }
    return lower_branches(preds, branches);
  }

  // What comes out of x for each branch.
  Result<std::vector<Endpoint>> split(Endpoint x, const std::vector<Endpoint>& preds, std::string_view name) {
    std::vector<Endpoint> parts;
    for (const Endpoint pred : preds) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId s, in_.add("Switch", {x, pred}, {}, name));
      parts.push_back({s, 1});
      x = {s, 0};
    }
    parts.push_back(x);
    return parts;
  }

  Status lower_branches(const std::vector<Endpoint>& preds,
                        const std::vector<std::pair<std::string, std::string>>& branches) {
    if (preds.empty()) return lower_to(branches[0].second, {node_.inputs.begin() + 1, node_.inputs.end()});
    ARGOSY_ASSIGN_OR_RETURN(const auto pivots, split(preds[0], preds, "pivot"));
    std::vector<std::vector<Endpoint>> args(branches.size());
    for (std::size_t i = 1; i < node_.inputs.size(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(const auto parts, split(node_.inputs[i], preds, "switch"));
      for (std::size_t b = 0; b < branches.size(); ++b) args[b].push_back(parts[b]);
    }
    std::vector<std::vector<Endpoint>> returns(node_.output_dtypes.size());
    std::vector<Endpoint> dones;
    bool effects = false;
    for (std::size_t b = 0; b < branches.size(); ++b) {
      const auto& [label, name] = branches[b];
      ARGOSY_ASSIGN_OR_RETURN(const NodeId pivot, in_.add("Identity", {pivots[b]}, {}, label + "_pivot"));
      ARGOSY_ASSIGN_OR_RETURN(const Body body, in_.put(name, args[b], returns.size(), pivot, label, true));
      for (std::size_t i = 0; i < returns.size(); ++i) returns[i].push_back(body.returns[i]);
      ARGOSY_ASSIGN_OR_RETURN(const NodeId done, in_.add("Identity", {{pivot, 0}}, {}, label + "_done", body.effects));
      dones.push_back({done, 0});
      effects = effects || !body.effects.empty();
    }
    std::vector<NodeId> after;
    if (effects || returns.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId done, in_.add("Merge", dones, {}, "branch_done"));
      after.push_back(done);
    }
    finished_ = after;
    for (const std::vector<Endpoint>& of : returns) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId merge, in_.add("Merge", of, {}, "merge"));
      Endpoint output{merge, 0};
      if (!after.empty()) {
        ARGOSY_ASSIGN_OR_RETURN(const NodeId last, in_.add("Identity", {output}, {}, "output", after));
        output = {last, 0};
      }
      outputs_.push_back(output);
    }
    return ok_status();
  }

  // --- calls ---------------------------------------------------------------------------------------------------------

  Status lower_call() { return lower_to(function("f"), node_.inputs); }

  // Where the device is not known before the step, the body runs where its caller does: handles are found from there.
  Status lower_call_on() {
    const Tensor* const target = graph_.constant(node_.inputs[0]);
    if (target != nullptr && target->dtype() == DType::kString && target->elements() == 1) {
      in_.move_to(*target->data<std::string>());
    }
    return lower_to(function("f"), {node_.inputs.begin() + 1, node_.inputs.end()});
  }

  Status lower_to(const std::string& name, std::vector<Endpoint> args) {
    NodeId entry;
    if (!node_.controls.empty() || in_.gate_of(node_).index >= 0) {
      std::vector<NodeId> controls = node_.controls;
      if (const NodeId gate = in_.gate_of(node_); gate.index >= 0) controls.push_back(gate);
      ARGOSY_ASSIGN_OR_RETURN(entry, in_.add("NoOp", {}, {}, "entry", controls));
    }
    if (!node_.controls.empty()) {
      for (Endpoint& arg : args) {
        ARGOSY_ASSIGN_OR_RETURN(const NodeId late, in_.add("Identity", {arg}, {}, "arg", {entry}));
        arg = {late, 0};
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(const Body body,
                            in_.put(name, args, node_.output_dtypes.size(), entry, "", entry.index >= 0));
    finished_ = body.effects;
    if (entry.index >= 0) finished_.push_back(entry);
    outputs_ = body.returns;
    for (Endpoint& output : outputs_) {
      if (body.effects.empty()) break;
      ARGOSY_ASSIGN_OR_RETURN(const NodeId last, in_.add("Identity", {output}, {}, "output", body.effects));
      output = {last, 0};
    }
    return ok_status();
  }

  // --- loops ---------------------------------------------------------------------------------------------------------

  struct LoopValue {
    bool invariant = false;
    NodeId enter, merge;
    Endpoint inside;  // of the condition
    Endpoint exit, in_body;
  };

  Result<NodeId> enter(Endpoint from, const std::string& frame, bool is_constant) {
    std::vector<NodeId> controls = node_.controls;
    if (in_.always_alive(from)) {
      if (const NodeId gate = in_.gate_of(node_); gate.index >= 0) controls.push_back(gate);
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

  Status lower_while() {
    const std::size_t count = node_.inputs.size();
    ARGOSY_ASSIGN_OR_RETURN(const Function* const body, find_function(graph_, function("body"), count, count));
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

  Result<NodeId> condition(const std::vector<LoopValue>& values, std::size_t count, NodeId pivot) {
    std::vector<Endpoint> args;
    for (std::size_t i = 0; i < count; ++i) args.push_back(values[i].inside);
    ARGOSY_ASSIGN_OR_RETURN(const Body test, in_.put(function("cond"), args, 1, pivot, "cond", true));
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
    ARGOSY_ASSIGN_OR_RETURN(const Body body, in_.put(function("body"), args, count, pivot, "body", true));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const LoopValue& v = values[i];
      if (v.invariant) {
        // Outside the loop it is what it was; where that is a constant, whoever takes it is to be dead with the loop.
        ARGOSY_ASSIGN_OR_RETURN(const Endpoint same, in_.gated(node_.inputs[i]));
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

  // A loop that counts: its values, then the index and how many iterations are left.
  Status lower_for() {
    if (node_.inputs.size() < 3) return invalid_argument("it has no start, limit and delta");
    const std::size_t count = node_.inputs.size() - 3;
    ARGOSY_RETURN_IF_ERROR(find_function(graph_, function("body"), count + 1, count).status());
    std::vector<NodeId> controls = node_.controls;
    if (const NodeId gate = in_.gate_of(node_); gate.index >= 0) controls.push_back(gate);
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
    ARGOSY_ASSIGN_OR_RETURN(const Body body, in_.put(function("body"), args, count, pivot, "body", true));
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

  // --- the rest of the graph -----------------------------------------------------------------------------------------

  Endpoint now(Endpoint e) const {
    for (auto found = moved_.find(e); found != moved_.end(); found = moved_.find(e)) e = found->second;
    return e;
  }

  void redirect() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const int inputs = static_cast<int>(graph_.node({i}).inputs.size());
      for (int k = 0; k < inputs; ++k) {
        const Endpoint e = graph_.node({i}).inputs[k];
        const Endpoint to = now(e);
        if (!(to == e)) graph_.set_input({i}, k, to);
      }
      const std::vector<NodeId> controls = graph_.node({i}).controls;
      for (const NodeId c : controls) {
        if (const auto done = done_.find(c); done != done_.end()) graph_.replace_control_input({i}, c, done->second);
      }
    }
    for (Endpoint& e : step_.fetches) {
      if (e.index != Value::kControl) {
        e = now(e);
      } else if (const auto done = done_.find(e.node); done != done_.end()) {
        e.node = done->second;
      }
    }
    for (NodeId& t : step_.targets) {
      if (const auto done = done_.find(t); done != done_.end()) t = done->second;
    }
  }

  StepGraph& step_;
  Graph& graph_;
  Inliner in_;
  Node node_;                      // being lowered, as it was
  std::vector<Endpoint> outputs_;  // its outputs' new producers
  std::vector<NodeId> finished_;   // when these have run, it has
  std::unordered_map<Endpoint, Endpoint> moved_;
  std::unordered_map<NodeId, NodeId> done_;
};

}  // namespace

Result<int> lower_functions(StepGraph& step, const LowerOptions& options) { return Lowering(step, options).run(); }

}  // namespace argosy
