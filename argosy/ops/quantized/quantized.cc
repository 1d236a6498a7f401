#include "argosy/ops/quantized/quantized.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/conv/window.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

const std::string kAny = "{qint8, quint8, qint32, qint16, quint16}";
std::string any(const std::string& attr) { return attr + ": " + kAny; }
std::string any(const std::string& attr, const std::string& usual) { return attr + ": " + kAny + " = " + usual; }

// --- shapes: ranges are scalars --------------------------------------------------------------------------------------

Status scalars_from(ShapeContext& c, int first_output) {
  for (int i = first_output; i < c.num_outputs(); ++i) c.set_output(i, PartialShape::scalar());
  return ok_status();
}

Status same_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return scalars_from(c, 1);
}
Status range_shape(ShapeContext& c) { return scalars_from(c, 0); }

// Along an axis ranges are vectors.
Status axis_shape(ShapeContext& c) {
  const std::int64_t axis = c.attrs().get_int("axis");
  if (axis < -1) return invalid_argument(c.op().name, ": Axis must be at least -1. Found ", axis);
  c.set_output(0, c.input(0));
  if (axis == -1) return scalars_from(c, 1);
  if (c.input(0).has_rank() && axis >= c.input(0).rank()) {
    return invalid_argument(c.op().name, ": axis ", axis, " of an input of shape ", c.input(0));
  }
  const std::int64_t n = c.input(0).has_rank() ? c.input(0)[static_cast<int>(axis)] : PartialShape::kUnknown;
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, {n});
  return ok_status();
}

Status pair_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(PartialShape both, broadcast(c.input(0), c.input(1)));
  c.set_output(0, std::move(both));
  return scalars_from(c, 1);
}

Status matmul_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape a, c.with_rank(0, 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape b, c.with_rank(1, 2));
  const bool ta = c.attrs().get_bool("transpose_a"), tb = c.attrs().get_bool("transpose_b");
  const std::int64_t k = a[ta ? 0 : 1], other = b[tb ? 1 : 0];
  if (k >= 0 && other >= 0 && k != other) {
    return invalid_argument("Matrix size-incompatible: In[0]: ", a, ", In[1]: ", b);
  }
  c.set_output(0, {a[ta ? 1 : 0], b[tb ? 0 : 1]});
  return scalars_from(c, 1);
}

Result<WindowAttrs> window_of(const ShapeContext& c) { return read_window(c.op().name, c.attrs()); }

Status conv_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const WindowAttrs w, window_of(c));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape f, c.with_rank(1, 4));
  if (x[3] >= 0 && f[2] >= 0 && x[3] != f[2]) {
    return invalid_argument(c.op().name, ": the input has ", x[3], " channels, the filter ", f[2]);
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t rows, slide_size(c.op().name, w, 0, x[1], f[0]));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t columns, slide_size(c.op().name, w, 1, x[2], f[1]));
  c.set_output(0, {x[0], rows, columns, f[3]});
  return scalars_from(c, 1);
}

Status pool_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const WindowAttrs w, window_of(c));
  ARGOSY_ASSIGN_OR_RETURN(const auto window,
                          spatial_pair(c.op().name, "ksize", c.attrs().get<std::vector<std::int64_t>>("ksize"), false));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(0, 4));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t rows, slide_size(c.op().name, w, 0, x[1], window[0]));
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t columns, slide_size(c.op().name, w, 1, x[2], window[1]));
  c.set_output(0, {x[0], rows, columns, x[3]});
  return scalars_from(c, 1);
}

Status bias_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape bias, c.with_rank(1, 1));
  const PartialShape& x = c.input(0);
  if (x.has_rank() && x.rank() < 2) {
    return invalid_argument(c.op().name, ": Input tensor must be at least 2D: ", x);
  }
  if (x.has_rank() && x[x.rank() - 1] >= 0 && bias[0] >= 0 && x[x.rank() - 1] != bias[0]) {
    return invalid_argument("Must provide as many biases as the last dimension of the input tensor: ", bias, " vs. ",
                            x);
  }
  return same_shape(c);
}

Status reshape_shape(ShapeContext& c) {
  const PartialShape wanted = c.input_as_shape(1);
  c.set_output(0, wanted);
  if (wanted.is_full() && c.input(0).is_full() && wanted.elements() != c.input(0).elements()) {
    return invalid_argument("Input to reshape is a tensor with ", c.input(0).elements(),
                            " values, but the requested shape has ", wanted.elements());
  }
  return scalars_from(c, 1);
}

Status unknown_shape(ShapeContext& c) {
  c.set_output(0, PartialShape::unknown());
  return scalars_from(c, 1);
}

std::vector<OpRow> rows() {
  const std::string mode = "mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'";
  const std::string padding = "padding: {'SAME', 'VALID'}";
  const std::string out = any("out_type");
  return {
      {"QuantizeV2",
       "The integers that stand for numbers of a range, and that range as it was adjusted.",
       {"input: float", "min_range: float", "max_range: float"},
       {"output: T", "output_min: float", "output_max: float"},
       {any("T"), mode, "round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'",
        "narrow_range: bool = false", "axis: int = -1", "ensure_minimum_range: float = 0.01"},
       axis_shape},
      {"Dequantize",
       "The numbers that integers stand for.",
       {"input: T", "min_range: float", "max_range: float"},
       {"output: dtype"},
       {any("T"), mode, "narrow_range: bool = false", "axis: int = -1", "dtype: {bfloat16, float} = float"},
       axis_shape},
      {"Requantize",
       "The same numbers as integers of another range.",
       {"input: Tinput", "input_min: float", "input_max: float", "requested_output_min: float",
        "requested_output_max: float"},
       {"output: out_type", "output_min: float", "output_max: float"},
       {any("Tinput"), out},
       same_shape},
      {"RequantizationRange",
       "The range that the integers really take.",
       {"input: Tinput", "input_min: float", "input_max: float"},
       {"output_min: float", "output_max: float"},
       {any("Tinput")},
       range_shape},
      {"QuantizeDownAndShrinkRange",
       "The same numbers as integers of the range that they really take.",
       {"input: Tinput", "input_min: float", "input_max: float"},
       {"output: out_type", "output_min: float", "output_max: float"},
       {any("Tinput"), out},
       same_shape},
      {"QuantizedMatMul",
       "The matrix product, exactly.",
       {"a: T1", "b: T2", "min_a: float", "max_a: float", "min_b: float", "max_b: float"},
       {"out: Toutput", "min_out: float", "max_out: float"},
       {any("T1"), any("T2"), any("Toutput", "qint32"), "transpose_a: bool = false", "transpose_b: bool = false",
        any("Tactivation", "quint8")},
       matmul_shape},
      {"QuantizedConv2D",
       "The convolution, exactly.",
       {"input: Tinput", "filter: Tfilter", "min_input: float", "max_input: float", "min_filter: float",
        "max_filter: float"},
       {"output: out_type", "min_output: float", "max_output: float"},
       {any("Tinput"), any("Tfilter"), any("out_type", "qint32"), "strides: list(int)", padding,
        "dilations: list(int) = [1, 1, 1, 1]"},
       conv_shape},
      {"QuantizedRelu",
       "max(features, 0).",
       {"features: Tinput", "min_features: float", "max_features: float"},
       {"activations: out_type", "min_activations: float", "max_activations: float"},
       {any("Tinput"), any("out_type", "quint8")},
       same_shape},
      {"QuantizedRelu6",
       "min(max(features, 0), 6).",
       {"features: Tinput", "min_features: float", "max_features: float"},
       {"activations: out_type", "min_activations: float", "max_activations: float"},
       {any("Tinput"), any("out_type", "quint8")},
       same_shape},
      {"QuantizedBiasAdd",
       "Every row plus the bias.",
       {"input: T1", "bias: T2", "min_input: float", "max_input: float", "min_bias: float", "max_bias: float"},
       {"output: out_type", "min_out: float", "max_out: float"},
       {any("T1"), any("T2"), out},
       bias_shape},
      {"QuantizedAdd",
       "x + y.",
       {"x: T1", "y: T2", "min_x: float", "max_x: float", "min_y: float", "max_y: float"},
       {"z: Toutput", "min_z: float", "max_z: float"},
       {any("T1"), any("T2"), any("Toutput", "qint32")},
       pair_shape},
      {"QuantizedMul",
       "x * y, exactly.",
       {"x: T1", "y: T2", "min_x: float", "max_x: float", "min_y: float", "max_y: float"},
       {"z: Toutput", "min_z: float", "max_z: float"},
       {any("T1"), any("T2"), any("Toutput", "qint32")},
       pair_shape},
      {"QuantizedReshape",
       "The same elements in another shape.",
       {"tensor: T", "shape: Tshape", "input_min: float", "input_max: float"},
       {"output: T", "output_min: float", "output_max: float"},
       {"T: type", "Tshape: index = int32"},
       reshape_shape,
       {.host_inputs = {1}}},
      {"QuantizedMaxPool",
       "The largest under each window.",
       {"input: T", "min_input: float", "max_input: float"},
       {"output: T", "min_output: float", "max_output: float"},
       {any("T"), "ksize: list(int)", "strides: list(int)", padding},
       pool_shape},
      {"QuantizedAvgPool",
       "The mean under each window, towards 0.",
       {"input: T", "min_input: float", "max_input: float"},
       {"output: T", "min_output: float", "max_output: float"},
       {any("T"), "ksize: list(int)", "strides: list(int)", padding},
       pool_shape},
      {"QuantizedConcat",
       "Inputs one after another, in one range that has room for all.",
       {"concat_dim: int32", "values: N * T", "input_mins: N * float", "input_maxes: N * float"},
       {"output: T", "output_min: float", "output_max: float"},
       {"N: int >= 2", "T: type"},
       unknown_shape,
       {.host_inputs = {0}}},
  };
}

}  // namespace

static void add_quantized_ops(OpRegistry& ops) { add_rows(ops, rows(), {.cpu_only = true, .blocks_gradient = true}); }

Quantized quantize(Value x, Value least, Value greatest, DType dtype, const std::string& mode) {
  if (!x.valid()) return {};
  const Value q = x.graph().add("QuantizeV2", {x, least, greatest}, {{"T", dtype}, {"mode", mode}});
  return {q.output(0), q.output(1), q.output(2)};
}

void define_quantized(OpRegistry& ops) {
  with_sharding(ops, add_quantized_ops, {}, "whole: ranges of quantised values are of all elements");
}
Value dequantize(const Quantized& x, const std::string& mode) {
  if (!x.values.valid()) return {};
  return x.values.graph().add("Dequantize", {x.values, x.least, x.greatest}, {{"mode", mode}});
}

}  // namespace argosy
