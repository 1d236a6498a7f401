#include "argosy/tf/worker/partition_graph.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "argosy/formats/proto/graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"
#include "argosy/op/kernel/rendezvous.h"
#include "argosy/ops/ops.h"
#include "argosy/ops/send_recv/send_recv.h"
#include "argosy/passes/simplify/order_ref_reads.h"
#include "argosy/tf/graph/attr_proto.h"
#include "argosy/tf/graph/graph_export.h"
#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf {

namespace {

// Names of nodes that others read or wait for.
std::unordered_set<std::string> taken_nodes(const tensorflow::GraphDef& def) {
  std::unordered_set<std::string> taken;
  for (const tensorflow::NodeDef& node : def.node()) {
    for (const std::string& input : node.input()) {
      std::string_view name = input;
      if (name.starts_with('^')) name.remove_prefix(1);
      taken.emplace(name.substr(0, name.find(':')));
    }
  }
  return taken;
}

void set(tensorflow::NodeDef& node, const char* name, const std::string& text) {
  (*node.mutable_attr())[name].set_s(text);
}

// Turns `node` into an end of a transfer with the client, which the master speaks for.
void make_transfer(tensorflow::NodeDef& node, const char* op, const char* type_attr, DType dtype,
                   const RendezvousKey& key) {
  node.set_op(op);
  node.clear_attr();
  (*node.mutable_attr())[type_attr].set_type(static_cast<tensorflow::DataType>(dtype));
  set(node, "tensor_name", key.edge);
  set(node, "send_device", key.send_device);
  set(node, "recv_device", key.receive_device);
  // Keys as strings: g++ 12 takes a literal here for one that is too short, and warns.
  const std::string incarnation = "send_device_incarnation", terminated = "client_terminated";
  (*node.mutable_attr())[incarnation].set_i(static_cast<std::int64_t>(key.send_incarnation));
  (*node.mutable_attr())[terminated].set_b(true);
}

// Of a value that RunGraph brings or takes: it is said to come from the device itself, where it waits.
RendezvousKey client_key(const std::string& device,
                         const std::function<std::uint64_t(const std::string& device)>& incarnation, std::string edge) {
  return {.send_device = device,
          .send_incarnation = incarnation(device),
          .receive_device = device,
          .edge = std::move(edge)};
}

// Gives nodes other names, and their readers.
void rename_nodes(const std::unordered_map<std::string, std::string>& names, tensorflow::GraphDef* def) {
  for (tensorflow::NodeDef& node : *def->mutable_node()) {
    if (const auto to = names.find(node.name()); to != names.end()) node.set_name(to->second);
    for (std::string& input : *node.mutable_input()) {
      const std::size_t begin = input.starts_with('^') ? 1 : 0, end = std::min(input.find(':'), input.size());
      const auto to = names.find(input.substr(begin, end - begin));
      if (to != names.end()) input.replace(begin, end - begin, to->second);
    }
  }
}

// Has the attribute its default value?
bool is_default(const OpDef& op, const std::string& name, const tensorflow::AttrValue& value) {
  const AttrDef* const attr = op.attr(name);
  if (attr == nullptr || std::holds_alternative<std::monostate>(attr->value)) return false;
  tensorflow::AttrValue wanted;
  return to_proto(attr->value, &wanted).ok() && wanted.SerializeAsString() == value.SerializeAsString();
}

}  // namespace

bool UnknownAttributes::learn(std::string_view error) {
  constexpr std::string_view kBegin = "NodeDef mentions attr '", kOp = "' not in Op<name=";
  const std::size_t begin = error.find(kBegin);
  if (begin == std::string_view::npos) return false;
  error.remove_prefix(begin + kBegin.size());
  const std::size_t end = error.find(kOp);
  const std::size_t op_end = error.find(';', end == std::string_view::npos ? error.size() : end);
  if (op_end == std::string_view::npos) return false;
  const std::size_t op_begin = end + kOp.size();
  known_.emplace(error.substr(op_begin, op_end - op_begin), error.substr(0, end));
  return true;
}

bool UnknownAttributes::leave_out(tensorflow::GraphDef& def) const {
  bool any = false;
  const auto leave_out_of = [&](tensorflow::NodeDef& node) {
    for (auto at = known_.lower_bound({node.op(), ""}); at != known_.end() && at->first == node.op(); ++at) {
      const OpDef* const op = builtin_ops().find(node.op());
      const auto attr = node.attr().find(at->second);
      if (op == nullptr || attr == node.attr().end() || !is_default(*op, at->second, attr->second)) continue;
      node.mutable_attr()->erase(at->second);
      any = true;
    }
  };
  for (tensorflow::NodeDef& node : *def.mutable_node()) leave_out_of(node);
  if (!def.has_library()) return any;
  for (tensorflow::FunctionDef& function : *def.mutable_library()->mutable_function()) {
    for (tensorflow::NodeDef& node : *function.mutable_node_def()) leave_out_of(node);
  }
  return any;
}

// The fetches, with the read instead of its variable where order_ref_reads() has put that one. Clients may give their
// nodes any attribute, so it must be such a read.
static std::vector<Endpoint> sent_fetches(const StepGraph& step) {
  std::vector<Endpoint> fetches = step.fetches;
  const auto is_reference = [&](const Endpoint e) {
    return e.index >= 0 && step.graph.node(e.node).output_is_ref(e.index);
  };
  for (const NodeId target : step.targets) {
    const Node& read = step.graph.node(target);
    const auto* const fetched_as = read.attrs.find_as<std::vector<std::int64_t>>(kFetchedAs);
    if (fetched_as == nullptr || read.output_dtypes.size() != 1) continue;
    for (const std::int64_t position : *fetched_as) {
      if (position < 0 || position >= std::ssize(fetches)) continue;
      Endpoint& fetch = fetches[static_cast<std::size_t>(position)];
      if (is_reference(fetch) && step.graph.dtype(fetch) == read.output_dtypes[0]) fetch = {target, 0};
    }
  }
  return fetches;
}

Status write_partition(const StepGraph& step,
                       const std::function<std::uint64_t(const std::string& device)>& incarnation, std::int64_t number,
                       tensorflow::GraphDef* def, PartitionKeys* keys) {
  ARGOSY_RETURN_IF_ERROR(export_graph(step.graph, def));
  std::map<std::string, tensorflow::NodeDef*> by_name;
  for (tensorflow::NodeDef& node : *def->mutable_node()) by_name[node.name()] = &node;
  const auto tell_shape = [&](const Node& node) {
    to_proto(node.output_shapes[0],
             (*by_name.at(std::string(node.name))->mutable_attr())[std::string(kReceivedShape)].mutable_shape());
  };
  for (const Node& node : step.graph.nodes()) {
    if (transfer_of(*node.op) == Transfer::kReceive) tell_shape(node);
  }
  const auto unique = [&](std::string name) {
    while (by_name.contains(name)) name += '_';
    return name;
  };
  std::unordered_map<std::string, std::string> new_names;
  for (std::size_t i = 0; i < step.feeds.size(); ++i) {
    const Node& feed = step.graph.node(step.feeds[i]);
    const RendezvousKey key = client_key(std::string(feed.device), incarnation, str_cat("_feed_", i));
    make_transfer(*by_name.at(std::string(feed.name)), "_Recv", "tensor_type", feed.output_dtypes[0], key);
    (*by_name.at(std::string(feed.name))->mutable_attr())[std::string(kNeverDead)].set_b(true);
    tell_shape(feed);
    new_names[std::string(feed.name)] = unique(str_cat(feed.name, "/_feed_", number));
    keys->feeds.push_back(key.to_string());
  }
  const std::vector<Endpoint> fetches = sent_fetches(step);
  for (const NodeId target : step.targets) {
    by_name.at(std::string(step.graph.node(target).name))->mutable_attr()->erase(kFetchedAs);
  }
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const Endpoint fetch = fetches[i];
    if (fetch.index == Value::kControl) {
      keys->fetches.emplace_back();
      continue;
    }
    const Node& node = step.graph.node(fetch.node);
    const std::string device(node.device);
    const RendezvousKey key = client_key(device, incarnation, str_cat("_fetch_", i));
    tensorflow::NodeDef& send = *def->add_node();
    send.set_name(unique(str_cat("_send_fetch_", number, "_", i)));
    send.set_device(device);
    make_transfer(send, "_Send", "T", node.output_dtypes[static_cast<std::size_t>(fetch.index)], key);
    send.add_input(fetch.index == 0 ? std::string(node.name) : str_cat(node.name, ":", fetch.index));
    keys->fetches.push_back(key.to_string());
  }
  if (!new_names.empty()) rename_nodes(new_names, def);
  return ok_status();
}

Result<StepGraph> read_partition(std::string_view graph_def) {
  tensorflow::GraphDef def;
  if (!def.ParseFromArray(graph_def.data(), static_cast<int>(graph_def.size()))) {
    return invalid_argument("RegisterGraph: the graph is damaged").with_id("ARG-PROTO-003");
  }
  const std::unordered_set<std::string> taken = taken_nodes(def);
  std::vector<std::string> last;
  for (tensorflow::NodeDef& node : *def.mutable_node()) {
    node.mutable_attr()->erase("_class");
    if (!taken.contains(node.name())) last.push_back(node.name());
  }
  ImportedGraph imported;
  imported.allow_internal_names();
  ARGOSY_RETURN_IF_ERROR(imported.extend(std::move(def)));
  StepSignature everything;
  for (const std::string& name : last) {
    ARGOSY_ASSIGN_OR_RETURN(const Value node, imported.value("^" + name));
    everything.targets.push_back(node.node());
  }
  return prune_step(imported.graph(), everything);
}

}  // namespace argosy::tf
