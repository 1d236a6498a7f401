#include "argosy/passes/place/place.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>

#include "argosy/passes/place/colocate_gradients.h"

namespace argosy {

namespace {

// How many of the reasons given so far a new one is looked for among.
constexpr std::size_t kRecentReasons = 16;

// Groups of nodes that must share a device: union-find, each root carrying the group's merged request.
class Groups {
 public:
  explicit Groups(int n) : parent_(n), asked_(n, 0), requests_(1) { std::iota(parent_.begin(), parent_.end(), 0); }

  int find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  const DeviceName& request(int i) { return requests_[asked_[find(i)]]; }
  // A request to give to nodes: the same number for the same one.
  std::int32_t add_request(DeviceName request) {
    requests_.push_back(std::move(request));
    return static_cast<std::int32_t>(requests_.size() - 1);
  }
  void ask(int i, std::int32_t request) { asked_[find(i)] = request; }

  // The first group's request wins where the two disagree and `soft` allows it.
  Status merge(int a, int b, bool soft) {
    a = find(a);
    b = find(b);
    if (a == b) return ok_status();
    if (asked_[a] != asked_[b]) {
      auto merged = requests_[asked_[a]].merged_with(requests_[asked_[b]]);
      if (!merged.ok() && !soft) return merged.status();
      if (merged.ok()) {
        const bool second = *merged == requests_[asked_[b]];
        if (!(*merged == requests_[asked_[a]])) asked_[a] = second ? asked_[b] : add_request(*std::move(merged));
      }
    }
    parent_[b] = a;
    return ok_status();
  }

 private:
  std::vector<int> parent_;
  std::vector<std::int32_t> asked_;   // by root of a group: its request
  std::vector<DeviceName> requests_;  // 0: the open one
};

class Placer {
 public:
  Placer(const Graph& graph, const PlaceOptions& options) : graph_(graph), options_(options), groups_(graph.size()) {}

  Result<Placement> run() {
    ARGOSY_RETURN_IF_ERROR(read_requests());
    // Where there is one place to go and nobody asks for another, nodes are together without being told.
    const bool choice = options_.devices.size() > 1 || graph_.asks_for_devices();
    if (choice) ARGOSY_RETURN_IF_ERROR(join_groups());
    find_candidates();
    if (choice) find_homes();
    placement_.device.assign(graph_.size(), -1);
    placement_.reason.assign(graph_.size(), reason(""));
    lives_there_ = reason("lives there already");
    users_device_.assign(static_cast<std::size_t>(graph_.size()), kNoGenerator);
    ARGOSY_ASSIGN_OR_RETURN(const auto order, graph_.topological_order());
    std::vector<NodeId> generators;
    for (const NodeId id : order) {
      if (is_generator(id)) {
        generators.push_back(id);
        users_device_[static_cast<std::size_t>(id.index)] = kNoUser;
      } else {
        ARGOSY_RETURN_IF_ERROR(assign(id));
      }
      note_use_of_generators(id);
    }
    for (const NodeId id : generators) ARGOSY_RETURN_IF_ERROR(assign_generator(id));
    placement_.device_name = names_;
    return std::move(placement_);
  }

 private:
  Status read_requests() {
    for (const DeviceSpec& d : options_.devices) names_.push_back(d.name.to_string());
    traits_of_.reserve(static_cast<std::size_t>(graph_.size()));
    std::unordered_map<std::string_view, std::int32_t> parsed;
    for (int i = 0; i < graph_.size(); ++i) {
      const Node& n = graph_.nodes()[i];
      traits_of_.push_back(&traits_of(*n.op));
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
        entry->second = groups_.add_request(outer);
      }
      groups_.ask(i, entry->second);
    }
    return ok_status();
  }

  Status join_groups() {
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
        // A reference decides for its users, whatever they asked for.
        if (handle) ARGOSY_RETURN_IF_ERROR(groups_.merge(from.node.index, i, true));
      }
      for (const std::string_view name : n.colocation()) {
        const auto leader = graph_.find_colocated(n, name);
        if (leader && stays_apart(i, *leader)) continue;
        int with = leader ? leader->index : leaders.try_emplace(std::string(name), i).first->second;
        Status joined = groups_.merge(with, i, options_.allow_soft_placement);
        if (!joined.ok())
          return cannot_assign(NodeId{i}, str_cat("it is colocated with '", name, "': ", joined.message()));
      }
    }
    return ok_status();
  }

  // Where what a handle names lives already; -1: nowhere yet, or no node of a handle.
  int home_named_by(NodeId id) const {
    const Node& n = graph_.node(id);
    const bool handle = options_.home && n.op->stateful && n.inputs.empty() && n.output_dtypes.size() == 1 &&
                        (n.output_is_ref(0) || n.output_dtypes[0] == DType::kResource);
    return handle ? options_.home(n) : -1;
  }
  // A node colocated with a variable that lives on a device with no kernel for it, and which does not take the variable itself:
  // it goes alone, for the variable cannot come along.
  bool stays_apart(int i, NodeId leader) const {
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

  static bool may_be_resource(const OpDef& op, const ArgDef& arg) {
    if (arg.dtype != DType::kInvalid) return arg.dtype == DType::kResource;
    const AttrDef* const type = op.attr(arg.type_list_attr.empty() ? arg.type_attr : arg.type_list_attr);
    return type == nullptr || type->types.empty() ||
           std::find(type->types.begin(), type->types.end(), DType::kResource) != type->types.end();
  }

  // Of an op, asked for once.
  struct OpTraits {
    bool takes_refs = false;
    bool may_take_handles = false;  // references or resources
    std::vector<char> has_kernel;   // by device
    std::vector<char> may_go;       // by device: has one, and is not TensorFlow's for CPUs only
  };
  const OpTraits& traits_of(const OpDef& op) {
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

  // Per group: which devices have kernels for all of it.
  void find_candidates() {
    const std::size_t devices = options_.devices.size();
    capable_.assign(static_cast<std::size_t>(graph_.size()) * devices, 1);
    for (int i = 0; i < graph_.size(); ++i) {
      const std::vector<char>& may_go = traits_of_[static_cast<std::size_t>(i)]->may_go;
      char* const group = &capable_[static_cast<std::size_t>(groups_.find(i)) * devices];
      for (std::size_t d = 0; d < devices; ++d) {
        group[d] &= may_go[d];
        if (!group[d] || !options_.refuses) continue;
        std::string why = options_.refuses(graph_.nodes()[i], options_.devices[d]);
        if (why.empty()) continue;
        group[d] = 0;
        refused_.try_emplace(groups_.find(i), std::move(why));
      }
    }
  }

  // Per group: the device of what its handles name, if it can go there at all.
  void find_homes() {
    if (!options_.home) return;
    for (const NodeId id : sources_) {
      const int home = home_named_by(id);
      if (home < 0) continue;
      const int root = groups_.find(id.index);
      const DeviceName& request = groups_.request(root);
      const bool may = options_.allow_soft_placement || request.matches(options_.devices[home].name);
      if (!may) continue;
      if (homes_.empty()) homes_.assign(static_cast<std::size_t>(graph_.size()), -1);
      if (homes_[static_cast<std::size_t>(root)] < 0) homes_[static_cast<std::size_t>(root)] = home;
    }
    // A user that TensorFlow has on CPUs only goes along where there is a kernel for it after all.
    for (int i = 0; i < graph_.size() && !homes_.empty(); ++i) {
      int& home = homes_[static_cast<std::size_t>(groups_.find(i))];
      if (home < 0) continue;
      if (traits_of_[static_cast<std::size_t>(i)]->has_kernel[static_cast<std::size_t>(home)] == 0) home = -1;
    }
  }
  int home_of(int root) const { return homes_.empty() ? -1 : homes_[static_cast<std::size_t>(root)]; }

  // The best device that matches, or -1: GPUs first, each kind in its own order.
  int best(const DeviceName& request, std::span<const char> capable) const {
    int found = -1;
    for (std::size_t d = 0; d < options_.devices.size(); ++d) {
      const DeviceSpec& spec = options_.devices[d];
      if (!capable[d] || !request.matches(spec.name)) continue;
      if (found < 0 || (spec.is_gpu() && !options_.devices[found].is_gpu())) found = static_cast<int>(d);
    }
    return found;
  }

  bool is_generator(NodeId id) {
    const Node& n = graph_.node(id);
    return n.inputs.empty() && n.output_dtypes.size() == 1 && !n.op->stateful && !n.output_is_ref(0) &&
           n.output_dtypes[0] != DType::kResource && n.device.empty() && n.colocated_with.empty();
  }

  Status assign(NodeId id) {
    const int root = groups_.find(id.index);
    const Node& n = graph_.node(id);
    if (placement_.device[root] >= 0) {
      const bool none = placement_.reasons[static_cast<std::size_t>(placement_.reason[root])].empty();
      return put(id, placement_.device[root], none ? reason("colocated") : placement_.reason[root]);
    }
    if (const int home = home_of(root); home >= 0) return put(id, home, lives_there_);
    const DeviceName& request = groups_.request(root);
    const std::span<const char> capable = capable_of(root);
    // What only looks at a shape stays where the tensor is; feeds are on the host.
    if (request.is_open() && n.inputs.size() == 1 && n.op->host_outputs.size() == n.op->output_args.size() &&
        !n.op->host_outputs.empty() && root == id.index) {
      const int with = placement_.device[n.inputs[0].node.index];
      if (with >= 0 && capable[with]) return put(id, with, "looks at its input's shape");
    }
    if (n.op->name == "_Arg" && request.is_open()) return put(id, 0, "fed from the host");
    const bool follows = !request.is_open() && n.attrs.find(kFollowsForward) != nullptr;
    int device = best(request, capable);
    if (device >= 0) {
      const bool other = request.is_open() && !options_.devices[device].is_gpu() && has_gpu();
      const char* const asked = follows ? "with its forward op" : "asked";
      return put(id, device, !request.is_open() ? asked : other ? no_gpu_kernel(id) : "default");
    }
    if (options_.allow_soft_placement || follows || n.op->in_host_memory || lacks_ours_alone(n, request)) {
      DeviceName softer = request;
      softer.type.clear();
      softer.id.reset();
      device = best(softer, capable);
      if (device >= 0) {
        // A CPU, as in TensorFlow, when the one asked for cannot do it.
        for (std::size_t d = 0; d < options_.devices.size(); ++d) {
          if (capable[d] && !options_.devices[d].is_gpu() && softer.matches(options_.devices[d].name)) {
            device = static_cast<int>(d);
            break;
          }
        }
        if (!is_here(request)) note_missing(request, device);
        return put(id, device, str_cat("moved from ", request.to_string(), ": ", why_not(request, id)));
      }
    }
    return cannot_assign(id, why_not(request, id), is_here(request) ? "" : how_to_have(request));
  }

  // Asked for a GPU that there is, TensorFlow would run the op there: it moves with a reason instead of an error that
  // TensorFlow does not give.
  bool lacks_ours_alone(const Node& n, const DeviceName& request) const {
    return !n.op->cpu_only && std::any_of(options_.devices.begin(), options_.devices.end(),
                                          [&](const DeviceSpec& d) { return d.is_gpu() && request.matches(d.name); });
  }

  // Generators come before their users, and are placed after them.
  void note_use_of_generators(NodeId user) {
    const int device = placement_.device[user.index] < 0 ? kSeveral : placement_.device[user.index];
    const auto note = [&](NodeId from) {
      int& known = users_device_[static_cast<std::size_t>(from.index)];
      if (known == kNoUser) known = device;
      if (known != kNoGenerator && known != device) known = kSeveral;
    };
    for (const Endpoint e : graph_.node(user).inputs) note(e.node);
    for (const NodeId c : graph_.node(user).controls) note(c);
  }

  Status assign_generator(NodeId id) {
    const int device = users_device_[static_cast<std::size_t>(id.index)];
    if (device >= 0 && capable_of(groups_.find(id.index))[device]) return put(id, device, "with its consumer");
    return assign(id);
  }

  Status put(NodeId id, int device, std::string_view why) { return put(id, device, reason(why)); }
  Status put(NodeId id, int device, std::int32_t why) {
    const int root = groups_.find(id.index);
    placement_.device[id.index] = device;
    placement_.reason[id.index] = why;
    if (placement_.device[root] < 0) {
      placement_.device[root] = device;
      placement_.reason[root] = why;
    }
    return ok_status();
  }

  std::int32_t reason(std::string_view why) {
    for (std::size_t r = placement_.reasons.size(); r-- > 0;) {
      if (placement_.reasons[r] == why) return static_cast<std::int32_t>(r);
      if (placement_.reasons.size() - r > kRecentReasons) break;
    }
    placement_.reasons.emplace_back(why);
    return static_cast<std::int32_t>(placement_.reasons.size() - 1);
  }

  std::span<const char> capable_of(int root) const {
    const std::size_t devices = options_.devices.size();
    return std::span(capable_).subspan(static_cast<std::size_t>(root) * devices, devices);
  }

  bool has_gpu() const {
    return std::any_of(options_.devices.begin(), options_.devices.end(),
                       [](const DeviceSpec& d) { return d.is_gpu(); });
  }

  std::string no_gpu_kernel(NodeId id) {
    const auto refused = refused_.find(groups_.find(id.index));
    return refused == refused_.end() ? "no GPU kernel" : refused->second;
  }

  bool is_here(const DeviceName& request) const {
    return std::any_of(options_.devices.begin(), options_.devices.end(),
                       [&](const DeviceSpec& d) { return request.matches(d.name); });
  }

  // For a device that is not there: what makes it be.
  static std::string how_to_have(const DeviceName& request) {
    if (request.type != "GPU") return "name a device that is there: argosy devices lists them";
    return str_cat("emulated GPUs: DeviceRequest.emulate = \"", request.id.value_or(0) + 1,
                   "\" in C++, ARGOSY_EMULATE=", request.id.value_or(0) + 1, " or --emulate ",
                   request.id.value_or(0) + 1, " on the command line");
  }

  void note_missing(const DeviceName& request, int device) {
    std::string text = str_cat(
        "there is no ", request.short_string(), " here (there are ", str_join(names_), "): what asks for it runs on ",
        options_.devices[static_cast<std::size_t>(device)].name.short_string(), "; ", how_to_have(request));
    auto& told = placement_.missing_devices;
    if (std::find(told.begin(), told.end(), text) == told.end()) told.push_back(std::move(text));
  }

  std::string why_not(const DeviceName& request, NodeId id) {
    for (const DeviceSpec& d : options_.devices) {
      if (!request.matches(d.name)) continue;
      const auto refused = refused_.find(groups_.find(id.index));
      if (refused != refused_.end()) return refused->second;
      return str_cat("op ", graph_.node(id).op->name, " has no kernel there");
    }
    return str_cat("there is no such device; there are ", str_join(names_));
  }

  Status cannot_assign(NodeId id, const std::string& why, const std::string& next = "") const {
    const Node& n = graph_.node(id);
    return invalid_argument("Cannot assign a device for operation ", n.name, " (", n.op->name, ", asked for '",
                            n.device, "'): ", why)
        .with_id("ARG-PLACE-001")
        .with_where(str_cat("node '", n.name, "' (", n.op->name, ")"))
        .with_hint(next.empty() ? std::string("allow soft placement, or name a device that has a kernel for it")
                                : next);
  }

  const Graph& graph_;
  const PlaceOptions& options_;
  Groups groups_;
  std::vector<std::string> names_;
  std::vector<char> capable_;  // by root of a group, then by device
  std::unordered_map<const OpDef*, OpTraits> traits_;
  std::vector<const OpTraits*> traits_of_;  // by node
  std::vector<NodeId> sources_;             // stateful nodes without inputs: handles are among them
  std::int32_t lives_there_ = 0;
  const OpDef* last_op_ = nullptr;
  const OpTraits* last_traits_ = nullptr;
  std::unordered_map<int, std::string> refused_;  // by root of a group: the first kernel's reason
  std::vector<int> homes_;                        // by root of a group, -1: none; empty when none has one
  // By node: of a generator, the device of all its users met so far.
  enum : int { kNoGenerator = -3, kSeveral = -2, kNoUser = -1 };
  std::vector<int> users_device_;
  Placement placement_;
};

}  // namespace

Result<Placement> place(const Graph& graph, const PlaceOptions& options) { return Placer(graph, options).run(); }

}  // namespace argosy
