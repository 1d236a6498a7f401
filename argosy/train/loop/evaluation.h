// Evaluates a compiled model on a dataset.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/data/loader.h"
#include "argosy/train/loop/compiled_model.h"

namespace argosy {

using Evaluation = std::vector<std::pair<std::string, double>>;  // by metric

// Returns the components of a batch that feed the model's inputs, in the order of the inputs. `components`: the result
// of match_inputs().
std::vector<Tensor> feeds_of(const data::Batch& batch, const std::vector<std::size_t>& components);
// The model's metrics over all examples, each used once, in batches of at most `batch`.
Result<Evaluation> evaluate_all(CompiledModel& program, const data::Dataset& data, std::int64_t batch);
// The model's sample images of the first `examples`, by name. Empty if the model has none.
Result<std::vector<std::pair<std::string, Tensor>>> sample_images_of(CompiledModel& program, const data::Dataset& data,
                                                                     int examples);

}  // namespace argosy
