#include "argosy/ops/layout/blocks.h"

#include "argosy/base/checked.h"
#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/layout/layout_registration.h"

namespace argosy {

namespace {

// Unknown stays unknown; an indivisible size is an error.
Status divide(std::string_view op, std::int64_t& size, std::int64_t by) {
  if (size < 0) return ok_status();
  if (size % by != 0) return invalid_argument(op, ": a size of ", size, " does not divide into blocks of ", by);
  size /= by;
  return ok_status();
}
Status multiply(std::string_view op, std::int64_t& size, std::int64_t by) {
  if (size < 0) return ok_status();
  const auto product = checked_mul(size, by);
  if (!product) return invalid_argument(op, ": a size of ", size, " times ", by, " overflows");
  size = *product;
  return ok_status();
}

Status check_blocks(std::string_view op, const Ints& block, const Ints& edges) {
  if (edges.size() != 2 * block.size()) {
    return invalid_argument(op, ": ", block.size(), " blocks and ", edges.size(), " edges");
  }
  for (const std::int64_t size : block) {
    if (size < 1) return invalid_argument(op, ": a block of size ", size);
  }
  for (const std::int64_t size : edges) {
    if (size < 0) return invalid_argument(op, ": a padding or crop of ", size);
  }
  return ok_status();
}

template <Result<Ints> (*kSizes)(std::span<const std::int64_t>, const ImageAxes&, std::int64_t)>
Status image_shape(ShapeContext& c) {
  const std::string& format = c.attrs().get_string("data_format");
  const std::int64_t block = c.attrs().get_int("block_size");
  const auto axes = image_axes(c.op().name, format);
  if (!axes.ok()) return ok_status();  // a graph may hold it; only its kernel is missing
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const Ints sizes, kSizes(x.sizes(), *axes, block));
  c.set_output(0, PartialShape(std::vector(sizes.begin(), sizes.end())));
  return ok_status();
}

AttrMap image_attrs(const GradContext& g) {
  return {{"block_size", g.attrs().get_int("block_size")}, {"data_format", g.attrs().get_string("data_format")}};
}
std::vector<Value> space_to_depth_gradient(GradContext& g) {
  return {g.graph().add("DepthToSpace", {g.dy()}, image_attrs(g))};
}
std::vector<Value> depth_to_space_gradient(GradContext& g) {
  return {g.graph().add("SpaceToDepth", {g.dy()}, image_attrs(g))};
}

using BatchSizes = Result<Ints> (*)(std::string_view, std::span<const std::int64_t>, const Ints&, const Ints&);

// The forms with N spatial axes, whose blocks and edges are inputs.
template <BatchSizes kSizes>
Status batch_nd_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape block_shape, c.with_rank(1, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape edge_shape, c.with_rank(2, 2));
  const PartialShape& x = c.input(0);
  if (!edge_shape.compatible({block_shape[0], 2})) {
    return invalid_argument(c.op().name, ": block_shape ", block_shape, " and edges ", edge_shape);
  }
  if (!x.has_rank() || block_shape[0] < 0) return ok_status();
  if (x.rank() < 1 + block_shape[0]) {
    return invalid_argument(c.op().name, ": an input of shape ", x, " has no ", block_shape[0], " spatial axes");
  }
  const int n = static_cast<int>(block_shape[0]);
  Ints block, edges;
  for (int i = 0; i < n; ++i) {
    const auto size = c.int_at(1, i);
    const auto before = c.int_at(2, 2 * i);
    const auto after = c.int_at(2, 2 * i + 1);
    if (!size || !before || !after) {
      c.set_output(0, PartialShape::unknown_of_rank(x.rank()));
      return ok_status();
    }
    block.push_back(*size);
    edges.push_back(*before);
    edges.push_back(*after);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Ints sizes, kSizes(c.op().name, x.sizes(), block, edges));
  c.set_output(0, PartialShape(std::vector(sizes.begin(), sizes.end())));
  return ok_status();
}

// The older forms: rank 4, one block size for height and width.
template <BatchSizes kSizes>
Status batch_2d_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape edge_shape, c.with_rank(1, 2));
  if (!edge_shape.compatible({2, 2})) return invalid_argument(c.op().name, ": edges must be [2,2], not ", edge_shape);
  const std::int64_t block = c.attrs().get_int("block_size");
  Ints edges;
  for (int i = 0; i < 4; ++i) {
    const auto edge = c.int_at(1, i);
    if (!edge) {
      c.set_output(0, PartialShape({PartialShape::kUnknown, PartialShape::kUnknown, PartialShape::kUnknown, x[3]}));
      return ok_status();
    }
    edges.push_back(*edge);
  }
  ARGOSY_ASSIGN_OR_RETURN(const Ints sizes, kSizes(c.op().name, x.sizes(), {block, block}, edges));
  c.set_output(0, PartialShape(std::vector(sizes.begin(), sizes.end())));
  return ok_status();
}

std::vector<Value> space_to_batch_nd_gradient(GradContext& g) {
  return {g.graph().add("BatchToSpaceND", {g.dy(), g.x(1), g.x(2)}), Value(), Value()};
}
std::vector<Value> batch_to_space_nd_gradient(GradContext& g) {
  return {g.graph().add("SpaceToBatchND", {g.dy(), g.x(1), g.x(2)}), Value(), Value()};
}
std::vector<Value> space_to_batch_gradient(GradContext& g) {
  return {g.graph().add("BatchToSpace", {g.dy(), g.x(1)}, {{"block_size", g.attrs().get_int("block_size")}}), Value()};
}
std::vector<Value> batch_to_space_gradient(GradContext& g) {
  return {g.graph().add("SpaceToBatch", {g.dy(), g.x(1)}, {{"block_size", g.attrs().get_int("block_size")}}), Value()};
}

}  // namespace

Result<ImageAxes> image_axes(std::string_view op, std::string_view data_format) {
  if (data_format == "NHWC") return ImageAxes{};
  if (data_format == "NCHW") return ImageAxes{.batch = 0, .height = 2, .width = 3, .depth = 1};
  return unimplemented(op, ": data_format ", data_format, " has no kernel here; NHWC and NCHW have");
}

Result<Ints> space_to_depth_sizes(std::span<const std::int64_t> x, const ImageAxes& axes, std::int64_t block_size) {
  Ints sizes(x);
  ARGOSY_RETURN_IF_ERROR(divide("SpaceToDepth", sizes[axes.height], block_size));
  ARGOSY_RETURN_IF_ERROR(divide("SpaceToDepth", sizes[axes.width], block_size));
  ARGOSY_RETURN_IF_ERROR(multiply("SpaceToDepth", sizes[axes.depth], block_size));
  ARGOSY_RETURN_IF_ERROR(multiply("SpaceToDepth", sizes[axes.depth], block_size));
  return sizes;
}

Result<Ints> depth_to_space_sizes(std::span<const std::int64_t> x, const ImageAxes& axes, std::int64_t block_size) {
  Ints sizes(x);
  ARGOSY_RETURN_IF_ERROR(multiply("DepthToSpace", sizes[axes.height], block_size));
  ARGOSY_RETURN_IF_ERROR(multiply("DepthToSpace", sizes[axes.width], block_size));
  ARGOSY_RETURN_IF_ERROR(divide("DepthToSpace", sizes[axes.depth], block_size));
  ARGOSY_RETURN_IF_ERROR(divide("DepthToSpace", sizes[axes.depth], block_size));
  return sizes;
}

Result<Ints> space_to_batch_sizes(std::string_view op, std::span<const std::int64_t> x, const Ints& block,
                                  const Ints& edges) {
  ARGOSY_RETURN_IF_ERROR(check_blocks(op, block, edges));
  Ints sizes(x);
  for (int i = 0; i < block.size(); ++i) {
    std::int64_t& size = sizes[i + 1];
    ARGOSY_RETURN_IF_ERROR(multiply(op, sizes[0], block[i]));
    if (size < 0) continue;
    const auto frame = checked_add(edges[2 * i], edges[2 * i + 1]);
    const auto padded = frame ? checked_add(size, *frame) : frame;
    if (!padded) return invalid_argument(op, ": paddings of spatial axis ", i, " overflow");
    size = *padded;
    ARGOSY_RETURN_IF_ERROR(divide(op, size, block[i]));
  }
  return sizes;
}

Result<Ints> batch_to_space_sizes(std::string_view op, std::span<const std::int64_t> x, const Ints& block,
                                  const Ints& edges) {
  ARGOSY_RETURN_IF_ERROR(check_blocks(op, block, edges));
  Ints sizes(x);
  for (int i = 0; i < block.size(); ++i) {
    std::int64_t& size = sizes[i + 1];
    ARGOSY_RETURN_IF_ERROR(divide(op, sizes[0], block[i]));
    if (size < 0) continue;
    ARGOSY_RETURN_IF_ERROR(multiply(op, size, block[i]));
    const auto crops = checked_add(edges[2 * i], edges[2 * i + 1]);
    if (!crops || *crops > size) {
      return invalid_argument(op, ": crops ", edges[2 * i], " and ", edges[2 * i + 1], " exceed the ", size,
                              " of spatial axis ", i);
    }
    size -= *crops;
  }
  return sizes;
}

void define_blocks(OpRegistry& ops) {
  const auto image = [&](const char* name, const char* doc, ShapeFn shape, GradientFn gradient) {
    ops.add({.name = name,
             .doc = doc,
             .inputs = {"input: T"},
             .outputs = {"output: T"},
             .attrs = {"T: type", "block_size: int >= 2", "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"},
             .shape = shape,
             .gradient = gradient});
  };
  image("SpaceToDepth", "Blocks of height and width become depth.", image_shape<space_to_depth_sizes>,
        space_to_depth_gradient);
  image("DepthToSpace", "Depth becomes blocks of height and width.", image_shape<depth_to_space_sizes>,
        depth_to_space_gradient);
  ops.add({.name = "SpaceToBatchND",
           .doc = "Zero-pads the spatial axes, then makes each place in a block a batch row of its own.",
           .inputs = {"input: T", "block_shape: Tblock_shape", "paddings: Tpaddings"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tblock_shape: index = int32", "Tpaddings: index = int32"},
           .shape = batch_nd_shape<space_to_batch_sizes>,
           .gradient = space_to_batch_nd_gradient,
           .sharding = "n s.., ., . -> (k n) t..; whole k s.. t..; linear 0",
           .host_inputs = {1, 2}});
  ops.add({.name = "BatchToSpaceND",
           .doc = "The inverse of SpaceToBatchND, crops being what was padded.",
           .inputs = {"input: T", "block_shape: Tblock_shape", "crops: Tcrops"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tblock_shape: index = int32", "Tcrops: index = int32"},
           .shape = batch_nd_shape<batch_to_space_sizes>,
           .gradient = batch_to_space_nd_gradient,
           .sharding = "(k n) s.., ., . -> n t..; whole k s.. t..; linear 0",
           .host_inputs = {1, 2}});
  ops.add({.name = "SpaceToBatch",
           .doc = "SpaceToBatchND of an image, blocks being square.",
           .inputs = {"input: T", "paddings: Tpaddings"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Tpaddings: index = int32", "block_size: int >= 2"},
           .shape = batch_2d_shape<space_to_batch_sizes>,
           .gradient = space_to_batch_gradient,
           .sharding = "n s.., . -> (k n) t..; whole k s.. t..; linear 0",
           .host_inputs = {1}});
  ops.add({.name = "BatchToSpace",
           .doc = "BatchToSpaceND of an image, blocks being square.",
           .inputs = {"input: T", "crops: Tidx"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "block_size: int >= 2", "Tidx: index = int32"},
           .shape = batch_2d_shape<batch_to_space_sizes>,
           .gradient = batch_to_space_gradient,
           .sharding = "(k n) s.., . -> n t..; whole k s.. t..; linear 0",
           .host_inputs = {1}});
}

Value space_to_depth(Value x, int block_size, std::string_view data_format) {
  if (!x.valid()) return x;
  return x.graph().add("SpaceToDepth", {x}, {{"block_size", block_size}, {"data_format", std::string(data_format)}});
}
Value depth_to_space(Value x, int block_size, std::string_view data_format) {
  if (!x.valid()) return x;
  return x.graph().add("DepthToSpace", {x}, {{"block_size", block_size}, {"data_format", std::string(data_format)}});
}
Value space_to_batch(Value x, Value block_shape, Value paddings) {
  return x.valid() ? x.graph().add("SpaceToBatchND", {x, block_shape, paddings}) : x;
}
Value batch_to_space(Value x, Value block_shape, Value crops) {
  return x.valid() ? x.graph().add("BatchToSpaceND", {x, block_shape, crops}) : x;
}

}  // namespace argosy
