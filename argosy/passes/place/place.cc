#include "argosy/passes/place/place.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "argosy/op/definition/opcode.h"
#include "argosy/passes/place/colocate_gradients.h"
#include "argosy/passes/place/placement_groups.h"

namespace argosy {

namespace {

// How many of the reasons given so far a new one is looked for among.
constexpr std::size_t kRecentReasons = 16;

// Gives each node a device and a reason, in topological order.
class Placer {
 public:
  Placer(const Graph& graph, const PlaceOptions& options) : graph_(graph), options_(options), groups_(graph, options) {}

  Result<DevicePlacement> run() {
    ARGOSY_RETURN_IF_ERROR(groups_.read());
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
    placement_.device_name = groups_.device_names();
    return std::move(placement_);
  }

 private:
  // The best device that matches, or -1: the own task's first.
  int best(const DeviceName& request, std::span<const char> capable) const {
    const int found = best_of(0, own(), request, capable);
    return found >= 0 ? found : best_of(own(), options_.devices.size(), request, capable);
  }
  std::size_t own() const { return options_.own == 0 ? options_.devices.size() : options_.own; }

  // GPUs first, each kind in its own order.
  int best_of(std::size_t from, std::size_t to, const DeviceName& request, std::span<const char> capable) const {
    int found = -1;
    for (std::size_t d = from; d < to; ++d) {
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
    const int root = groups_.root(id);
    const Node& n = graph_.node(id);
    if (placement_.device[root] >= 0) {
      const bool none = placement_.reasons[static_cast<std::size_t>(placement_.reason[root])].empty();
      return put(id, placement_.device[root], none ? reason("colocated") : placement_.reason[root]);
    }
    if (const int home = groups_.home(root); home >= 0) return put(id, home, lives_there_);
    const DeviceName& request = groups_.request(root);
    const std::span<const char> capable = groups_.candidates(root);
    // What only looks at a shape stays where the tensor is; feeds are on the host.
    if (request.is_open() && n.inputs.size() == 1 && n.op->host_outputs.size() == n.op->output_args.size() &&
        !n.op->host_outputs.empty() && root == id.index) {
      const int with = placement_.device[n.inputs[0].node.index];
      if (with >= 0 && capable[with]) return put(id, with, "looks at its input's shape");
    }
    if (n.op->opcode == Opcode::kParameter && request.is_open()) return put(id, 0, "fed from the host");
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
    return cannot_place(n, why_not(request, id), is_here(request) ? "" : how_to_have(request));
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
    if (device >= 0 && groups_.candidates(groups_.root(id))[device]) return put(id, device, "with its consumer");
    return assign(id);
  }

  Status put(NodeId id, int device, std::string_view why) { return put(id, device, reason(why)); }
  Status put(NodeId id, int device, std::int32_t why) {
    const int root = groups_.root(id);
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

  bool has_gpu() const {
    const auto devices = std::span(options_.devices).first(own());
    return std::any_of(devices.begin(), devices.end(), [](const DeviceSpec& d) { return d.is_gpu(); });
  }

  std::string no_gpu_kernel(NodeId id) {
    const std::string* const refusal = groups_.refusal(groups_.root(id));
    return refusal == nullptr ? "no GPU kernel" : *refusal;
  }

  bool is_here(const DeviceName& request) const {
    return std::any_of(options_.devices.begin(), options_.devices.end(),
                       [&](const DeviceSpec& d) { return request.matches(d.name); });
  }

  // For a device that is not there: what makes it be.
  std::string how_to_have(const DeviceName& request) const {
    const DeviceName task{request.job, request.replica, request.task, "", std::nullopt};
    if (!task.is_open() && !is_here(task)) {
      return options_.own == 0 ? "this session has no cluster: leave job and task out, or give it one"
                               : "name a task of the cluster";
    }
    if (request.type != "GPU") return "name a device that is there: argosy devices lists them";
    return str_cat("emulated GPUs: DeviceRequest.emulate = \"", request.id.value_or(0) + 1,
                   "\" in C++, ARGOSY_EMULATE=", request.id.value_or(0) + 1, " or --emulate ",
                   request.id.value_or(0) + 1, " on the command line");
  }

  void note_missing(const DeviceName& request, int device) {
    std::string text =
        str_cat("there is no ", request.short_string(), " here (there are ", str_join(groups_.device_names()),
                "): what asks for it runs on ", options_.devices[static_cast<std::size_t>(device)].name.short_string(),
                "; ", how_to_have(request));
    auto& told = placement_.missing_devices;
    if (std::find(told.begin(), told.end(), text) == told.end()) told.push_back(std::move(text));
  }

  std::string why_not(const DeviceName& request, NodeId id) {
    for (const DeviceSpec& d : options_.devices) {
      if (!request.matches(d.name)) continue;
      if (const std::string* const refusal = groups_.refusal(groups_.root(id))) return *refusal;
      return str_cat("op ", graph_.node(id).op->name, " has no kernel there");
    }
    return str_cat("there is no such device; there are ", str_join(groups_.device_names()));
  }

  const Graph& graph_;
  const PlaceOptions& options_;
  PlacementGroups groups_;
  std::int32_t lives_there_ = 0;
  // By node: of a generator, the device of all its users met so far.
  enum : int { kNoGenerator = -3, kSeveral = -2, kNoUser = -1 };
  std::vector<int> users_device_;
  DevicePlacement placement_;
};

}  // namespace

Result<DevicePlacement> place(const Graph& graph, const PlaceOptions& options) { return Placer(graph, options).run(); }

}  // namespace argosy
