// TensorFlow's own collectives, whose members find each other by name (NcclAllReduce) or by keys (CollectiveReduce and
// its like). Graphs of its distribution strategies have them. The pass resolve_collective_groups gives each member a
// group and a rank; they then run as _AllReduce does.
#include "argosy/ops/collective/named_groups.h"
#include "argosy/base/narrow.h"

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"

namespace argosy {

namespace {

const std::string kReductions = "reduction: {'min', 'max', 'prod', 'sum'}";
const std::string kNcclTypes = "T: {half, float, double, int32, int64}";
const std::string kReducedTypes = "T: {bfloat16, float, half, double, int32, int64}";
const std::string kGatheredTypes = "T: {float, half, double, int32, int64}";
const std::string kSentTypes = "T: {bool, float, half, double, int32, int64}";

// --- NCCL ------------------------------------------------------------------------------------------------------------

Result<GroupMember> nccl_group(const AttrMap& attrs, std::span<const PartialInts* const>) {
  return GroupMember{
      .group = str_cat("nccl ", attrs.get_string("shared_name")),
      .size = attrs.get_int("num_devices"),
      .what = str_cat("NcclAllReduce(", attrs.get_string("reduction"), ") of ", dtype_name(attrs.get<DType>("T")))};
}

std::vector<Value> nccl_gradient(GradContext& g) {
  if (g.attrs().get_string("reduction") != "sum") {
    g.graph().fail(unimplemented("No gradient defined for NcclAllReduce except for reduction=\"sum\"."));
    return {Value()};
  }
  AttrMap attrs = {{"reduction", "sum"},
                   {"num_devices", g.attrs().get_int("num_devices")},
                   {"shared_name", g.attrs().get_string("shared_name") + "_grad"}};
  return {g.graph().add("NcclAllReduce", {g.dy()}, std::move(attrs))};
}

std::vector<Value> nccl_reduce_gradient(GradContext& g) {
  if (g.attrs().get_string("reduction") != "sum") {
    g.graph().fail(unimplemented("No gradient defined for NcclReduce except for reduction=\"sum\"."));
  }
  return std::vector<Value>(static_cast<std::size_t>(g.attrs().get_int("num_devices")), g.dy());
}

// The gradients of all consumers are already summed here.
std::vector<Value> nccl_broadcast_gradient(GradContext& g) { return {g.dy()}; }

Status nccl_broadcast_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape shape, c.input(0).merge(c.attrs().get<PartialShape>("shape")));
  c.set_output(0, std::move(shape));
  return ok_status();
}

// --- keys ------------------------------------------------------------------------------------------------------------

// Where group_size, group_key and instance_key are: attributes in the op's first version; inputs, from number `first`
// on, in its second.
struct Keys {
  std::int64_t size = 0, group = 0, instance = 0;
};

Result<Keys> keys_of(const AttrMap& attrs, std::span<const PartialInts* const> ints, std::size_t first) {
  if (attrs.find("group_size") != nullptr) {
    return Keys{attrs.get_int("group_size"), attrs.get_int("group_key"), attrs.get_int("instance_key")};
  }
  std::int64_t found[3] = {};
  constexpr const char* kNames[] = {"group_size", "group_key", "instance_key"};
  for (std::size_t i = 0; i < 3; ++i) {
    const PartialInts* const known = first + i < ints.size() ? ints[first + i] : nullptr;
    if (known == nullptr || known->size() != 1 || !(*known)[0]) {
      return unimplemented(kNames[i], " is computed while the step runs: groups are made before")
          .with_id("ARG-GROUP-001")
          .with_hint("give it as a constant");
    }
    found[i] = *(*known)[0];
  }
  return Keys{found[0], found[1], found[2]};
}

Result<GroupMember> member(const Keys& keys, const AttrMap& attrs, std::string what) {
  if (keys.size < 1) return invalid_argument("group_size must be at least 1, not ", keys.size);
  return GroupMember{.group = str_cat("group ", keys.group, " instance ", keys.instance),
                     .size = keys.size,
                     .what = str_cat(what, " of ", dtype_name(attrs.get<DType>("T")))};
}

Result<GroupMember> reduce_group(const AttrMap& attrs, std::span<const PartialInts* const> ints) {
  ARGOSY_ASSIGN_OR_RETURN(const Keys keys, keys_of(attrs, ints, 1));
  return member(keys, attrs,
                str_cat("reduction(", attrs.get_string("merge_op"), ", ", attrs.get_string("final_op"), ")"));
}

Result<GroupMember> gather_group(const AttrMap& attrs, std::span<const PartialInts* const> ints) {
  ARGOSY_ASSIGN_OR_RETURN(const Keys keys, keys_of(attrs, ints, 1));
  return member(keys, attrs, "gathering");
}

template <bool kRoot>
Result<GroupMember> broadcast_group(const AttrMap& attrs, std::span<const PartialInts* const> ints) {
  ARGOSY_ASSIGN_OR_RETURN(const Keys keys, keys_of(attrs, ints, kRoot ? 1 : 0));
  ARGOSY_ASSIGN_OR_RETURN(GroupMember found, member(keys, attrs, "broadcast"));
  found.root = kRoot;
  found.has_root = true;
  return found;
}

// --- shapes ----------------------------------------------------------------------------------------------------------

// Keys are int32: as attributes they are checked, as inputs they are scalars.
Status check_keys(ShapeContext& c, int first) {
  if (c.attrs().find("group_size") != nullptr) {
    for (const char* name : {"group_size", "group_key", "instance_key"}) {
      const std::int64_t key = c.attrs().get_int(name);
      if (saturated_int(key) == key) continue;
      return invalid_argument("Attr ", name, " has value ", key, " out of range for an int32");
    }
    return ok_status();
  }
  for (int i = first; i < first + 3; ++i) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  return ok_status();
}

Status reduce_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_keys(c, 1));
  c.set_output(0, c.input(0));
  return ok_status();
}

Status gather_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_keys(c, 1));
  const PartialShape& part = c.input(0);
  if (!part.has_rank()) return ok_status();
  if (part.rank() == 0) return invalid_argument("Shape must be at least rank 1 but is rank 0");
  PartialShape::Sizes sizes = part.sizes();
  const auto size =
      c.attrs().find("group_size") != nullptr ? std::optional(c.attrs().get_int("group_size")) : c.input_as_int(1);
  const bool known = sizes[0] >= 0 && size && *size > 0 && sizes[0] <= INT64_MAX / *size;
  sizes[0] = known ? sizes[0] * *size : PartialShape::kUnknown;
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

Status send_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_keys(c, 1));
  PartialShape shape = c.input(0);
  if (const auto* told = c.attrs().find_as<PartialShape>("shape")) {
    ARGOSY_ASSIGN_OR_RETURN(shape, shape.merge(*told));
  }
  c.set_output(0, std::move(shape));
  return ok_status();
}

Status receive_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(check_keys(c, 0));
  const auto* told = c.attrs().find_as<PartialShape>("shape");
  c.set_output(0, told != nullptr ? *told : c.input_as_shape(3));
  return ok_status();
}

// Finds the row of group_assignment that has device_index. The group has as many members as the row; groups are
// numbered from base_key.
Status assign_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(c.with_rank(0, 2).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(1, 0).status());
  ARGOSY_RETURN_IF_ERROR(c.with_rank(2, 0).status());
  return scalar_output(c);
}

std::optional<PartialInts> assigned_ints(const ShapeContext& c, int index) {
  const PartialShape& table = c.input(0);
  if (!table.is_full() || table.rank() != 2) return std::nullopt;
  if (index == 0) return PartialInts{table[1]};
  const auto device = c.input_as_int(1), base = c.input_as_int(2);
  const PartialInts* const devices = c.ints(0);
  if (!device || !base || devices == nullptr || table[1] == 0) return std::nullopt;
  for (std::size_t i = 0; i < devices->size(); ++i) {
    if (!(*devices)[i]) return std::nullopt;
    if (*(*devices)[i] == *device) return PartialInts{*base + static_cast<std::int64_t>(i) / table[1]};
  }
  return std::nullopt;
}

struct Row {
  const char* name;
  const char* doc;
  std::vector<std::string> inputs, attrs;
  ShapeFn shape;
  GroupFn group;
  bool forwards = false;
};

std::vector<Row> rows() {
  const std::string hint = "communication_hint: string = 'auto'", seconds = "timeout_seconds: float = 0";
  const std::string merge = "merge_op: {'Min', 'Max', 'Mul', 'Add'}", last = "final_op: {'Id', 'Div'}";
  const std::string stateless = "is_stateless: bool = false", tokens = "Nordering_token: int >= 0 = 0";
  const std::string size = "group_size: int", group = "group_key: int", instance = "instance_key: int";
  const std::string sizes = "group_size: int32", groups = "group_key: int32", instances = "instance_key: int32";
  const std::string ordered = "ordering_token: Nordering_token * resource", shape = "shape: shape";
  return {
      {"CollectiveReduce",
       "The members' values, reduced elementwise.",
       {"input: T"},
       {kReducedTypes, size, group, instance, merge, last, "subdiv_offsets: list(int)", "wait_for: list(int) = []",
        hint, seconds},
       reduce_shape,
       reduce_group},
      {"CollectiveReduceV2",
       "The members' values, reduced elementwise.",
       {"input: T", sizes, groups, instances, ordered},
       {kReducedTypes, merge, last, hint, seconds, stateless, tokens, "max_subdivs_per_device: int = -1"},
       reduce_shape,
       reduce_group},
      {"CollectiveGather",
       "The members' values, one after the other.",
       {"input: T"},
       {kGatheredTypes, size, group, instance, shape, hint, seconds},
       gather_shape,
       gather_group},
      {"CollectiveGatherV2",
       "The members' values, one after the other.",
       {"input: T", sizes, groups, instances, ordered},
       {kGatheredTypes, hint, seconds, stateless, tokens},
       gather_shape,
       gather_group},
      {"CollectiveBcastSend",
       "The value, which the other members get as well.",
       {"input: T"},
       {kSentTypes, size, group, instance, shape, hint, seconds},
       send_shape,
       broadcast_group<true>,
       true},
      {"CollectiveBcastSendV2",
       "The value, which the other members get as well.",
       {"input: T", sizes, groups, instances},
       {kSentTypes, hint, seconds},
       send_shape,
       broadcast_group<true>,
       true},
      {"CollectiveBcastRecv",
       "The value of the member that sends one.",
       {},
       {kSentTypes, size, group, instance, shape, hint, seconds},
       receive_shape,
       broadcast_group<false>},
      {"CollectiveBcastRecvV2",
       "The value of the member that sends one.",
       {sizes, groups, instances, "shape: Tshape"},
       {kSentTypes, "Tshape: index = int32", hint, seconds},
       receive_shape,
       broadcast_group<false>},
  };
}

}  // namespace

void define_named_groups(OpRegistry& ops) {
  for (Row& row : rows()) {
    std::vector<int> host;  // all but the values
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      if (row.inputs[i] != "input: T") host.push_back(static_cast<int>(i));
    }
    ops.add({.name = row.name,
             .doc = row.doc,
             .inputs = std::move(row.inputs),
             .outputs = {"data: T"},
             .attrs = std::move(row.attrs),
             .shape = row.shape,
             .gradient = kNotDifferentiable,
             .stateful = true,
             .forwards = row.forwards,
             .async = true,
             .group = row.group,
             .collective = true,
             .host_inputs = std::move(host)});
  }
  ops.add({.name = "CollectiveAssignGroupV2",
           .doc = "How many devices are in the group of this one, and the group's key.",
           .inputs = {"group_assignment: int32", "device_index: int32", "base_key: int32"},
           .outputs = {"group_size: int32", "group_key: int32"},
           .shape = assign_shape,
           .gradient = kNotDifferentiable,
           .cost = free_cost,
           .known_ints = assigned_ints,
           .stateful = true,
           .blocks_gradient = true,
           .host_inputs = {0, 1, 2},
           .host_outputs = {0, 1}});
  ops.add({.name = "NcclAllReduce",
           .doc = "The values of all nodes of that name, reduced elementwise.",
           .inputs = {"input: T"},
           .outputs = {"data: T"},
           .attrs = {kReductions, kNcclTypes, "num_devices: int", "shared_name: string"},
           .shape = same_as_input,
           .gradient = nccl_gradient,
           .stateful = true,
           .async = true,
           .group = nccl_group,
           .collective = true});
  ops.add({.name = "NcclReduce",
           .doc = "The inputs, each from a device of its own, reduced elementwise.",
           .inputs = {"input: num_devices * T"},
           .outputs = {"data: T"},
           .attrs = {kReductions, kNcclTypes, "num_devices: int >= 1"},
           .shape = merged_inputs,
           .gradient = nccl_reduce_gradient,
           .stateful = true});
  ops.add({.name = "NcclBroadcast",
           .doc = "The input, for readers on other devices.",
           .inputs = {"input: T"},
           .outputs = {"output: T"},
           .attrs = {kNcclTypes, "shape: shape"},
           .shape = nccl_broadcast_shape,
           .gradient = nccl_broadcast_gradient,
           .cost = free_cost,
           .stateful = true,
           .forwards = true});
}

}  // namespace argosy
