// Random values. Seeds are TensorFlow's: without any, every run of a program differs; set_random_seed() fixes all ops
// of a graph, `seed` one op, and the same seeds give the numbers TensorFlow gives.
#pragma once

#include <optional>
#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// tf.set_random_seed: for ops added from here on.
void set_random_seed(Graph& graph, std::int64_t seed);

// Options of random ops.
struct RandomOptions {
  DType dtype = DType::kFloat32;          // of the numbers
  std::optional<std::int64_t> seed = {};  // unset: the graph's seed, or a random one
};

// Uniform in [low, high), in all floating dtypes, int32 and int64.
Value random_uniform(Graph& graph, Value shape, double low = 0, double high = 1, const RandomOptions& options = {});
// The same of a known shape.
Value random_uniform(Graph& graph, const std::vector<std::int64_t>& shape, double low = 0, double high = 1,
                     const RandomOptions& options = {});
// Normal numbers of this mean and deviation.
Value random_normal(Graph& graph, Value shape, double mean = 0, double stddev = 1, const RandomOptions& options = {});
// The same of a known shape.
Value random_normal(Graph& graph, const std::vector<std::int64_t>& shape, double mean = 0, double stddev = 1,
                    const RandomOptions& options = {});
// A normal distribution whose values beyond two deviations are drawn again.
Value truncated_normal(Graph& graph, Value shape, double mean = 0, double stddev = 1,
                       const RandomOptions& options = {});
// The same of a known shape.
Value truncated_normal(Graph& graph, const std::vector<std::int64_t>& shape, double mean = 0, double stddev = 1,
                       const RandomOptions& options = {});
// x with its rows in random order.
Value random_shuffle(Value x, std::optional<std::int64_t> seed = {});
// num_samples class numbers per row of logits, with probabilities softmax(logits).
Value multinomial(Value logits, Value num_samples, std::optional<std::int64_t> seed = {},
                  DType output_dtype = DType::kInt64);

// Uniform in [0, 1). The seed is a vector of two integers; the same seed gives the same numbers in every run.
Value stateless_random_uniform(Value shape, Value seed, DType dtype = DType::kFloat32);
// Normal with mean 0 and deviation 1; the seed is as above.
Value stateless_random_normal(Value shape, Value seed, DType dtype = DType::kFloat32);
// The same, with values beyond two deviations drawn again.
Value stateless_truncated_normal(Value shape, Value seed, DType dtype = DType::kFloat32);

// (seed, seed2) for an op with this seed, as TensorFlow derives them: for builders of other random ops.
std::pair<std::int64_t, std::int64_t> op_seeds(Graph& graph, std::optional<std::int64_t> seed);

}  // namespace argosy
