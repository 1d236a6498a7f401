#include "argosy/passes/fuse/winograd.h"

#include <optional>

#include "argosy/op/definition/opcode.h"
#include "argosy/ops/collective/reduction_chunks.h"
#include "argosy/ops/collective/turns.h"
#include "argosy/ops/conv/winograd/winograd.h"
#include "argosy/ops/onednn/onednn.h"
#include "argosy/passes/has_op.h"

namespace argosy {

namespace {

// The positions of the image and the filter of a convolution among its inputs; -1: it is the output.
struct Operands {
  int image = 0, filter = 1;
};
const Operands* operands_of(const OpDef& op) {
  static constexpr Operands kForward{0, 1}, kToInput{-1, 1}, kToFilter{0, -1};
  switch (op.opcode) {
    case Opcode::kConv2D:
    case Opcode::kFusedConv2D: return &kForward;
    case Opcode::kConv2DInputGrad: return &kToInput;
    case Opcode::kConv2DFilterGrad: return &kToFilter;
    default: return nullptr;
  }
}

// An assumed number of threads. It does not depend on the machine, so that equal steps give equal bits anywhere.
constexpr int kThreads = 4;

// Does a step of one turn have this node, too? The other turns do the same again, and their sums are not there.
bool together(const Turn& node, const Turn& conv) { return !node.sum && (node.number < 0 || node == conv); }

// What all nodes give, as far as it is known. The choice must not depend on the numbers of devices and turns. So where
// a batch is sharded, it is what they would give if the device of `conv` had all of it in one turn.
double bytes_given(const Graph& graph, const Node& conv, const Operands& at) {
  const ReductionChunks batch = ReductionChunks::of(conv.attrs);
  const bool sharded = batch.count > 0;
  const Turn turn = Turn::of(conv.attrs);
  const PartialShape& images = graph.shape(conv.inputs[at.image < 0 ? 2 : 0]);
  const std::int64_t examples = sharded && images.rank() > 0 ? images[0] : -1;
  double bytes = 0;
  for (const Node& n : graph.nodes()) {
    if (sharded && (n.device != conv.device || n.op->collective || !together(Turn::of(n.attrs), turn))) continue;
    for (std::size_t i = 0; i < n.output_shapes.size(); ++i) {
      const PartialShape& shape = n.output_shapes[i];
      if (!shape.is_full()) continue;
      const auto given = static_cast<double>(shape.elements()) * static_cast<double>(element_bytes(n.output_dtypes[i]));
      bytes += shape.rank() > 0 && shape[0] == examples ? static_cast<double>(batch.global(1)) * given : given;
    }
  }
  return bytes;
}

// True if Winograd's algorithm is faster for this convolution, and its scratch is within the limit.
bool pays(const Graph& graph, NodeId id, const Operands& at, double most_scratch) {
  const Node& n = graph.node(id);
  const auto shape = [&](int i) -> const PartialShape& {
    return i < 0 ? n.output_shapes[0] : graph.shape(n.inputs[static_cast<std::size_t>(i)]);
  };
  const auto image = shape(at.image).full(), filter = shape(at.filter).full();
  const DType dtype = n.output_dtypes[0];  // 16-bit floats may be computed in float32
  const bool narrow = dtype == DType::kFloat32 || dtype == DType::kBfloat16 || dtype == DType::kFloat16;
  // Tiles multiply six times as fast as float32's vectors: nothing that Winograd saves makes up for that.
  if (!narrow || onednn::has_tiles(dtype) || !image.ok() || !filter.ok()) return false;
  const auto attrs = read_conv(n.op->name, n.attrs);
  if (!attrs.ok()) return false;
  const auto shard = conv_geometry(*attrs, *image, *filter);
  if (!shard.ok()) return false;
  ConvGeometry global = *shard;  // the same choice for every shard of a batch
  const ReductionChunks batch = ReductionChunks::of(n.attrs);
  global.batch = batch.global(global.batch);
  if (!winograd_pays(*attrs, global)) return false;
  return static_cast<double>(winograd_scratch_bytes(global, kThreads)) <= most_scratch;
}

}  // namespace

Result<int> winograd(StepGraph& step, double scratch_share) {
  if (!has_op(step.graph, [](const OpDef& op) { return operands_of(op) != nullptr; })) return 0;
  std::optional<double> most_scratch;  // asked for where there are convolutions
  int marked = 0;
  for (int i = 0; i < step.graph.size(); ++i) {
    const Operands* const at = operands_of(*step.graph.node({i}).op);
    if (at == nullptr) continue;
    if (!most_scratch) most_scratch = scratch_share * bytes_given(step.graph, step.graph.node({i}), *at);
    if (!pays(step.graph, {i}, *at, *most_scratch)) continue;
    step.graph.set_attr({i}, kWinogradAttr, true);
    ++marked;
  }
  return marked;
}

}  // namespace argosy
