#include "argosy/sharding/sizes/shape_walk.h"

#include <algorithm>
#include <set>

#include "argosy/graph/shape_error.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/sharding/sizes/container_contents.h"

namespace argosy {

namespace {

constexpr int kMostSteps = 16;               // back from what a loop carries
constexpr std::size_t kMaxKnownInts = 1024;  // as Graph has it: longer integer tensors are data, not shapes

bool is_handle(DType d) { return d == DType::kResource || d == DType::kVariant; }

class Walk {
 public:
  Walk(const Graph& graph, const OutputIndex& index, const std::vector<NodeId>& order,
       const std::map<NodeId, PartialShape>& given, std::int64_t batch)
      : graph_(graph), index_(index), order_(order), given_(given), contents_(graph, index) {
    out_.batch = batch;
  }

  Result<InferredShapes> run() {
    do {
      out_.shapes.assign(index_.size(), PartialShape::unknown());
      out_.ints.assign(index_.size(), std::nullopt);
      out_.handles.clear();
      contents_.begin();
      seen_.assign(static_cast<std::size_t>(graph_.size()), 0);
      failed_.clear();
      for (const NodeId id : order_) {
        Status done = infer(id);
        if (!done.ok() && may_fail(id)) {
          failed_.insert(id);
        } else if (!done.ok()) {
          return std::move(done).with_where(str_cat("node '", graph_.node(id).name, "'"));
        }
        seen_[static_cast<std::size_t>(id.index)] = 1;
      }
    } while (contents_.learn() || learn_carried());
    return std::move(out_);
  }

 private:
  // True if the node is behind a Switch and its shapes fit together for no batch. Then only steps that take that branch
  // fail, as on one device.
  bool may_fail(NodeId id) {
    if (!is_behind_switch(graph_, id)) return false;
    if (out_.batch < 0) return true;
    if (!fails_for_any_batch_) {
      std::map<NodeId, PartialShape> open;
      for (const auto& [fed, shape] : given_) {
        PartialShape::Sizes sizes = shape.has_rank() ? shape.sizes() : PartialShape::Sizes();
        std::replace(sizes.begin(), sizes.end(), out_.batch, PartialShape::kUnknown);
        open[fed] = shape.has_rank() ? PartialShape(std::move(sizes)) : shape;
      }
      Walk any(graph_, index_, order_, open, PartialShape::kUnknown);
      fails_for_any_batch_ = any.run().ok() ? std::move(any.failed_) : std::set<NodeId>();
    }
    return fails_for_any_batch_->contains(id);
  }

  PartialShape& shape(Endpoint e) { return out_.shapes[index_(e)]; }

  Status infer(NodeId id) {
    const Node& n = graph_.node(id);
    if (const auto given = given_.find(id); given != given_.end()) {
      shape({id, 0}) = given->second;
      return ok_status();
    }
    if (n.op->flow == Flow::kMerge) {
      merge(id);
    } else {
      ARGOSY_RETURN_IF_ERROR(call_shape_function(id));
    }
    // The graph may know what no edge shows: values read from a container were stored somewhere else. What the graph
    // says of sizes in a loop may be true of the first iteration alone.
    for (std::size_t k = 0; k < n.output_shapes.size(); ++k) {
      PartialShape& own = shape({id, static_cast<std::int32_t>(k)});
      if (own.has_rank() || n.op->flow == Flow::kMerge) continue;
      if (auto both = own.merge(n.output_shapes[k]); both.ok()) own = *std::move(both);
    }
    return ok_status();
  }

  void merge(NodeId id) {
    const Node& n = graph_.node(id);
    if (const auto carried = carried_.find(id); carried != carried_.end()) {
      shape({id, 0}) = carried->second;
    } else {
      bool first = true;
      for (const Endpoint e : n.inputs) {
        if (seen_[static_cast<std::size_t>(e.node.index)] == 0) continue;  // comes round the loop
        shape({id, 0}) = first ? shape(e) : common_sizes(shape({id, 0}), shape(e));
        first = false;
      }
    }
    if (n.output_dtypes.size() > 1) shape({id, 1}) = PartialShape::scalar();
    if (!n.inputs.empty() && is_carried_unchanged(id)) out_.ints[index_({id, 0})] = out_.ints[index_(n.inputs[0])];
    if (!is_handle(n.output_dtypes[0]) || n.inputs.empty()) return;
    if (const auto known = out_.handles.find(n.inputs[0]); known != out_.handles.end()) {
      out_.handles.emplace(Endpoint{id, 0}, known->second);
      contents_.follow(id, {id, 0});
    }
  }

  // True if the loop carries the value and never changes it: a capture of a function's body.
  bool is_carried_unchanged(NodeId merge) const {
    bool round = false;
    for (const Endpoint e : graph_.node(merge).inputs) {
      if (!graph_.node(e.node).op->closes_loop) continue;
      round = true;
      Endpoint from = graph_.node(e.node).inputs[0];
      for (int steps = 0; from != Endpoint{merge, 0}; ++steps) {
        const Node& n = graph_.node(from.node);
        const bool same = n.op->flow == Flow::kSwitch || (n.op->forwards && n.inputs.size() == 1 && from.index == 0);
        if (!same || steps == kMostSteps) return false;
        from = n.inputs[0];
      }
    }
    return round;
  }

  // Like Graph::infer(), but reads and writes the arrays of this walk.
  Status call_shape_function(NodeId id) {
    const Node& n = graph_.node(id);
    const std::size_t outputs = n.output_dtypes.size();
    SmallVector<DType, 8> dtypes;
    SmallVector<const PartialShape*, 8> shapes;
    SmallVector<const PartialInts*, 8> ints;
    SmallVector<const HandleFact*, 8> handles;
    for (const Endpoint e : n.inputs) {
      dtypes.push_back(graph_.dtype(e));
      shapes.push_back(&shape(e));
      const auto& known = out_.ints[index_(e)];
      ints.push_back(known && !(n.op->known_ints != nullptr && shapes.back()->rank() > 1) ? &*known : nullptr);
      const auto behind = is_handle(dtypes.back()) ? out_.handles.find(e) : out_.handles.end();
      handles.push_back(behind != out_.handles.end() ? &behind->second : nullptr);
    }
    std::vector<PartialShape> found(outputs, PartialShape::unknown());
    const bool gives_handles = std::any_of(n.output_dtypes.begin(), n.output_dtypes.end(), is_handle);
    std::vector<HandleFact> output_handles(gives_handles ? outputs : 0);
    ShapeContext c(*n.op, n.attrs, dtypes, shapes, ints, found, handles, output_handles);
    if (outputs > 0) ARGOSY_RETURN_IF_ERROR(n.op->shape(c));
    for (std::size_t k = 0; gives_handles && k < outputs; ++k) {
      if (!is_handle(n.output_dtypes[k])) continue;
      HandleFact& fact = output_handles[k];
      const bool same = n.op->forwards || n.op->elementwise || n.op->flow != Flow::kNone;
      if (fact.dtype == DType::kInvalid && same && !handles.empty() && handles[0] != nullptr) fact = *handles[0];
      if (fact.dtype == DType::kInvalid) continue;
      const Endpoint handle{id, static_cast<std::int32_t>(k)};
      contents_.add(id, handle, same, fact.shape);
      out_.handles[handle] = std::move(fact);
    }
    contents_.store(id, out_);
    for (std::size_t k = 0; n.op->known_ints != nullptr && k < outputs; ++k) {
      if (n.output_dtypes[k] != DType::kInt32 && n.output_dtypes[k] != DType::kInt64) continue;
      auto known = n.op->known_ints(c, static_cast<int>(k));
      if (known && known->size() <= kMaxKnownInts) {
        out_.ints[index_({id, static_cast<std::int32_t>(k)})] = *std::move(known);
      }
    }
    for (std::size_t k = 0; k < outputs; ++k) shape({id, static_cast<std::int32_t>(k)}) = std::move(found[k]);
    if (n.op->flow == Flow::kEnter || n.op->flow == Flow::kSwitch) pass_ints(id);
    contents_.take(id, out_);
    return ok_status();
  }

  // Outputs of an Enter or a Switch have the known integers of the input.
  void pass_ints(NodeId id) {
    const Node& n = graph_.node(id);
    for (std::int32_t k = 0; k < std::ssize(n.output_dtypes); ++k)
      out_.ints[index_({id, k})] = out_.ints[index_(n.inputs[0])];
  }

  // Makes sizes unknown that change between iterations of a loop. True if there are new ones: another walk is needed.
  bool learn_carried() {
    bool learned = false;
    for (const NodeId id : order_) {
      const Node& n = graph_.node(id);
      if (n.op->flow != Flow::kMerge) continue;
      for (const Endpoint e : n.inputs) {
        if (!graph_.node(e.node).op->closes_loop) continue;
        PartialShape both = common_sizes(shape({id, 0}), shape(e));
        if (both == shape({id, 0})) continue;
        carried_[id] = std::move(both);
        learned = true;
      }
    }
    return learned;
  }

  const Graph& graph_;
  const OutputIndex& index_;
  const std::vector<NodeId>& order_;
  const std::map<NodeId, PartialShape>& given_;
  std::map<NodeId, PartialShape> carried_;
  ContainerContents contents_;
  std::vector<char> seen_;
  std::set<NodeId> failed_;                              // whose outputs have no shape, for they do not come about
  std::optional<std::set<NodeId>> fails_for_any_batch_;  // until it is asked for: nothing
  InferredShapes out_;
};

}  // namespace

OutputIndex::OutputIndex(const Graph& graph) : first_(1, 0) {
  first_.reserve(static_cast<std::size_t>(graph.size()) + 1);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    first_.push_back(first_.back() + static_cast<std::int32_t>(graph.node(NodeId{i}).output_dtypes.size()));
  }
}

Result<InferredShapes> infer_shapes(const Graph& graph, const OutputIndex& index, const std::vector<NodeId>& order,
                                    const std::map<NodeId, PartialShape>& given, std::int64_t batch) {
  return Walk(graph, index, order, given, batch).run();
}

}  // namespace argosy
