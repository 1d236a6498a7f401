#include "argosy/sharding/sizes/shape_walk.h"

#include <algorithm>
#include <unordered_map>

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/stored_element.h"

namespace argosy {

namespace {

constexpr int kMostRounds = 8;               // of learning what containers hold
constexpr std::size_t kMaxKnownInts = 1024;  // as Graph has it: longer integer tensors are data, not shapes

bool is_handle(DType d) { return d == DType::kResource || d == DType::kVariant; }

// Sizes that both have; the others are unknown.
PartialShape common(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return PartialShape::unknown();
  PartialShape::Sizes sizes = a.sizes();
  for (int i = 0; i < a.rank(); ++i) {
    if (a[i] != b[i]) sizes[static_cast<std::size_t>(i)] = PartialShape::kUnknown;
  }
  return PartialShape(std::move(sizes));
}

// What all elements of a container have in common: their sizes; of integers what is known of them.
struct Elements {
  PartialShape shape;
  std::optional<PartialInts> ints;

  bool operator==(const Elements&) const = default;
};

// Integers that both have; the others are unknown.
std::optional<PartialInts> common(const std::optional<PartialInts>& a, const std::optional<PartialInts>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  PartialInts both = *a;
  for (std::size_t i = 0; i < both.size(); ++i) {
    if (both[i] != (*b)[i]) both[i] = std::nullopt;
  }
  return both;
}

// A stack gives what was put there, and nothing else: there are no gaps in it, unlike in an array.
bool gives_element(const Node& n) { return n.inputs.size() == 1 && n.output_dtypes.size() == 1 && n.op->step_state; }

class Walk {
 public:
  Walk(const Graph& graph, const OutputIndex& index, const std::vector<NodeId>& order,
       const std::map<NodeId, PartialShape>& given, std::int64_t batch)
      : graph_(graph), index_(index), order_(order), given_(given) {
    out_.batch = batch;
  }

  Result<InferredShapes> run() {
    do {
      out_.shapes.assign(index_.size(), PartialShape::unknown());
      out_.ints.assign(index_.size(), std::nullopt);
      out_.handles.clear();
      made_by_.clear();
      stored_.clear();
      seen_.assign(static_cast<std::size_t>(graph_.size()), 0);
      for (const NodeId id : order_) {
        Status done = infer(id);
        if (!done.ok()) return std::move(done).with_where(str_cat("node '", graph_.node(id).name, "'"));
        seen_[static_cast<std::size_t>(id.index)] = 1;
      }
    } while (learn_stored() || learn_carried());
    return std::move(out_);
  }

 private:
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
        shape({id, 0}) = first ? shape(e) : common(shape({id, 0}), shape(e));
        first = false;
      }
    }
    if (n.output_dtypes.size() > 1) shape({id, 1}) = PartialShape::scalar();
    if (!is_handle(n.output_dtypes[0]) || n.inputs.empty()) return;
    if (const auto known = out_.handles.find(n.inputs[0]); known != out_.handles.end()) {
      out_.handles.emplace(Endpoint{id, 0}, known->second);
      follow(id, {id, 0});
    }
  }

  // The container behind a handle is the one behind the handle that it is made of.
  void follow(NodeId id, Endpoint handle) {
    const auto& inputs = graph_.node(id).inputs;
    const auto from = inputs.empty() ? made_by_.end() : made_by_.find(inputs[0]);
    made_by_[handle] = from != made_by_.end() ? from->second : handle;
  }

  // Elements of a container have the sizes and integers that all have which are put in.
  void store(NodeId id) {
    const Node& n = graph_.node(id);
    auto [known, fresh] = stores_.try_emplace(n.op);
    if (fresh) known->second = stored_element(*n.op);
    if (!known->second) return;
    const auto container = made_by_.find(n.inputs[0]);
    const PartialShape& value = shape(n.inputs[static_cast<std::size_t>(known->second->input)]);
    const int leading = known->second->leading;
    if (container == made_by_.end() || value.rank() < leading) return;
    Elements element{PartialShape(PartialShape::Sizes(value.sizes().begin() + leading, value.sizes().end())), {}};
    if (leading == 0) element.ints = out_.ints[index_(n.inputs[static_cast<std::size_t>(known->second->input)])];
    const auto [at, first] = stored_.try_emplace(container->second, element);
    if (!first) at->second = {common(at->second.shape, element.shape), common(at->second.ints, element.ints)};
  }

  // True if containers hold other shapes than they were taken to. After some rounds they hold what is not known.
  bool learn_stored() {
    if (stored_ == contents_ || rounds_ > kMostRounds) return false;
    contents_ = ++rounds_ > kMostRounds ? std::map<Endpoint, Elements>() : stored_;
    return true;
  }

  // As Graph::infer() does it, on arrays of this walk.
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
      if (same) follow(id, handle);
      made_by_.try_emplace(handle, handle);  // an array of gradients is none of its source's
      if (const auto held = contents_.find(handle); held != contents_.end()) {
        if (auto both = fact.shape.merge(held->second.shape); both.ok()) fact.shape = *std::move(both);
      }
      out_.handles[handle] = std::move(fact);
    }
    store(id);
    for (std::size_t k = 0; n.op->known_ints != nullptr && k < outputs; ++k) {
      if (n.output_dtypes[k] != DType::kInt32 && n.output_dtypes[k] != DType::kInt64) continue;
      auto known = n.op->known_ints(c, static_cast<int>(k));
      if (known && known->size() <= kMaxKnownInts) {
        out_.ints[index_({id, static_cast<std::int32_t>(k)})] = *std::move(known);
      }
    }
    for (std::size_t k = 0; k < outputs; ++k) shape({id, static_cast<std::int32_t>(k)}) = std::move(found[k]);
    if (gives_element(n)) take(id);
    return ok_status();
  }

  void take(NodeId id) {
    const auto container = made_by_.find(graph_.node(id).inputs[0]);
    if (container == made_by_.end()) return;
    if (const auto held = contents_.find(container->second); held != contents_.end()) {
      out_.ints[index_({id, 0})] = held->second.ints;
    }
  }

  // Sizes that change on the way round a loop become unknown. True if there are new ones.
  bool learn_carried() {
    bool learned = false;
    for (const NodeId id : order_) {
      const Node& n = graph_.node(id);
      if (n.op->flow != Flow::kMerge) continue;
      for (const Endpoint e : n.inputs) {
        if (!graph_.node(e.node).op->closes_loop) continue;
        PartialShape both = common(shape({id, 0}), shape(e));
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
  std::map<Endpoint, Endpoint> made_by_;                                   // by handle: that of the container's maker
  std::map<Endpoint, Elements> contents_, stored_;                         // by container: last round, this one
  std::unordered_map<const OpDef*, std::optional<StoredElement>> stores_;  // by op
  int rounds_ = 0;
  std::vector<char> seen_;
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
