// What a program says of a whole data set.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "argosy/data/loader.h"
#include "argosy/train/loop/compiled_model.h"

namespace argosy {

using Evaluation = std::vector<std::pair<std::string, double>>;  // by metric

// The components of a batch that the inputs of a program take, in their order (match_inputs()).
std::vector<Tensor> feeds_of(const data::Batch& batch, const std::vector<std::size_t>& components);
// Every example once, in batches of at most `batch`.
Result<Evaluation> evaluate_all(CompiledModel& program, const data::Dataset& data, std::int64_t batch);
// The model's sample images of the first `examples`, by name; none where it has none.
Result<std::vector<std::pair<std::string, Tensor>>> sample_images_of(CompiledModel& program, const data::Dataset& data,
                                                                     int examples);

}  // namespace argosy
