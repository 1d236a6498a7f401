#include "argosy/ops/random/random.h"

#include <limits>

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/random/random_shard.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

Status shaped(ShapeContext& c) {
  if (c.input(0).rank() > 1) {
    return invalid_argument(c.op().name, ": shape must be a vector, not of shape ", c.input(0));
  }
  if (c.input(0).rank() == 0) {
    return invalid_argument(c.op().name, ": shape must be a vector, not a scalar");
  }
  const PartialInts* const known = c.ints(0);
  for (std::size_t i = 0; known != nullptr && i < known->size(); ++i) {
    if ((*known)[i].value_or(0) < 0) {
      return invalid_argument(c.op().name, ": shape[", i, "] is ", *(*known)[i]);
    }
  }
  c.set_output(0, c.input_as_shape(0));
  return ok_status();
}

Status expect_scalar(const ShapeContext& c, int i) {
  if (c.input(i).rank() > 0) {
    return invalid_argument(c.op().name, ": ", c.op().input_args[i].name, " must be a scalar, not of shape ",
                            c.input(i));
  }
  return ok_status();
}

Status uniform_int_shape(ShapeContext& c) {
  for (int i = c.num_inputs() - 2; i < c.num_inputs(); ++i) ARGOSY_RETURN_IF_ERROR(expect_scalar(c, i));
  return shaped(c);
}

Status seeded_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape seed, c.with_rank(1, 1));
  if (!seed.compatible({2})) return invalid_argument(c.op().name, ": seed must hold two integers, not ", seed);
  return shaped(c);
}

Status seeded_int_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(seeded_shape(c));
  return uniform_int_shape(c);
}

Status keyed_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape key, c.with_rank(1, 1));
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape counter, c.with_rank(2, 1));
  ARGOSY_RETURN_IF_ERROR(expect_scalar(c, 3));
  if (!key.compatible({1})) return invalid_argument(c.op().name, ": key must hold one integer, not ", key);
  return shaped(c);
}

Status keyed_int_shape(ShapeContext& c) {
  ARGOSY_RETURN_IF_ERROR(keyed_shape(c));
  return uniform_int_shape(c);
}

Status samples_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape logits, c.with_rank(0, 2));
  ARGOSY_RETURN_IF_ERROR(expect_scalar(c, 1));
  const auto samples = c.input_as_int(1);
  if (samples && *samples < 0) return invalid_argument(c.op().name, ": num_samples is ", *samples);
  if (c.num_inputs() == 3) {
    ARGOSY_ASSIGN_OR_RETURN(const PartialShape seed, c.with_rank(2, 1));
    if (!seed.compatible({2})) return invalid_argument(c.op().name, ": seed must hold two integers, not ", seed);
  }
  c.set_output(0, PartialShape({logits[0], samples.value_or(PartialShape::kUnknown)}));
  return ok_status();
}

Status key_counter_shape(ShapeContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const PartialShape seed, c.with_rank(0, 1));
  if (!seed.compatible({2})) return invalid_argument(c.op().name, ": seed must hold two integers, not ", seed);
  c.set_output(0, PartialShape({1}));
  c.set_output(1, PartialShape({2}));
  if (c.num_outputs() == 3) c.set_output(2, PartialShape::scalar());
  return ok_status();
}

// Philox costs about thirty integer operations a number, the distributions on top of it as much again.
Cost random_cost(const ShapeContext& c) {
  Cost cost = elementwise_cost(c);
  cost.flops *= 40;
  return cost;
}

}  // namespace

void define_stream_place(OpRegistry& ops);  // stream_place.cc

static void add_random_ops(OpRegistry& ops) {
  const auto add = [&](OpSpec spec) {
    spec.gradient = kNotDifferentiable;
    spec.blocks_gradient = true;
    spec.cost = random_cost;
    ops.add(std::move(spec));
  };
  const std::string dtypes = "{half, bfloat16, float, double}";
  const std::vector<std::string> seeds = {"seed: int = 0", "seed2: int = 0"};
  const auto with_seeds = [&](std::vector<std::string> attrs) {
    attrs.insert(attrs.begin(), seeds.begin(), seeds.end());
    return attrs;
  };
  // And the op that draws one shard of a batch (random_shard.h).
  const auto add_with_shard = [&](OpSpec spec) {
    add(spec);
    spec.name = kShardPrefix + spec.name;
    spec.doc += " One shard's of the batch's.";
    spec.host_inputs.clear();
    for (int i = 0; i <= static_cast<int>(spec.inputs.size()); ++i) spec.host_inputs.push_back(i);
    spec.inputs.push_back("batch: B");  // its rows are counted: it does not have to travel
    spec.attrs.insert(spec.attrs.end(), {"B: type", "index: int >= 0", "weights: list(int) >= 1", "rows: int >= 1",
                                         "axis: int >= 0 = 0", "repeats: int >= 1 = 1", "stream: string = \"\""});
    add(std::move(spec));
  };
  constexpr std::pair<const char*, const char*> kStateful[] = {
      {"RandomUniform", "Uniform in [0, 1)."},
      {"RandomStandardNormal", "Normal, mean 0 and deviation 1."},
      {"TruncatedNormal", "Standard normal, drawn again beyond two deviations."}};
  for (const auto& [name, doc] : kStateful) {
    add_with_shard({.name = name,
                    .doc = doc,
                    .inputs = {"shape: T"},
                    .outputs = {"output: dtype"},
                    .attrs = with_seeds({"dtype: " + dtypes, "T: index"}),
                    .shape = shaped,
                    .stateful = true,
                    .random = true,
                    .host_inputs = {0}});
  }
  add({.name = "RandomUniformInt",
       .doc = "Integers in [minval, maxval).",
       .inputs = {"shape: T", "minval: Tout", "maxval: Tout"},
       .outputs = {"output: Tout"},
       .attrs = with_seeds({"Tout: index", "T: index"}),
       .shape = uniform_int_shape,
       .stateful = true,
       .random = true,
       .sharding = "size(0), ., . -> i..; draws",
       .host_inputs = {0, 1, 2}});
  add({.name = "RandomShuffle",
       .doc = "x with its rows in random order.",
       .inputs = {"value: T"},
       .outputs = {"output: T"},
       .attrs = with_seeds({"T: type"}),
       .shape = same_as_input,
       .stateful = true,
       .cpu_only = true,
       .sharding = "whole: one order is drawn for all rows",
       .draws_whole_stream = true});
  const std::string real =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}";
  add({.name = "Multinomial",
       .doc = "Class numbers drawn with probabilities softmax(logits), per row.",
       .inputs = {"logits: T", "num_samples: int32"},
       .outputs = {"output: output_dtype"},
       .attrs = with_seeds({real, "output_dtype: index = int64"}),
       .shape = samples_shape,
       .stateful = true,
       .random = true,
       .sharding = "whole: it draws, and no kernel draws a part of its stream",
       .host_inputs = {1}});

  constexpr std::pair<const char*, const char*> kStateless[] = {
      {"StatelessRandomUniform", "Uniform in [0, 1), from a seed of two integers."},
      {"StatelessRandomNormal", "Standard normal, from a seed of two integers."},
      {"StatelessTruncatedNormal", "Standard normal, drawn again beyond two deviations, from a seed of two integers."}};
  for (const auto& [name, doc] : kStateless) {
    add_with_shard({.name = name,
                    .doc = doc,
                    .inputs = {"shape: T", "seed: Tseed"},
                    .outputs = {"output: dtype"},
                    .attrs = {"dtype: " + dtypes + " = float", "T: index = int32", "Tseed: index = int64"},
                    .shape = seeded_shape,
                    .random = true,
                    .host_inputs = {0, 1}});
    add_with_shard({.name = std::string(name) + "V2",
                    .doc = doc,
                    .inputs = {"shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"},
                    .outputs = {"output: dtype"},
                    .attrs = {"dtype: " + dtypes + " = float", "Tshape: index = int32"},
                    .shape = keyed_shape,
                    .random = true,
                    .host_inputs = {0, 3}});
  }
  add({.name = "StatelessRandomUniformInt",
       .doc = "Integers in [minval, maxval), from a seed of two integers.",
       .inputs = {"shape: T", "seed: Tseed", "minval: dtype", "maxval: dtype"},
       .outputs = {"output: dtype"},
       .attrs = {"dtype: index", "T: index", "Tseed: index = int64"},
       .shape = seeded_int_shape,
       .sharding = "size(0), ., ., . -> i..; draws",
       .host_inputs = {0, 1, 2, 3}});
  add({.name = "StatelessRandomUniformIntV2",
       .doc = "Integers in [minval, maxval), from a key and a counter.",
       .inputs = {"shape: Tshape", "key: uint64", "counter: uint64", "alg: int32", "minval: dtype", "maxval: dtype"},
       .outputs = {"output: dtype"},
       .attrs = {"dtype: {int32, int64, uint32, uint64}", "Tshape: index = int32"},
       .shape = keyed_int_shape,
       .sharding = "size(0), ., ., ., ., . -> i..; draws",
       .host_inputs = {0, 3, 4, 5}});
  add({.name = "StatelessRandomUniformFullInt",
       .doc = "Integers of every value there is, from a seed of two integers.",
       .inputs = {"shape: T", "seed: Tseed"},
       .outputs = {"output: dtype"},
       .attrs = {"dtype: {int32, int64, uint32, uint64} = uint64", "T: index = int32",
                 "Tseed: {int32, int64, uint32, uint64} = int64"},
       .shape = seeded_shape,
       .sharding = "size(0), . -> i..; draws",
       .host_inputs = {0, 1}});
  add({.name = "StatelessRandomUniformFullIntV2",
       .doc = "Integers of every value there is, from a key and a counter.",
       .inputs = {"shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"},
       .outputs = {"output: dtype"},
       .attrs = {"dtype: {int32, int64, uint32, uint64} = uint64", "Tshape: index = int32"},
       .shape = keyed_shape,
       .sharding = "size(0), ., ., . -> i..; draws",
       .host_inputs = {0, 3}});
  add({.name = "StatelessMultinomial",
       .doc = "Class numbers drawn with probabilities softmax(logits), from a seed of two integers.",
       .inputs = {"logits: T", "num_samples: int32", "seed: Tseed"},
       .outputs = {"output: output_dtype"},
       .attrs = {real, "Tseed: index = int64", "output_dtype: index = int64"},
       .shape = samples_shape,
       .sharding = "whole: it draws, and no kernel draws a part of its stream",
       .host_inputs = {1, 2}});
  add({.name = "StatelessRandomGetKeyCounter",
       .doc = "The key and counter a seed of two integers stands for.",
       .inputs = {"seed: Tseed"},
       .outputs = {"key: uint64", "counter: uint64"},
       .attrs = {"Tseed: index = int64"},
       .shape = key_counter_shape,
       .sharding = "whole: it makes a seed",
       .host_inputs = {0},
       .host_outputs = {0, 1}});
  add({.name = "StatelessRandomGetKeyCounterAlg",
       .doc = "The key and counter a seed of two integers stands for, and the number of the algorithm.",
       .inputs = {"seed: Tseed"},
       .outputs = {"key: uint64", "counter: uint64", "alg: int32"},
       .attrs = {"Tseed: index = int64"},
       .shape = key_counter_shape,
       .sharding = "whole: it makes a seed",
       .host_inputs = {0},
       .host_outputs = {0, 1, 2}});
  add({.name = "StatelessRandomGetAlg",
       .doc = "The number of the random algorithm: 1, Philox.",
       .outputs = {"alg: int32"},
       .shape = scalar_output,
       .stateful = true,
       .effect = Effect::kNothing,
       .sharding = "whole: it makes a seed",
       .host_outputs = {0}});
}

void define_random(OpRegistry& ops) {
  with_sharding(ops, add_random_ops,
                {{"RandomUniform", "size(0) -> i..; draws"},
                 {"RandomStandardNormal", "size(0) -> i..; draws"},
                 {"TruncatedNormal", "size(0) -> i..; draws"},
                 {"StatelessRandomUniform", "size(0), . -> i..; draws"},
                 {"StatelessRandomUniformV2", "size(0), ., ., . -> i..; draws"},
                 {"StatelessRandomNormal", "size(0), . -> i..; draws"},
                 {"StatelessRandomNormalV2", "size(0), ., ., . -> i..; draws"},
                 {"StatelessTruncatedNormal", "size(0), . -> i..; draws"},
                 {"StatelessTruncatedNormalV2", "size(0), ., ., . -> i..; draws"}},
                "whole: draws the numbers of a shard already");
  define_stream_place(ops);
}

void set_random_seed(Graph& graph, std::int64_t seed) { graph.set_seed(seed); }

std::pair<std::int64_t, std::int64_t> op_seeds(Graph& graph, std::optional<std::int64_t> seed) {
  constexpr std::int64_t kDefaultGraphSeed = 87654321;
  constexpr std::int64_t kModulus = std::numeric_limits<std::int32_t>::max();
  const auto reduced = [](std::int64_t s) { return (s % kModulus + kModulus) % kModulus; };
  if (!graph.seed() && !seed) return {0, 0};
  const std::pair<std::int64_t, std::int64_t> seeds = {graph.seed() ? reduced(*graph.seed()) : kDefaultGraphSeed,
                                                       reduced(seed ? *seed : graph.next_op_seed())};
  if (seeds.first == 0 && seeds.second == 0) return {0, kModulus};  // (0, 0) would mean: left to chance
  return seeds;
}

namespace {

AttrMap seed_attrs(Graph& graph, std::optional<std::int64_t> seed) {
  const auto [first, second] = op_seeds(graph, seed);
  return {{"seed", first}, {"seed2", second}};
}

Value scaled(Value x, double factor, double offset) {
  if (!x.valid()) return x;
  if (factor != 1) x = x.graph().add("Mul", {x, constant_like(x, factor)});
  if (offset != 0) x = x.graph().add("AddV2", {x, constant_like(x, offset)});
  return x;
}

Value random(Graph& graph, const char* op, Value shape, double factor, double offset, const RandomOptions& options) {
  AttrMap attrs = seed_attrs(graph, options.seed);
  attrs.set("dtype", options.dtype);
  return scaled(graph.add(op, {shape}, std::move(attrs)), factor, offset);
}

// Small sizes as int32, as tf.random.* of a Python list does.
Value shape_constant(Graph& graph, const std::vector<std::int64_t>& shape) {
  std::vector<std::int32_t> narrow;
  for (const std::int64_t s : shape) {
    if (s > std::numeric_limits<std::int32_t>::max()) return constant(graph, Tensor::vector(shape), "shape");
    narrow.push_back(static_cast<std::int32_t>(s));
  }
  return constant(graph, Tensor::vector(narrow), "shape");
}

}  // namespace

Value random_uniform(Graph& graph, Value shape, double low, double high, const RandomOptions& options) {
  if (!is_integer(options.dtype)) return random(graph, "RandomUniform", shape, high - low, low, options);
  Tensor bounds[2];
  for (int i = 0; i < 2; ++i) {
    const double bound = i == 0 ? low : high;
    const double most = options.dtype == DType::kInt64 ? 0x1p63 : 0x1p31;
    if (!(bound >= -most && bound < most)) {
      graph.fail(invalid_argument("random_uniform: ", bound, " is no ", dtype_name(options.dtype)));
      return {};
    }
    bounds[i] = options.dtype == DType::kInt64 ? Tensor::scalar(static_cast<std::int64_t>(bound))
                                               : Tensor::scalar(static_cast<std::int32_t>(bound));
  }
  return graph.add("RandomUniformInt", {shape, constant(graph, bounds[0]), constant(graph, bounds[1])},
                   seed_attrs(graph, options.seed));
}
Value random_uniform(Graph& graph, const std::vector<std::int64_t>& shape, double low, double high,
                     const RandomOptions& options) {
  return random_uniform(graph, shape_constant(graph, shape), low, high, options);
}
Value random_normal(Graph& graph, Value shape, double mean, double stddev, const RandomOptions& options) {
  return random(graph, "RandomStandardNormal", shape, stddev, mean, options);
}
Value random_normal(Graph& graph, const std::vector<std::int64_t>& shape, double mean, double stddev,
                    const RandomOptions& options) {
  return random_normal(graph, shape_constant(graph, shape), mean, stddev, options);
}
Value truncated_normal(Graph& graph, Value shape, double mean, double stddev, const RandomOptions& options) {
  return random(graph, "TruncatedNormal", shape, stddev, mean, options);
}
Value truncated_normal(Graph& graph, const std::vector<std::int64_t>& shape, double mean, double stddev,
                       const RandomOptions& options) {
  return truncated_normal(graph, shape_constant(graph, shape), mean, stddev, options);
}

Value random_shuffle(Value x, std::optional<std::int64_t> seed) {
  return x.valid() ? x.graph().add("RandomShuffle", {x}, seed_attrs(x.graph(), seed)) : x;
}
Value multinomial(Value logits, Value num_samples, std::optional<std::int64_t> seed, DType output_dtype) {
  if (!logits.valid()) return logits;
  AttrMap attrs = seed_attrs(logits.graph(), seed);
  attrs.set("output_dtype", output_dtype);
  return logits.graph().add("Multinomial", {logits, num_samples}, std::move(attrs));
}

Value stateless_random_uniform(Value shape, Value seed, DType dtype) {
  return shape.valid() ? shape.graph().add("StatelessRandomUniform", {shape, seed}, {{"dtype", dtype}}) : shape;
}
Value stateless_random_normal(Value shape, Value seed, DType dtype) {
  return shape.valid() ? shape.graph().add("StatelessRandomNormal", {shape, seed}, {{"dtype", dtype}}) : shape;
}
Value stateless_truncated_normal(Value shape, Value seed, DType dtype) {
  return shape.valid() ? shape.graph().add("StatelessTruncatedNormal", {shape, seed}, {{"dtype", dtype}}) : shape;
}

}  // namespace argosy
