#include "argosy/graph/gradients.h"
#include "argosy/op/shape_context.h"
#include "argosy/ops/array/array.h"
#include "argosy/ops/array/parts.h"
#include "argosy/ops/array/windows.h"
#include "argosy/ops/constant/constant.h"

namespace argosy {

namespace {

using Sizes = std::vector<std::int64_t>;

Status expect_spatial(const ShapeContext& c, const char* attr, std::size_t axes) {
  const Sizes& v = c.attrs().get<Sizes>(attr);
  if (v.size() != axes + 2) return invalid_argument(c.op().name, ": ", attr, " must hold ", axes + 2, " numbers");
  if (v.front() != 1 || v.back() != 1) return unimplemented(c.op().name, ": only supports ", attr, " across space");
  for (const std::int64_t n : v) {
    if (n < 1 || n > (std::int64_t{1} << 31))
      return invalid_argument(c.op().name, ": ", attr, " are out of range: ", n);
  }
  return ok_status();
}

template <int kAxes>
Status patches_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_spatial(c, "ksizes", kAxes));
  ARGOSY_RETURN_IF_ERROR(expect_spatial(c, "strides", kAxes));
  if (kAxes == 2) ARGOSY_RETURN_IF_ERROR(expect_spatial(c, "rates", kAxes));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, kAxes + 2));
  const bool same = c.attrs().get_string("padding") == "SAME";
  Sizes sizes = {x[0]};
  std::int64_t depth = x[kAxes + 1];
  for (int i = 0; i < kAxes; ++i) {
    const auto k = static_cast<std::size_t>(i + 1);
    Windows w{.size = x[i + 1],
              .window = c.attrs().get<Sizes>("ksizes")[k],
              .stride = c.attrs().get<Sizes>("strides")[k],
              .rate = kAxes == 2 ? c.attrs().get<Sizes>("rates")[k] : 1};
    if (w.size >= 0) w.place(same);
    sizes.push_back(w.size >= 0 ? w.count : PartialShape::kUnknown);
    if (depth >= 0 && __builtin_mul_overflow(depth, w.window, &depth)) {
      return invalid_argument(c.op().name, ": patches of so many elements do not exist");
    }
  }
  sizes.push_back(depth);
  c.set_output(0, PartialShape(std::move(sizes)));
  return ok_status();
}

// Each element of a patch comes from one element of the images: numbers in place of elements tell from which.
std::vector<Value> patches_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const Value x = g.x();
  const Value shape = graph.add("Shape", {x});
  const Value n = graph.add("Size", {x});
  const Value flat = constant(graph, Tensor::vector<std::int32_t>({-1}));
  // Counted from 1: padding reads 0.
  const Value numbers = graph.add(
      "Reshape",
      {graph.add("Range", {constant(graph, 1), graph.add("AddV2", {n, constant(graph, 1)}), constant(graph, 1)}),
       shape});
  AttrMap attrs = {{"ksizes", g.attrs().get<Sizes>("ksizes")},
                   {"strides", g.attrs().get<Sizes>("strides")},
                   {"padding", g.attrs().get_string("padding")}};
  if (const auto* rates = g.attrs().find_as<Sizes>("rates")) attrs.set("rates", *rates);
  const Value origin = graph.add(g.node().op->name, {numbers}, attrs);
  const Value sums =
      graph.add("UnsortedSegmentSum", {graph.add("Reshape", {g.dy(), flat}), graph.add("Reshape", {origin, flat}),
                                       graph.add("AddV2", {n, constant(graph, 1)})});
  const Value one = constant(graph, Tensor::vector<std::int32_t>({1}));
  const Value all = constant(graph, Tensor::vector<std::int32_t>({-1}));
  return {graph.add("Reshape", {graph.add("Slice", {sums, one, all}), shape})};
}

}  // namespace

void define_array_patches(OpRegistry& ops) {
  const std::string padding = "padding: {'SAME', 'VALID'}";
  ops.add({.name = "ExtractImagePatches",
           .doc = "Windows of images, each flattened into the last axis.",
           .inputs = {"images: T"},
           .outputs = {"patches: T"},
           .attrs = {"ksizes: list(int) >= 4", "strides: list(int) >= 4", "rates: list(int) >= 4",
                     "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
                     "complex64, complex128, bool}",
                     padding},
           .shape = patches_shape<2>,
           .gradient = patches_gradient});
  ops.add({.name = "ExtractVolumePatches",
           .doc = "Windows of volumes, each flattened into the last axis.",
           .inputs = {"input: T"},
           .outputs = {"patches: T"},
           .attrs = {"ksizes: list(int) >= 5", "strides: list(int) >= 5", "T: real", padding},
           .shape = patches_shape<3>,
           .gradient = patches_gradient});
}

}  // namespace argosy
