#include "argosy/graph/gradients.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/layout/layout.h"
#include "argosy/ops/layout/layout_registration.h"
#include "argosy/ops/layout/layout_sharding.h"
#include "argosy/ops/layout/shared_rows.h"
#include "argosy/ops/layout/strided_slice.h"

namespace argosy {

namespace {

Status slice_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape begin_shape, c.with_rank(1, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape size_shape, c.with_rank(2, 1));
  ARGOSY_ASSIGN_OR_RETURN(PartialShape length, begin_shape.merge(size_shape));
  PartialShape x = c.input(0);
  if (x.has_rank() && length[0] >= 0 && length[0] != x.rank()) {
    return invalid_argument("Expected begin and size arguments to be 1-D tensors of size ", x.rank(),
                            ", but got shapes ", begin_shape, " and ", size_shape, " instead");
  }
  if (x.has_rank()) {
    ARGOSY_ASSIGN_OR_RETURN(length, length.merge({x.rank()}));
  } else if (length[0] >= 0 && length[0] <= Shape::kMaxRank) {
    x = PartialShape::unknown_of_rank(static_cast<int>(length[0]));
  } else {
    return ok_status();
  }
  std::vector<std::int64_t> out(static_cast<std::size_t>(x.rank()), PartialShape::kUnknown);
  for (int i = 0; i < x.rank(); ++i) {
    const auto begin = c.int_at(1, i);
    const auto size = c.int_at(2, i);
    if (begin && x[i] >= 0 && (*begin < 0 || *begin > x[i])) {
      return invalid_argument("Expected begin[", i, "] in [0, ", x[i], "], but got ", *begin);
    }
    if (begin && x[i] >= 0 && size && (*size < -1 || *size > x[i] - *begin)) {
      return invalid_argument("Expected size[", i, "] in [0, ", x[i] - *begin, "], but got ", *size);
    }
    if (size && *size < -1) return invalid_argument("Slice: size[", i, "] is ", *size);
    if (begin && *begin < 0) return invalid_argument("Slice: begin[", i, "] is ", *begin);
    if (size && *size >= 0) {
      out[i] = *size;
    } else if (size && begin && x[i] >= 0) {
      out[i] = x[i] - *begin;
    }
  }
  c.set_output(0, PartialShape(std::move(out)));
  return ok_status();
}

std::optional<PartialInts> slice_ints(const ShapeContext& c, int) {
  const PartialInts* const x = c.ints(0);
  const auto begin = c.input_as_int(1);
  const PartialShape& y = c.output(0);
  if (x == nullptr || !begin || y.rank() != 1 || y[0] < 0) return std::nullopt;
  if (*begin < 0 || *begin + y[0] > static_cast<std::int64_t>(x->size())) return std::nullopt;
  return PartialInts(x->begin() + *begin, x->begin() + *begin + y[0]);
}

// All of it, or aligned rows.
bool slice_is_view(const ShapeContext& c) {
  const PartialShape& x = c.input(0);
  if (!x.is_full()) return false;
  bool all = true;
  for (int i = 0; i < x.rank(); ++i) {
    const auto begin = c.int_at(1, i), size = c.int_at(2, i);
    if (!begin || !size) return false;
    const bool all_of_axis = *begin == 0 && (*size == x[i] || *size == -1);
    if (i > 0 && !all_of_axis) return false;
    all = all && all_of_axis;
  }
  if (all) return true;
  const std::int64_t begin = *c.int_at(1, 0), size = *c.int_at(2, 0);
  return are_aligned_rows(x, c.input_dtype(0), begin, size < 0 ? x[0] : begin + size);
}

// y = x[begin : begin + size]  =>  dx = dy, padded back to x's shape
std::vector<Value> slice_gradient(GradContext& g) {
  Graph& graph = g.graph();
  const DType index = g.attrs().get_type("Index");
  const auto shape_of = [&](Value v) { return graph.add("Shape", {v}, {{"out_type", index}}); };
  const Value begin = g.x(1);
  const PartialShape& x = g.x(0).shape();
  const PartialShape& y = g.y().shape();
  const PartialInts* const known = graph.known_ints(begin.endpoint());
  if (known != nullptr && x.is_full() && y.is_full()) {
    std::vector<std::pair<std::int64_t, std::int64_t>> paddings;
    for (int i = 0; i < x.rank(); ++i) {
      const auto from = (*known)[static_cast<std::size_t>(i)];
      if (from) paddings.emplace_back(*from, x[i] - y[i] - *from);
    }
    if (static_cast<int>(paddings.size()) == x.rank()) return {pad(g.dy(), paddings), Value(), Value()};
  }
  const Value rest = graph.add("Sub", {graph.add("Sub", {shape_of(g.x(0)), shape_of(g.y())}), begin});
  const Value paddings = graph.add("Pack", {begin, rest}, {{"axis", 1}});
  return {graph.add("Pad", {g.dy(), paddings}), Value(), Value()};
}

Ints numbers(const ShapeContext& c, int i, int length) {
  Ints values = Ints::filled(length, kUnknownIndex);
  if (const PartialInts* known = c.ints(i); known && static_cast<int>(known->size()) == length) {
    for (int k = 0; k < length; ++k) values[k] = (*known)[k].value_or(kUnknownIndex);
  }
  return values;
}

// The view of input `x`, as far as it is known; an unknown number of axes or indices gives none.
Result<std::optional<StridedSliceView>> strided_view(const ShapeContext& c, const PartialShape& x, int first) {
  PartialShape length = PartialShape::unknown_of_rank(1);
  for (int i = first; i < first + 3; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape vector, c.with_rank(i, 1));
    ARGOSY_ASSIGN_OR_RETURN(length, length.merge(vector));
  }
  if (!x.has_rank() || length[0] < 0) return std::optional<StridedSliceView>();
  if (length[0] > 32) return invalid_argument(c.op().name, ": ", length[0], " indices; at most 32 are allowed");
  const int n = static_cast<int>(length[0]);
  ARGOSY_ASSIGN_OR_RETURN(StridedSliceView view,
                          resolve_strided_slice(c.op().name, x.sizes(), numbers(c, first, n), numbers(c, first + 1, n),
                                                numbers(c, first + 2, n), StridedSliceMasks::of(c.attrs())));
  return std::optional<StridedSliceView>(std::move(view));
}

Status strided_slice_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto view, strided_view(c, c.input(0), 1));
  if (view) c.set_output(0, PartialShape(std::vector(view->output_sizes.begin(), view->output_sizes.end())));
  return ok_status();
}

std::optional<PartialInts> strided_slice_ints(const ShapeContext& c, int) {
  const PartialInts* const x = c.ints(0);
  if (x == nullptr || c.input(0).rank() != 1) return std::nullopt;
  for (int i = 1; i < 4; ++i) {
    if (c.ints(i) == nullptr) return std::nullopt;
  }
  const auto view = strided_view(c, c.input(0), 1);
  if (!view.ok() || !*view || c.output(0).elements() < 0 || (*view)->sizes[0] < 0) return std::nullopt;
  // A shrunk axis whose index is unknown has a size of one, but no place.
  if ((*view)->begin[0] == kUnknownIndex || (*view)->strides[0] == kUnknownIndex) return std::nullopt;
  if (static_cast<std::int64_t>(x->size()) != c.input(0)[0]) return std::nullopt;
  PartialInts y;
  for (std::int64_t i = 0; i < (*view)->sizes[0]; ++i) {
    y.push_back((*x)[static_cast<std::size_t>((*view)->begin[0] + i * (*view)->strides[0])]);
  }
  return y;
}

// All of it, or aligned rows, in any shape.
bool strided_slice_is_view(const ShapeContext& c) {
  const PartialShape& x = c.input(0);
  const auto view = strided_view(c, x, 1);
  if (!view.ok() || !*view || !x.is_full()) return false;
  const StridedSliceView& part = **view;
  bool all = true;
  for (int i = 0; i < x.rank(); ++i) {
    if (part.begin[i] == kUnknownIndex || part.sizes[i] < 0 || part.strides[i] != 1) return false;
    const bool all_of_axis = part.begin[i] == 0 && part.sizes[i] == x[i];
    if (i > 0 && !all_of_axis) return false;
    all = all && all_of_axis;
  }
  return all || are_aligned_rows(x, c.input_dtype(0), part.begin[0], part.begin[0] + part.sizes[0]);
}

AttrMap masks_of(const AttrMap& attrs) {
  AttrMap masks;
  for (const char* name : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    masks.set(name, attrs.get_int(name));
  }
  return masks;
}

// y = x[begin:end:strides]  =>  dx = zeros of x's shape with dx[begin:end:strides] = dy
std::vector<Value> strided_slice_gradient(GradContext& g) {
  Graph& graph = g.graph();
  Value begin = g.x(1), end = g.x(2), strides = g.x(3);
  DType index = g.attrs().get_type("Index");
  if (index == DType::kInt16) {  // which StridedSliceGrad does not take
    index = DType::kInt32;
    for (Value* v : {&begin, &end, &strides}) *v = graph.add("Cast", {*v}, {{"DstT", index}});
  }
  const Value shape = graph.add("Shape", {g.x()}, {{"out_type", index}});
  const Value dx = graph.add("StridedSliceGrad", {shape, begin, end, strides, g.dy()}, masks_of(g.attrs()));
  return {dx, Value(), Value(), Value()};
}

Status strided_slice_grad_shape(ShapeContext& c) {
  const PartialShape x = c.input_as_shape(0);
  ARGOSY_ASSIGN_OR_RETURN(const auto view, strided_view(c, x, 1));
  if (view) {
    const PartialShape expected(std::vector(view->output_sizes.begin(), view->output_sizes.end()));
    if (!expected.compatible(c.input(4))) {
      return invalid_argument("StridedSliceGrad: dy has shape ", c.input(4), ", the slice ", expected);
    }
  }
  c.set_output(0, x);
  return ok_status();
}

std::vector<Value> strided_slice_grad_gradient(GradContext& g) {
  const Value ddy = g.graph().add("StridedSlice", {g.dy(), g.x(1), g.x(2), g.x(3)}, masks_of(g.attrs()));
  return {Value(), Value(), Value(), Value(), ddy};
}

}  // namespace

void define_slices(OpRegistry& ops) {
  ops.add({.name = "Slice",
           .doc = "size elements per axis from begin on; size -1 means the rest.",
           .inputs = {"input: T", "begin: Index", "size: Index"},
           .outputs = {"output: T"},
           .attrs = {"T: type", "Index: index"},
           .shape = slice_shape,
           .gradient = slice_gradient,
           .known_ints = slice_ints,
           .linear = Linear::kJointly,
           .view = slice_is_view,
           .sharding_rule = slice_sharding,
           .host_inputs = {1, 2}});
  const std::vector<std::string> masks = {"begin_mask: int = 0", "end_mask: int = 0", "ellipsis_mask: int = 0",
                                          "new_axis_mask: int = 0", "shrink_axis_mask: int = 0"};
  std::vector<std::string> attrs = {"T: type", "Index: {int16, int32, int64}"};
  attrs.insert(attrs.end(), masks.begin(), masks.end());
  ops.add({.name = "StridedSlice",
           .doc = "x[begin:end:strides], as NumPy slices; bit i of a mask speaks of index i.",
           .inputs = {"input: T", "begin: Index", "end: Index", "strides: Index"},
           .outputs = {"output: T"},
           .attrs = attrs,
           .shape = strided_slice_shape,
           .gradient = strided_slice_gradient,
           .known_ints = strided_slice_ints,
           .linear = Linear::kJointly,
           .view = strided_slice_is_view,
           .sharding_rule = strided_slice_sharding,
           .host_inputs = {1, 2, 3}});
  attrs[1] = "Index: index";
  ops.add({.name = "StridedSliceGrad",
           .doc = "Zeros of the given shape, in which the slice holds dy.",
           .inputs = {"shape: Index", "begin: Index", "end: Index", "strides: Index", "dy: T"},
           .outputs = {"output: T"},
           .attrs = attrs,
           .shape = strided_slice_grad_shape,
           .gradient = strided_slice_grad_gradient,
           .linear = Linear::kJointly,
           .sharding_rule = strided_slice_grad_sharding,
           .host_inputs = {0, 1, 2, 3}});
}

Value slice(Value x, Value begin, Value size) { return x.valid() ? x.graph().add("Slice", {x, begin, size}) : Value(); }

Value slice(Value x, const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size) {
  if (!x.valid()) return {};
  return slice(x, constant(x.graph(), Tensor::vector(begin)), constant(x.graph(), Tensor::vector(size)));
}

Value index(Value x, const std::vector<Index>& indices) {
  if (!x.valid()) return {};
  std::vector<std::int64_t> begin, end, strides;
  StridedSliceMasks masks;
  std::int64_t bit = 1;
  for (const Index& i : indices) {
    begin.push_back(0);
    end.push_back(0);
    strides.push_back(1);
    if (const auto* at = std::get_if<std::int64_t>(&i)) {
      begin.back() = *at;
      end.back() = *at + 1;
      masks.shrink_axis |= bit;
    } else if (const auto* part = std::get_if<Slice>(&i)) {
      begin.back() = part->begin.value_or(0);
      end.back() = part->end.value_or(0);
      strides.back() = part->step;
      if (!part->begin) masks.begin |= bit;
      if (!part->end) masks.end |= bit;
    } else {
      (std::holds_alternative<NewAxis>(i) ? masks.new_axis : masks.ellipsis) |= bit;
    }
    bit <<= 1;
  }
  Graph& graph = x.graph();
  return graph.add("StridedSlice",
                   {x, constant(graph, Tensor::vector(begin)), constant(graph, Tensor::vector(end)),
                    constant(graph, Tensor::vector(strides))},
                   {{"begin_mask", masks.begin},
                    {"end_mask", masks.end},
                    {"ellipsis_mask", masks.ellipsis},
                    {"new_axis_mask", masks.new_axis},
                    {"shrink_axis_mask", masks.shrink_axis}});
}

}  // namespace argosy
