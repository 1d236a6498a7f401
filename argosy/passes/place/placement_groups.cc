#include "argosy/passes/place/placement_groups.h"

#include <algorithm>
#include <numeric>

#include "argosy/graph/makes_handle.h"

namespace argosy {

namespace {

bool may_be_resource(const OpDef& op, const ArgDef& arg) {
  if (arg.dtype != DType::kInvalid) return arg.dtype == DType::kResource;
  const AttrDef* const type = op.attr(arg.type_list_attr.empty() ? arg.type_attr : arg.type_list_attr);
  return type == nullptr || type->types.empty() ||
         std::find(type->types.begin(), type->types.end(), DType::kResource) != type->types.end();
}

}  // namespace

DeviceRequests::DeviceRequests(int n) : parent_(n), request_of_(n, 0), resource_request_of_(n, 0), requests_(1) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

std::int32_t DeviceRequests::add_request(DeviceName request) {
  requests_.push_back(std::move(request));
  return static_cast<std::int32_t>(requests_.size() - 1);
}

Status DeviceRequests::merge(int a, int b, bool soft) {
  a = find(a);
  b = find(b);
  if (a == b) return ok_status();
  if (request_of_[a] != request_of_[b]) {
    auto merged = requests_[request_of_[a]].merged_with(requests_[request_of_[b]]);
    if (!merged.ok() && !soft) return merged.status();
    if (merged.ok()) {
      const bool second = *merged == requests_[request_of_[b]];
      if (!(*merged == requests_[request_of_[a]]))
        request_of_[a] = second ? request_of_[b] : add_request(*std::move(merged));
    } else if (resource_request_of_[a] == 0 && resource_request_of_[b] != 0) {
      request_of_[a] = request_of_[b];
    }
  }
  if (resource_request_of_[a] == 0) {
    resource_request_of_[a] = resource_request_of_[b];
  } else if (resource_request_of_[b] != 0 && resource_request_of_[b] != resource_request_of_[a]) {
    auto both = requests_[resource_request_of_[a]].merged_with(requests_[resource_request_of_[b]]);
    if (both.ok()) resource_request_of_[a] = add_request(*std::move(both));
  }
  parent_[b] = a;
  return ok_status();
}

std::string DeviceRequests::incompatible_resources(int a, int b) {
  const std::int32_t of_a = resource_request_of_[find(a)];
  const std::int32_t of_b = resource_request_of_[find(b)];
  if (of_a == of_b || of_a == 0 || of_b == 0 || requests_[of_a].merged_with(requests_[of_b]).ok()) return "";
  return str_cat(requests_[of_a].to_string(), " vs ", requests_[of_b].to_string());
}

const OpTraits& OpTraitsTable::of(const OpDef& op) {
  if (&op == last_op_) return *last_traits_;
  const auto [known, fresh] = traits_.try_emplace(&op);
  if (fresh) {
    OpTraits& traits = known->second;
    traits.takes_refs = op.has_ref_input();
    traits.may_take_handles = std::any_of(op.input_args.begin(), op.input_args.end(),
                                          [&](const ArgDef& a) { return a.is_ref || may_be_resource(op, a); });
    for (const DeviceSpec& d : options_.devices) {
      traits.has_kernel.push_back(options_.has_kernel(op, d) ? 1 : 0);
      traits.may_go.push_back(traits.has_kernel.back() != 0 && !(op.cpu_only && d.is_gpu()) ? 1 : 0);
    }
  }
  last_op_ = &op;
  last_traits_ = &known->second;
  return known->second;
}

PlacementGroups::PlacementGroups(const Graph& graph, const PlaceOptions& options)
    : graph_(graph), options_(options), requests_(graph.size()), traits_(options) {}

Status PlacementGroups::read() {
  ARGOSY_RETURN_IF_ERROR(read_requests());
  // Where there is one place to go and nobody asks for another, nodes are together without being told.
  const bool choice = options_.devices.size() > 1 || graph_.asks_for_devices();
  if (choice) ARGOSY_RETURN_IF_ERROR(join());
  find_candidates();
  if (choice) find_homes();
  return ok_status();
}

std::span<const char> PlacementGroups::candidates(int root) const {
  const std::size_t devices = options_.devices.size();
  return std::span(capable_).subspan(static_cast<std::size_t>(root) * devices, devices);
}

const std::string* PlacementGroups::refusal(int root) const {
  const auto refused = refused_.find(root);
  return refused == refused_.end() ? nullptr : &refused->second;
}

Status PlacementGroups::read_requests() {
  for (const DeviceSpec& d : options_.devices) names_.push_back(d.name.to_string());
  traits_of_.reserve(static_cast<std::size_t>(graph_.size()));
  std::unordered_map<std::string_view, std::int32_t> parsed;
  for (int i = 0; i < graph_.size(); ++i) {
    const Node& n = graph_.nodes()[i];
    traits_of_.push_back(&traits_.of(*n.op));
    if (n.op->stateful && n.inputs.empty()) sources_.push_back(NodeId{i});
    if (n.device.empty()) continue;
    auto [entry, fresh] = parsed.try_emplace(n.device);
    if (fresh) {
      DeviceName outer;
      for (const std::string& part : str_split(n.device, ';')) {
        auto inner = DeviceName::parse(part);
        if (!inner.ok()) return std::move(inner).status().with_where(str_cat("node '", n.name, "'"));
        outer = inner->filled_from(outer);
      }
      entry->second = requests_.add_request(outer);
    }
    requests_.set_request(i, entry->second);
    if (makes_handle(n)) requests_.set_resource_request(i, entry->second);
  }
  return ok_status();
}

// A reference decides for its users, whatever they asked for. One node cannot be where two resources are; a function's
// body can.
Status PlacementGroups::join_with_resource(NodeId from, NodeId to) {
  const Node& n = graph_.node(to);
  if (n.op->calls == Calls::kNothing) {
    const std::string devices = requests_.incompatible_resources(from.index, to.index);
    if (!devices.empty()) {
      return invalid_argument(
                 "Cannot place the graph because a reference or resource edge connects colocation groups with "
                 "incompatible resource devices: ",
                 devices, ". The edge src node is name='", graph_.node(from).name, "' (op='",
                 graph_.node(from).op->name, "'), and the dst node is name='", n.name, "' (op='", n.op->name, "').")
          .with_id("ARG-PLACE-002")
          .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
          .with_hint("read each variable on its own device and choose between the values");
    }
  }
  return requests_.merge(from.index, to.index, true);
}

Status PlacementGroups::join() {
  std::unordered_map<std::string, int> leaders;
  for (int i = 0; i < graph_.size(); ++i) {
    const Node& n = graph_.nodes()[i];
    std::vector<bool> refs;
    const OpTraits& traits = *traits_of_[static_cast<std::size_t>(i)];
    if (traits.takes_refs) {
      ARGOSY_ASSIGN_OR_RETURN(const auto dtypes, arg_dtypes(n.op->input_args, n.attrs, &refs));
    }
    // Only some ops can have a handle among their inputs.
    const std::size_t inputs = traits.may_take_handles ? n.inputs.size() : 0;
    for (std::size_t k = 0; k < inputs; ++k) {
      const Endpoint from = n.inputs[k];
      const bool handle = (k < refs.size() && refs[k]) || graph_.dtype(from) == DType::kResource;
      if (handle) ARGOSY_RETURN_IF_ERROR(join_with_resource(from.node, NodeId{i}));
    }
    for (const std::string_view name : n.colocation()) {
      const auto leader = graph_.find_colocated(n, name);
      if (leader && stays_apart(i, *leader)) continue;
      int with = leader ? leader->index : leaders.try_emplace(std::string(name), i).first->second;
      Status joined = requests_.merge(with, i, options_.allow_soft_placement);
      if (!joined.ok()) return cannot_place(n, str_cat("it is colocated with '", name, "': ", joined.message()));
    }
  }
  return ok_status();
}

// The request, or the task of it where no device meets it: soft placement gives up a device, never the task.
DeviceName PlacementGroups::request_met(DeviceName request) const {
  const bool is_met =
      std::ranges::any_of(options_.devices, [&](const DeviceSpec& spec) { return request.matches(spec.name); });
  if (is_met) return request;
  request.type.clear();
  request.id.reset();
  return request;
}

// The device of the existing resource that the node's handle names; -1: none exists yet, or the node makes no handle.
// The node's own request counts: in a loop of references another node's may have become the group's.
int PlacementGroups::home_named_by(NodeId id) const {
  const Node& n = graph_.node(id);
  if (!options_.home || !makes_handle(n)) return -1;
  return options_.home(n, request_met(asked_device(n.device)));
}

// A node colocated with a variable that lives on a device with no kernel for it, and which does not take the variable
// itself: it goes alone, for the variable cannot come along.
bool PlacementGroups::stays_apart(int i, NodeId leader) const {
  if (!options_.allow_soft_placement || leader.index == i) return false;
  const int home = home_named_by(leader);
  if (home < 0) return false;
  const Node& n = graph_.nodes()[i];
  const bool touches = std::any_of(n.inputs.begin(), n.inputs.end(), [&](const Endpoint e) {
    return graph_.dtype(e) == DType::kResource || graph_.node(e.node).output_is_ref(e.index);
  });
  if (touches) return false;
  const auto d = static_cast<std::size_t>(home);
  if (traits_of_[static_cast<std::size_t>(i)]->has_kernel[d] == 0) return true;
  return options_.refuses && !options_.refuses(n, options_.devices[d]).empty();
}

// Per group: which devices have kernels for all of it.
void PlacementGroups::find_candidates() {
  const std::size_t devices = options_.devices.size();
  capable_.assign(static_cast<std::size_t>(graph_.size()) * devices, 1);
  for (int i = 0; i < graph_.size(); ++i) {
    const std::vector<char>& may_go = traits_of_[static_cast<std::size_t>(i)]->may_go;
    char* const group = &capable_[static_cast<std::size_t>(requests_.find(i)) * devices];
    for (std::size_t d = 0; d < devices; ++d) {
      group[d] &= may_go[d];
      if (!group[d] || !options_.refuses) continue;
      std::string why = options_.refuses(graph_.nodes()[i], options_.devices[d]);
      if (why.empty()) continue;
      group[d] = 0;
      refused_.try_emplace(requests_.find(i), std::move(why));
    }
  }
}

// Per group: the device of what its handles name, if it can go there at all.
void PlacementGroups::find_homes() {
  if (!options_.home) return;
  for (const NodeId id : sources_) {
    const int home = home_named_by(id);
    if (home < 0) continue;
    const int root = requests_.find(id.index);
    const DeviceName& request = requests_.request(root);
    const bool may = options_.allow_soft_placement || request.matches(options_.devices[home].name);
    if (!may) continue;
    if (homes_.empty()) homes_.assign(static_cast<std::size_t>(graph_.size()), -1);
    if (homes_[static_cast<std::size_t>(root)] < 0) homes_[static_cast<std::size_t>(root)] = home;
  }
  // A user that TensorFlow has on CPUs only goes along where there is a kernel for it after all.
  for (int i = 0; i < graph_.size() && !homes_.empty(); ++i) {
    int& home = homes_[static_cast<std::size_t>(requests_.find(i))];
    if (home < 0) continue;
    if (traits_of_[static_cast<std::size_t>(i)]->has_kernel[static_cast<std::size_t>(home)] == 0) home = -1;
  }
}

Status cannot_place(const Node& n, const std::string& why, const std::string& hint) {
  return invalid_argument("Cannot assign a device for operation ", n.name, " (", n.op->name, ", asked for '", n.device,
                          "'): ", why)
      .with_id("ARG-PLACE-001")
      .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
      .with_hint(hint.empty() ? std::string("allow soft placement, or name a device that has a kernel for it") : hint);
}

}  // namespace argosy
