#include "argosy/tf/worker/step_metadata.h"

#include <chrono>
#include <map>

#include "argosy/base/clock.h"
#include "argosy/formats/proto/config.pb.h"
#include "argosy/formats/proto/tensor_proto.h"

namespace argosy::tf {

namespace {

std::string input_name(const Graph& graph, Endpoint e) {
  const std::string& name = graph.node(e.node).name;
  return e.index == 0 ? name : str_cat(name, ":", e.index);
}

// A time that another task tells, in nanoseconds or else in microseconds; 0 where none of ours can be that long.
std::int64_t nanos(std::int64_t told, std::int64_t micros) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  if (told <= 0 && micros > 0 && micros < kMost / 1000) told = micros * 1000;
  return told > 0 && told < kMost ? told : 0;
}

// "y = AddV2(x, c:1)", as TensorFlow's Timeline reads it.
std::string label(const OpRecord& op, const Graph& graph) {
  std::string inputs;
  if (const auto id = graph.find(op.node)) {
    for (const Endpoint e : graph.node(*id).inputs) inputs += str_cat(inputs.empty() ? "" : ", ", input_name(graph, e));
  }
  return str_cat(op.node, " = ", op.op, "(", inputs, ")");
}

std::int64_t wall_clock_offset_nanos() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() - now_nanos();
}

// What the op gave, and the memory that it took for it. Planned memory is there before the op runs; it is the op's
// while somebody reads the output. Scratch memory of kernels is not known here.
void add_outputs(const OpRecord& op, tensorflow::NodeExecStats& to) {
  std::map<std::string_view, std::int64_t> taken;  // by allocator
  for (const OutputRecord& output : op.outputs) {
    tensorflow::NodeOutput& described = *to.add_output();
    described.set_slot(output.index);
    tensorflow::TensorDescription& tensor = *described.mutable_tensor_description();
    tensor.set_dtype(static_cast<tensorflow::DataType>(output.dtype));
    to_proto(PartialShape(output.shape), tensor.mutable_shape());
    tensorflow::AllocationDescription& memory = *tensor.mutable_allocation_description();
    memory.set_requested_bytes(static_cast<std::int64_t>(output.bytes));
    memory.set_allocated_bytes(static_cast<std::int64_t>(output.buffer_bytes));
    memory.set_allocator_name(output.allocator);
    memory.set_ptr(output.address);
    if (!output.shares) taken[output.allocator] += static_cast<std::int64_t>(output.buffer_bytes);
  }
  for (const auto& [allocator, bytes] : taken) {
    tensorflow::AllocatorMemoryUsed& used = *to.add_memory();
    used.set_allocator_name(std::string(allocator));
    used.set_total_bytes(bytes);
    used.set_peak_bytes(bytes);
    used.set_live_bytes(bytes);
  }
}

// Outputs whose form is not understood are left out.
std::vector<OutputRecord> read_outputs(const tensorflow::NodeExecStats& from) {
  std::map<std::string_view, bool> takes;  // allocators that the op took memory from
  for (const tensorflow::AllocatorMemoryUsed& used : from.memory())
    takes[used.allocator_name()] = used.total_bytes() > 0;
  std::vector<OutputRecord> outputs;
  for (const tensorflow::NodeOutput& output : from.output()) {
    const tensorflow::TensorDescription& tensor = output.tensor_description();
    const tensorflow::AllocationDescription& memory = tensor.allocation_description();
    std::vector<std::int64_t> sizes;
    for (const auto& dim : tensor.shape().dim()) sizes.push_back(dim.size());
    const bool known = !tensor.shape().unknown_rank() && sizes.size() <= static_cast<std::size_t>(Shape::kMaxRank) &&
                       tensor.dtype() > 0 && tensor.dtype() <= static_cast<int>(DType::kUint64);
    auto shape = known ? Shape::make(sizes) : Result<Shape>(invalid_argument("no shape"));
    if (!shape.ok() || memory.requested_bytes() < 0 || memory.allocated_bytes() < 0) continue;
    outputs.push_back({.index = output.slot(),
                       .dtype = static_cast<DType>(tensor.dtype()),
                       .shape = *std::move(shape),
                       .bytes = static_cast<std::uint64_t>(memory.requested_bytes()),
                       .buffer_bytes = static_cast<std::uint64_t>(memory.allocated_bytes()),
                       .address = memory.ptr(),
                       .allocator = memory.allocator_name(),
                       .shares = !takes[memory.allocator_name()]});
  }
  return outputs;
}

}  // namespace

void add_step_stats(const StepStats& stats, const Graph& graph, tensorflow::RunMetadata& to) {
  const std::int64_t offset = wall_clock_offset_nanos();
  std::vector<tensorflow::DeviceStepStats*> devices;
  for (const StepStats::PerDevice& device : stats.devices) {
    devices.push_back(to.mutable_step_stats()->add_dev_stats());
    devices.back()->set_device(device.device.to_string());
  }
  for (const OpRecord& op : stats.ops) {
    if (op.device < 0 || op.device >= static_cast<int>(devices.size())) continue;
    tensorflow::NodeExecStats& node = *devices[op.device]->add_node_stats();
    const std::int64_t start = op.start_nanos + offset;
    const std::int64_t taken = op.end_nanos - op.start_nanos;
    node.set_node_name(op.node);
    node.set_timeline_label(label(op, graph));
    node.set_scheduled_micros(start / 1000);
    node.set_scheduled_nanos(start);
    node.set_all_start_micros(start / 1000);
    node.set_all_start_nanos(start);
    node.set_op_end_rel_micros(taken / 1000);
    node.set_op_end_rel_nanos(taken);
    node.set_all_end_rel_micros(std::max<std::int64_t>(taken / 1000, 1));
    node.set_all_end_rel_nanos(taken);
    add_outputs(op, node);
  }
}

void read_step_stats(const tensorflow::StepStats& from, StepStats& to) {
  const std::int64_t offset = wall_clock_offset_nanos();
  for (const tensorflow::DeviceStepStats& device : from.dev_stats()) {
    const auto name = DeviceName::parse(device.device());
    if (!name.ok() || name->type.empty()) continue;
    const int d = static_cast<int>(to.devices.size());
    to.devices.push_back({.device = *name, .ops = device.node_stats_size()});
    for (const tensorflow::NodeExecStats& node : device.node_stats()) {
      // TensorFlow before 2.0 tells microseconds alone.
      const std::int64_t start = nanos(node.all_start_nanos(), node.all_start_micros());
      const std::int64_t taken = nanos(node.all_end_rel_nanos(), node.all_end_rel_micros());
      const std::string& label = node.timeline_label();
      const std::size_t op = label.find(" = "), end = label.find('(');
      to.ops.push_back({.node = node.node_name(),
                        .op = op != std::string::npos && end != std::string::npos && end > op + 3
                                  ? label.substr(op + 3, end - op - 3)
                                  : std::string(),
                        .device = d,
                        .start_nanos = start - offset,
                        .end_nanos = start - offset + taken,
                        .outputs = read_outputs(node)});
    }
  }
}

void add_partition_graphs(const PlacementReport& placement, const Graph& graph, tensorflow::RunMetadata& to) {
  std::map<std::string, tensorflow::GraphDef*> parts;
  for (const PlacementReport::Row& row : placement.rows) {
    tensorflow::GraphDef*& part = parts[row.device];
    if (part == nullptr) part = to.add_partition_graphs();
    tensorflow::NodeDef& node = *part->add_node();
    node.set_name(row.node);
    node.set_op(row.op);
    node.set_device(row.device);
    const auto id = graph.find(row.node);
    if (!id) continue;
    for (const Endpoint e : graph.node(*id).inputs) node.add_input(input_name(graph, e));
    for (const NodeId c : graph.node(*id).controls) node.add_input(str_cat("^", graph.node(c).name));
  }
}

}  // namespace argosy::tf
