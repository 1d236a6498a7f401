#include "argosy/passes/functions/lower_branches.h"

#include "argosy/passes/functions/lower_calls.h"

namespace argosy::lowering {

namespace {

// One If or Case.
class BranchLowering {
 public:
  explicit BranchLowering(Caller& caller)
      : caller_(caller),
        graph_(caller.graph),
        in_(caller.in),
        node_(caller.node),
        outputs_(caller.outputs),
        finished_(caller.finished) {}

  Status lower_if() {
    ARGOSY_ASSIGN_OR_RETURN(Endpoint pred, in_.gated(node_.inputs[0]));
    if (graph_.dtype(pred) != DType::kBool) {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId test, in_.add("ToBool", {pred}, {}, "pred"));
      pred = {test, 0};
    }
    return lower_branches({pred},
                          {{"then", caller_.function("then_branch")}, {"else", caller_.function("else_branch")}});
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

 private:
  // Splits x by Switches: returns its value for each branch.
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
    if (preds.empty())
      return lower_call_to(caller_, branches[0].second, {node_.inputs.begin() + 1, node_.inputs.end()});
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
      ARGOSY_ASSIGN_OR_RETURN(const Body body,
                              in_.inline_function(name, args[b], node_.output_dtypes, pivot, label, true));
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

  Caller& caller_;
  Graph& graph_;
  Inliner& in_;
  const Node& node_;
  std::vector<Endpoint>& outputs_;
  std::vector<NodeId>& finished_;
};

}  // namespace

Status lower_if(Caller& caller) { return BranchLowering(caller).lower_if(); }
Status lower_case(Caller& caller) { return BranchLowering(caller).lower_case(); }

}  // namespace argosy::lowering
