#include "argosy/ops/rnn/rnn.h"

#include <algorithm>

#include "argosy/graph/gradients.h"
#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Ranks of inputs from `first` on.
Status expect_ranks(const ShapeContext& c, int first, std::initializer_list<int> ranks) {
  for (const int rank : ranks) ARGOSY_RETURN_IF_ERROR(c.with_rank(first++, rank).status());
  return ok_status();
}

std::int64_t either(std::int64_t a, std::int64_t b) { return a >= 0 ? a : b; }

// Inputs x, cs_prev, h_prev, w …: batch and units, as far as they are known.
struct Known {
  std::int64_t batch = kUnknownSize, inputs = kUnknownSize, units = kUnknownSize;
};
Result<Known> cell_sizes(const ShapeContext& c, int first) {
  Known k;
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape x, c.with_rank(first, c.input(first).rank() == 3 ? 3 : 2));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape cell, c.with_rank(first + 1, 2));
  k.batch = either(x[x.rank() - 2], cell[0]);
  k.inputs = x[x.rank() - 1];
  k.units = cell[1];
  return k;
}

Status lstm_cell_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_ranks(c, 0, {2, 2, 2, 2, 1, 1, 1, 1}));
  ARGOSY_ASSIGN_OR_RETURN(const Known k, cell_sizes(c, 0));
  c.set_all_outputs({k.batch, k.units});
  return ok_status();
}
Status lstm_cell_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_ranks(c, 0, {2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2}));
  ARGOSY_ASSIGN_OR_RETURN(const Known k, cell_sizes(c, 0));
  c.set_output(0, {k.batch, k.units});
  c.set_output(1, {k.batch, k.units < 0 ? kUnknownSize : 4 * k.units});
  for (int i = 2; i < 5; ++i) c.set_output(i, {k.units});
  return ok_status();
}
Status block_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_ranks(c, 0, {0, 3, 2, 2, 2, 1, 1, 1, 1}));
  ARGOSY_ASSIGN_OR_RETURN(const Known k, cell_sizes(c, 1));
  const std::int64_t time = c.input(1).has_rank() ? c.input(1)[0] : kUnknownSize;
  c.set_all_outputs({time, k.batch, k.units});
  return ok_status();
}
Status block_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_ranks(c, 0, {0, 3, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3}));
  for (int i = 0; i < 8; ++i) c.set_output(i, c.input(i + 1));
  return ok_status();
}
Status gru_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_ranks(c, 0, {2, 2, 2, 2, 1, 1}));
  ARGOSY_ASSIGN_OR_RETURN(const Known k, cell_sizes(c, 0));
  c.set_all_outputs({k.batch, k.units});
  return ok_status();
}
Status gru_grad_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(expect_ranks(c, 0, {2, 2, 2, 2, 1, 1, 2, 2, 2, 2}));
  ARGOSY_ASSIGN_OR_RETURN(const Known k, cell_sizes(c, 0));
  c.set_output(0, {k.batch, k.inputs});
  c.set_output(1, {k.batch, k.units});
  c.set_output(2, {k.batch, k.units});
  c.set_output(3, {k.batch, k.units < 0 ? kUnknownSize : 2 * k.units});
  return ok_status();
}

// Two operations per weight and example.
Cost rnn_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  const int first = c.op().name.find("Block") == 0 ? 1 : 0;
  const PartialShape& x = c.input(first);
  const PartialShape& w = c.input(first + 3);
  if (x.is_full() && w.is_full() && x.rank() >= 1 && x[x.rank() - 1] > 0) {
    cost.flops = 2 * static_cast<double>(x.elements() / x[x.rank() - 1]) * static_cast<double>(w.elements());
  }
  return cost;
}

Value product(Value a, Value b, bool transpose_a, bool transpose_b) {
  return a.graph().add("MatMul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}
Value beside(Value a, Value b) { return a.graph().add("ConcatV2", {a, b, constant(a.graph(), 1)}); }
// Columns [0, width of a) and the rest.
std::pair<Value, Value> parted(Value both, Value a, Value b) {
  Graph& graph = both.graph();
  const auto width = [&](Value v) {
    return graph.add("GatherV2", {graph.add("Shape", {v}), constant(graph, 1), constant(graph, 0)});
  };
  const Value sizes = graph.add("Pack", {width(a), width(b)});
  const Value parts = graph.add("SplitV", {both, sizes, constant(graph, 1)}, {{"num_split", 2}});
  return {parts, parts.output(1)};
}
Value sum_rows(Value x) { return x.graph().add("Sum", {x, constant(x.graph(), 0)}); }

// Through cell and output alone, as TensorFlow's: the gates are for the gradient's own use.
std::vector<Value> lstm_cell_gradient(GradContext& g) {
  std::vector<Value> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(g.x(i));
  for (int i = 0; i < 6; ++i) inputs.push_back(g.y(i));
  inputs.insert(inputs.end(), {g.dy(1), g.dy(6)});
  const Value d = g.graph().add("LSTMBlockCellGrad", inputs, {{"use_peephole", g.attrs().get_bool("use_peephole")}});
  const Value gates = d.output(1);
  const Value xh = beside(g.x(0), g.x(2));
  const auto [dx, dh] = parted(product(gates, g.x(3), false, true), g.x(0), g.x(2));
  return {dx, d, dh, product(xh, gates, true, false), d.output(2), d.output(3), d.output(4), sum_rows(gates)};
}
std::vector<Value> block_gradient(GradContext& g) {
  std::vector<Value> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(g.x(i));
  for (int i = 0; i < 7; ++i) inputs.push_back(g.y(i));
  inputs.insert(inputs.end(), {g.dy(1), g.dy(6)});
  const char* op = g.node().op->name == "BlockLSTM" ? "BlockLSTMGrad" : "BlockLSTMGradV2";
  const Value d = g.graph().add(op, inputs, {{"use_peephole", g.attrs().get_bool("use_peephole")}});
  std::vector<Value> dxs = {Value()};
  for (int i = 0; i < 8; ++i) dxs.push_back(d.output(i));
  return dxs;
}
std::vector<Value> gru_gradient(GradContext& g) {
  std::vector<Value> inputs;
  for (int i = 0; i < 6; ++i) inputs.push_back(g.x(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(g.y(i));
  inputs.push_back(g.dy(3));
  const Value d = g.graph().add("GRUBlockCellGrad", inputs);
  const Value d_c = d.output(2), d_ru = d.output(3);
  const Value x = g.x(0), h = g.x(1);
  return {d,
          d.output(1),
          product(beside(x, h), d_ru, true, false),
          product(beside(x, h * g.y(0)), d_c, true, false),
          sum_rows(d_ru),
          sum_rows(d_c)};
}

const std::vector<std::string> kWeights = {"w: T", "wci: T", "wcf: T", "wco: T", "b: T"};
const std::vector<std::string> kGates = {"i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T"};

std::vector<std::string> joined(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

static void add_rnn_ops(OpRegistry& ops) {
  const std::string types = "T: {half, float}";
  const std::vector<std::string> state = {"x: T", "cs_prev: T", "h_prev: T"};
  const std::vector<std::string> length = {"seq_len_max: int64"};
  const std::vector<std::string> before = {"cs_grad: T", "h_grad: T"};
  ops.add({.name = "LSTMBlockCell",
           .doc = "One step of an LSTM.",
           .inputs = joined({state, kWeights}),
           .outputs = joined({kGates, {"h: T"}}),
           .attrs = {"forget_bias: float = 1.0", "cell_clip: float = 3.0", "use_peephole: bool = false", types},
           .shape = lstm_cell_shape,
           .gradient = lstm_cell_gradient,
           .cost = rnn_cost,
           .sharding = "n 1, n 1, n 1, ., ., ., ., . -> n 1, n 1, n 1, n 1, n 1, n 1, n 1"});
  ops.add({.name = "LSTMBlockCellGrad",
           .doc = "The gradient of LSTMBlockCell.",
           .inputs = joined({state, kWeights, kGates, before}),
           .outputs = {"cs_prev_grad: T", "dicfo: T", "wci_grad: T", "wcf_grad: T", "wco_grad: T"},
           .attrs = {"use_peephole: bool", types},
           .shape = lstm_cell_grad_shape,
           .gradient = kNotDifferentiable,
           .cost = rnn_cost,
           .sharding = "n 1, n 1, n 1, ., ., ., ., ., n 1, n 1, n 1, n 1, n 1, n 1, n 1, n 1 -> n 1, n 1, 1, 1, 1; sum "
                       "n; linear no"});
  for (const bool second : {false, true}) {
    const std::string version = second ? "V2" : "";
    const char* const clip = second ? "0.0" : "3.0";
    std::vector<std::string> attrs = {str_cat("cell_clip: float = ", clip), "use_peephole: bool = false", types};
    if (!second) attrs.emplace_back("forget_bias: float = 1.0");
    ops.add({.name = "BlockLSTM" + version,
             .doc = "An LSTM over a sequence.",
             .inputs = joined({length, state, kWeights}),
             .outputs = joined({kGates, {"h: T"}}),
             .attrs = attrs,
             .shape = block_shape,
             .gradient = block_gradient,
             .cost = rnn_cost,
             .host_inputs = {0}});
    ops.add({.name = "BlockLSTMGrad" + version,
             .doc = "The gradient of BlockLSTM" + version + ".",
             .inputs = joined({length, state, kWeights, kGates, {"h: T"}, before}),
             .outputs = {"x_grad: T", "cs_prev_grad: T", "h_prev_grad: T", "w_grad: T", "wci_grad: T", "wcf_grad: T",
                         "wco_grad: T", "b_grad: T"},
             .attrs = {"use_peephole: bool", types},
             .shape = block_grad_shape,
             .gradient = kNotDifferentiable,
             .cost = rnn_cost,
             .host_inputs = {0}});
  }
  const std::vector<std::string> gru = {"x: T", "h_prev: T", "w_ru: T", "w_c: T", "b_ru: T", "b_c: T"};
  ops.add({.name = "GRUBlockCell",
           .doc = "One step of a GRU.",
           .inputs = gru,
           .outputs = {"r: T", "u: T", "c: T", "h: T"},
           .attrs = {"T: {float}"},
           .shape = gru_shape,
           .gradient = gru_gradient,
           .cost = rnn_cost,
           .sharding = "n 1, n 1, ., ., ., . -> n 1, n 1, n 1, n 1"});
  ops.add({.name = "GRUBlockCellGrad",
           .doc = "The gradient of GRUBlockCell.",
           .inputs = joined({gru, {"r: T", "u: T", "c: T", "d_h: T"}}),
           .outputs = {"d_x: T", "d_h_prev: T", "d_c_bar: T", "d_r_bar_u_bar: T"},
           .attrs = {"T: {float}"},
           .shape = gru_grad_shape,
           .gradient = kNotDifferentiable,
           .cost = rnn_cost,
           .sharding = "n 1, n 1, ., ., ., ., n 1, n 1, n 1, n 1 -> n 1, n 1, n 1, n 1"});
}

void define_rnn(OpRegistry& ops) {
  with_sharding(
      ops, add_rnn_ops,
      {{"BlockLSTM", "., t n 1, n 1, n 1, ., ., ., ., . -> t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1; whole t"},
       {"BlockLSTMGrad",
        "., t n 1, n 1, n 1, ., ., ., ., ., t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1 -> t n 1, n "
        "1, n 1, 1 1, 1, 1, 1, 1; whole t; sum n"},
       {"BlockLSTMV2", "., t n 1, n 1, n 1, ., ., ., ., . -> t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1; whole t"},
       {"BlockLSTMGradV2",
        "., t n 1, n 1, n 1, ., ., ., ., ., t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1, t n 1 -> t n 1, n "
        "1, n 1, 1 1, 1, 1, 1, 1; whole t; sum n"}});
}

namespace {

std::vector<Value> lstm_inputs(Value x, const LstmState& s, const LstmWeights& w) {
  return {x, s.cell, s.output, w.w, w.peephole_i, w.peephole_f, w.peephole_o, w.b};
}
AttrMap lstm_attrs(const LstmOptions& o) {
  return {{"forget_bias", o.forget_bias}, {"cell_clip", o.cell_clip}, {"use_peephole", o.use_peephole}};
}

}  // namespace

LstmState lstm_block_cell(Value x, const LstmState& before, const LstmWeights& weights, const LstmOptions& options) {
  if (!x.valid()) return {};
  const Value y = x.graph().add("LSTMBlockCell", lstm_inputs(x, before, weights), lstm_attrs(options));
  return {y.output(1), y.output(6)};
}
LstmState block_lstm(Value seq_len_max, Value x, const LstmState& before, const LstmWeights& weights,
                     const LstmOptions& options) {
  if (!x.valid()) return {};
  std::vector<Value> inputs = lstm_inputs(x, before, weights);
  inputs.insert(inputs.begin(), seq_len_max);
  const Value y = x.graph().add("BlockLSTM", std::move(inputs), lstm_attrs(options));
  return {y.output(1), y.output(6)};
}
Value gru_block_cell(Value x, Value before, Value w_ru, Value w_c, Value b_ru, Value b_c) {
  return x.valid() ? x.graph().add("GRUBlockCell", {x, before, w_ru, w_c, b_ru, b_c}).output(3) : x;
}

}  // namespace argosy
