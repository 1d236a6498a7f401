#include "argosy/sharding/verify/verify.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "argosy/sharding/verify/verify_node.h"

namespace argosy {

namespace {

using Kind = Placement::Kind;

bool may_become(const Placement& from, const Placement& to) {
  switch (from.kind) {
    case Kind::kReplicate: return to.kind != Kind::kVarying && to.kind != Kind::kLocal;
    case Kind::kPartial: return to.is_local() || to.is_replicate() || to.is_shard() || to.kind == Kind::kOnce;
    case Kind::kShard: return to.is_shard() || to.is_replicate() || to.kind == Kind::kOnce;
    case Kind::kOnce: return to.is_replicate() || to.is_shard();
    case Kind::kLocal: return to == Placement::partial(Combine::kSum);
    case Kind::kVarying: return false;
  }
  return false;
}

class Check {
 public:
  Check(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const Mesh& mesh, const Assignment& a)
      : graph_(graph), sizes_(sizes), rules_(rules), mesh_(mesh), a_(a) {}

  Status run(const VerifyRequest& request) {
    ARGOSY_RETURN_IF_ERROR(complete());
    ARGOSY_RETURN_IF_ERROR(read_reshards(request));
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const NodeId id{i};
      for (std::int32_t k = 0; k < std::ssize(graph_.node(id).output_dtypes); ++k) {
        ARGOSY_RETURN_IF_ERROR(legal({id, k}));
      }
      for (int axis = 0; axis < std::ssize(mesh_.axes); ++axis) {
        ARGOSY_RETURN_IF_ERROR(node(id, axis, is_set(request.local.of, id)));
      }
    }
    for (std::size_t f = 0; f < request.fetches.size(); ++f) {
      for (int axis = 0; axis < std::ssize(mesh_.axes); ++axis) {
        const Placement p = arrives(request.fetches[f], {kFetch, static_cast<int>(f)}, axis);
        if (p.is_replicate() || p.kind == Kind::kOnce) continue;
        return wrong(str_cat("fetch ", f, " is ", to_string(p), ", not whole"));
      }
    }
    return ok_status();
  }

 private:
  static Status wrong(std::string_view what) { return internal_error(what).with_id("ARG-SHARD-014"); }
  std::string called(NodeId id) const {
    return str_cat("'", graph_.node(id).name, "' (", graph_.node(id).op->name, ")");
  }

  Status complete() const {
    const auto nodes = static_cast<std::size_t>(graph_.size());
    if (a_.layouts.size() != nodes || a_.shardings.size() != nodes) return wrong("the assignment is of another graph");
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      bool fits = a_.layouts[at].size() == graph_.node(NodeId{i}).output_dtypes.size() &&
                  a_.shardings[at].size() == mesh_.axes.size();
      for (const Layout& l : a_.layouts[at]) fits = fits && l.size() == mesh_.axes.size();
      if (!fits) return wrong(str_cat(called(NodeId{i}), " has no layout for each output and mesh axis"));
    }
    return ok_status();
  }

  static bool is_set(const std::vector<char>& of, NodeId id) {
    return id.index >= 0 && !of.empty() && of[static_cast<std::size_t>(id.index)] != 0;
  }
  static bool takes_own(const VerifyRequest& request, NodeId id) { return is_set(request.local.gradients, id); }
  bool meets_own(Graph::Use use, int axis) const {
    std::vector<Placement> inputs;
    for (const Endpoint e : graph_.node(use.node).inputs) inputs.push_back(a_.layout(e)[axis]);
    return may_be_own(inputs, use.input);
  }

  // --- reshards, by who reads them
  using Reader = std::tuple<NodeId, int, int>;  // node, input, axis
  Status read_reshards(const VerifyRequest& request) {
    for (const Reshard& r : a_.reshards) {
      const std::string what = str_cat("the reshard of '", graph_.node(r.value.node).name, "' from ", to_string(r.from),
                                       " to ", to_string(r.to));
      if (r.axis < 0 || r.axis >= std::ssize(mesh_.axes)) return wrong(str_cat(what, " is on no mesh axis"));
      if (!may_become(r.from, r.to)) return wrong(str_cat(what, " is impossible"));
      for (const Graph::Use& use : r.users) {
        const bool fetch = use.node == kFetch && use.input >= 0 && use.input < std::ssize(request.fetches) &&
                           request.fetches[static_cast<std::size_t>(use.input)] == r.value;
        const bool reads = use.node.index >= 0 && use.node.index < graph_.size() && use.input >= 0 &&
                           use.input < std::ssize(graph_.node(use.node).inputs) &&
                           graph_.node(use.node).inputs[static_cast<std::size_t>(use.input)] == r.value;
        if (!fetch && !reads) return wrong(str_cat(what, " names a user that does not read the value"));
        const Placement now = arrives(r.value, use, r.axis);
        if (r.to.is_local() && !(takes_own(request, use.node) && meets_own(use, r.axis)))
          return wrong(str_cat(what, " is of no gradient of a shard's own statistics"));
        if (now != r.from)
          return wrong(str_cat(what, " starts from ", to_string(r.from), "; the user has ", to_string(now)));
        if (!fetch && carries_state(use)) {
          const auto common = [](const Placement& p) { return p.is_replicate() || p.kind == Kind::kOnce; };
          if (!common(r.from) || !common(r.to)) return wrong(str_cat(what, " is of state, which stays where it is"));
        }
        arrives_[{use.node, use.input, r.axis}] = r.to;
      }
    }
    return ok_status();
  }

  bool touches_state(NodeId id) const {
    const Node& n = graph_.node(id);
    const auto state = [&](Endpoint e) {
      const DType d = graph_.dtype(e);
      return d == DType::kResource || d == DType::kVariant || graph_.node(e.node).output_is_ref(e.index);
    };
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) {
      if (state({id, k})) return true;
    }
    return std::any_of(n.inputs.begin(), n.inputs.end(), state);
  }

  // True if the user takes a handle, or a reference itself.
  bool carries_state(Graph::Use use) const {
    const Node& n = graph_.node(use.node);
    const Endpoint e = n.inputs[static_cast<std::size_t>(use.input)];
    const DType dtype = graph_.dtype(e);
    if (dtype == DType::kResource || dtype == DType::kVariant) return true;
    if (!graph_.node(e.node).output_is_ref(e.index) || !n.op->has_ref_input()) return false;
    std::vector<bool> refs;
    const auto dtypes = arg_dtypes(n.op->input_args, n.attrs, &refs);
    return dtypes.ok() && static_cast<std::size_t>(use.input) < refs.size() &&
           refs[static_cast<std::size_t>(use.input)];
  }

  Placement arrives(Endpoint e, Graph::Use use, int axis) const {
    const auto changed = arrives_.find({use.node, use.input, axis});
    return changed != arrives_.end() ? changed->second : a_.layout(e)[static_cast<std::size_t>(axis)];
  }

  // --- values
  bool is_handle(Endpoint e) const {
    return graph_.dtype(e) == DType::kResource || graph_.dtype(e) == DType::kVariant;
  }

  Status legal(Endpoint e) const {
    const PartialShape& shape = sizes_.shape(e);
    const Placement* partial = nullptr;
    for (const Placement& p : a_.layout(e)) {
      if (p.is_partial()) {
        if (partial != nullptr && partial->combine != p.combine) {
          return wrong(str_cat(called(e.node), ": output ", e.index, " is partial in two ways"));
        }
        partial = &p;
      }
      if (!p.is_shard()) continue;
      if (p.rounds < 1 || p.unit < 1) return wrong(str_cat(called(e.node), " has shards of rounds or units below 1"));
      if (!shape.has_rank() || is_handle(e)) continue;
      const bool fits =
          p.dim >= 0 && p.dim < shape.rank() && (shape[p.dim] < 0 || shape[p.dim] % (p.rounds * p.unit) == 0);
      if (fits) continue;
      return wrong(str_cat(called(e.node), ": output ", e.index, " of shape ", shape, " cannot be ", to_string(p)));
    }
    return ok_status();
  }

  // Checks a node that makes a container: its elements may have any layout.
  std::string why_not_made(NodeId id, const std::vector<Placement>& in, const std::vector<Placement>& out) const {
    const Node& n = graph_.node(id);
    if (n.inputs.empty() || rules_.rule(id).kind != ShardingRule::Kind::kWhole) return "it makes no container";
    for (const Placement& p : in) {
      if (!p.is_replicate()) return "it reads a shard";
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
      const bool handle = is_handle({id, static_cast<std::int32_t>(k)});
      if (!out[k].is_replicate() && !(handle && out[k].is_shard()))
        return str_cat("output ", k, " is ", to_string(out[k]));
    }
    return "";
  }

  Status node(NodeId id, int axis, bool keeps_local) const {
    const Node& n = graph_.node(id);
    const auto on = static_cast<std::size_t>(axis);
    std::vector<Placement> in, out;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      in.push_back(arrives(n.inputs[i], {id, static_cast<int>(i)}, axis));
    }
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k) out.push_back(a_.layout({id, k})[on]);
    const NodeSharding& sharding = a_.shardings[static_cast<std::size_t>(id.index)][on];
    const ShardingRule& rule = rules_.rule(id);
    for (const int u : rule.updates) {
      const auto at = static_cast<std::size_t>(u);
      if (in[at].is_partial() || in[at] != a_.layout(n.inputs[at])[on]) {
        return wrong(str_cat(called(id), " updates input ", u, ", whose layout may not change or be partial"));
      }
    }
    std::string why;
    if (sharding.kind == NodeSharding::Kind::kGiven) {
      if (!n.inputs.empty()) why = "it has inputs, so that its layout cannot be given";
    } else if (sharding.kind == NodeSharding::Kind::kMakes) {
      why = why_not_made(id, in, out);
    } else {
      why = why_not(*n.op, !touches_state(id), rule, sharding, in, out, keeps_local);
    }
    if (why.empty()) return ok_status();
    std::string text;
    for (const Placement& p : in) text += (text.empty() ? "" : ", ") + to_string(p);
    text += " ->";
    for (const Placement& p : out) text += " " + to_string(p);
    return wrong(str_cat(called(id), " on the mesh axis '", mesh_.axes[on].name, "': ", why, " (", text,
                         "; rule: ", to_string(rule), ")"));
  }

  const Graph& graph_;
  const Sizes& sizes_;
  const RuleTable& rules_;
  const Mesh& mesh_;
  const Assignment& a_;
  std::map<Reader, Placement> arrives_;  // what reshards change
};

}  // namespace

Status verify(const Graph& graph, const Sizes& sizes, const RuleTable& rules, const Mesh& mesh, const Assignment& a,
              const VerifyRequest& request) {
  return Check(graph, sizes, rules, mesh, a).run(request);
}

}  // namespace argosy
