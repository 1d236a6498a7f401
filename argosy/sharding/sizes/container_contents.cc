#include "argosy/sharding/sizes/container_contents.h"

#include <algorithm>

namespace argosy {

namespace {

constexpr int kMostRounds = 8;

// Returns the output that is an element taken from a stack or a growing list; -1: none. Arrays do not count, since
// elements may be missing in them.
int element_given(const Node& n) {
  if (n.inputs.size() == 1 && n.output_dtypes.size() == 1 && n.op->step_state) return 0;
  const bool list = n.output_dtypes.size() == 2 && n.output_dtypes[0] == DType::kVariant && !n.op->stateful &&
                    n.op->input_args[0].dtype == DType::kVariant;
  return list ? 1 : -1;
}

// True if the node makes a list with a given number of elements, which are zeros until they are set.
bool leaves_gaps(const Node& n) {
  return std::any_of(n.op->input_args.begin(), n.op->input_args.end(),
                     [](const ArgDef& arg) { return arg.name == "num_elements" || arg.name == "size"; });
}

// Returns the integers that are equal in both; the others are unknown.
std::optional<PartialInts> common_ints(const std::optional<PartialInts>& a, const std::optional<PartialInts>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  PartialInts both = *a;
  for (std::size_t i = 0; i < both.size(); ++i) {
    if (both[i] != (*b)[i]) both[i] = std::nullopt;
  }
  return both;
}

}  // namespace

PartialShape common_sizes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return PartialShape::unknown();
  PartialShape::Sizes sizes = a.sizes();
  for (int i = 0; i < a.rank(); ++i) {
    if (a[i] != b[i]) sizes[static_cast<std::size_t>(i)] = PartialShape::kUnknown;
  }
  return PartialShape(std::move(sizes));
}

ContainerContents::Elements ContainerContents::common(const Elements& a, const Elements& b) {
  return {common_sizes(a.shape, b.shape), common_ints(a.ints, b.ints)};
}

void ContainerContents::begin() {
  made_by_.clear();
  stored_.clear();
}

void ContainerContents::add(NodeId id, Endpoint handle, bool same, PartialShape& elements) {
  const Node& n = graph_.node(id);
  const bool list = graph_.dtype(handle) == DType::kVariant;
  const bool goes_on = list && !n.inputs.empty() && made_by_.contains(n.inputs[0]);
  if (same || goes_on) follow(id, handle);
  made_by_.try_emplace(handle, handle);  // an array of gradients is none of its source's
  if (list && leaves_gaps(n)) gaps_.insert(made_by_[handle]);
  if (list && !goes_on && is_filled(*n.op)) put(handle, {elements, {}});
  if (const auto held = contents_.find(handle); held != contents_.end()) {
    if (auto both = elements.merge(held->second.shape); both.ok()) elements = *std::move(both);
  }
}

void ContainerContents::follow(NodeId id, Endpoint handle) {
  const auto& inputs = graph_.node(id).inputs;
  const auto from = inputs.empty() ? made_by_.end() : made_by_.find(inputs[0]);
  made_by_[handle] = from != made_by_.end() ? from->second : handle;
}

void ContainerContents::store(NodeId id, const InferredShapes& known) {
  const Node& n = graph_.node(id);
  auto [stores, fresh] = stores_.try_emplace(n.op);
  if (fresh) stores->second = stored_element(*n.op);
  if (!stores->second) return;
  const auto container = made_by_.find(n.inputs[0]);
  const Endpoint given = n.inputs[static_cast<std::size_t>(stores->second->input)];
  const PartialShape& value = known.shapes[index_(given)];
  const int leading = stores->second->leading;
  if (container == made_by_.end() || value.rank() < leading) return;
  Elements element{PartialShape(PartialShape::Sizes(value.sizes().begin() + leading, value.sizes().end())), {}};
  if (leading == 0) element.ints = known.ints[index_(given)];
  put(container->second, element);
}

void ContainerContents::take(NodeId id, InferredShapes& known) const {
  const Node& n = graph_.node(id);
  const int output = element_given(n);
  const auto container = output < 0 ? made_by_.end() : made_by_.find(n.inputs[0]);
  if (container == made_by_.end() || gaps_.contains(container->second)) return;
  const auto held = contents_.find(container->second);
  if (held != contents_.end()) known.ints[index_({id, output})] = held->second.ints;
}

// Lists of several makers that are inputs of one node are one container: each gets the common elements.
void ContainerContents::unite() {
  std::vector<std::pair<Endpoint, Endpoint>> meet;
  for (const Node& n : graph_.nodes()) {
    const Endpoint* first = nullptr;
    for (const Endpoint e : n.inputs) {
      const auto made = made_by_.find(e);
      if (made == made_by_.end()) continue;
      if (first != nullptr && *first != made->second) meet.emplace_back(*first, made->second);
      first = &made->second;
    }
  }
  for (bool again = !meet.empty(); again;) {
    again = false;
    for (const auto& [a, b] : meet) {
      const auto one = stored_.find(a), other = stored_.find(b);
      if (one == stored_.end() && other == stored_.end()) continue;
      const Elements both = one == stored_.end()     ? other->second
                            : other == stored_.end() ? one->second
                                                     : common(one->second, other->second);
      for (const Endpoint e : {a, b}) {
        const auto [at, fresh] = stored_.try_emplace(e, both);
        again = again || fresh || at->second != both;
        at->second = both;
      }
    }
  }
  for (std::size_t round = 0; round < meet.size(); ++round) {
    const std::size_t before = gaps_.size();
    for (const auto& [a, b] : meet) {
      if (gaps_.contains(a) || gaps_.contains(b)) gaps_.insert({a, b});
    }
    if (gaps_.size() == before) break;
  }
}

bool ContainerContents::learn() {
  unite();
  if (stored_ == contents_ || rounds_ > kMostRounds) return false;
  contents_ = ++rounds_ > kMostRounds ? std::map<Endpoint, Elements>() : stored_;
  return true;
}

// True if the op makes lists that already hold elements, by its sharding rule.
bool ContainerContents::is_filled(const OpDef& op) {
  const auto [known, fresh] = filled_.try_emplace(&op, false);
  if (fresh) known->second = !op.sharding.empty() && !op.sharding.starts_with("whole");
  return known->second;
}

void ContainerContents::put(Endpoint container, const Elements& element) {
  const auto [at, first] = stored_.try_emplace(container, element);
  if (!first) at->second = common(at->second, element);
}

}  // namespace argosy
