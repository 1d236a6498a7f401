#include "argosy/train/loop/evaluation.h"

#include <algorithm>

namespace argosy {

std::vector<Tensor> feeds_of(const data::Batch& batch, const std::vector<std::size_t>& components) {
  std::vector<Tensor> feeds;
  for (const std::size_t c : components) feeds.push_back(batch.tensors[c]);
  return feeds;
}

Result<Evaluation> evaluate_all(CompiledModel& program, const data::Dataset& data, std::int64_t batch) {
  ARGOSY_ASSIGN_OR_RETURN(const auto components, match_inputs(program.built().inputs, data));
  ARGOSY_ASSIGN_OR_RETURN(const auto loader, data::Loader::open(data, {.batch = std::min(batch, data.size()),
                                                                       .shuffle = false,
                                                                       .epochs = 1,
                                                                       .rows = program.rows_to_read()}));
  const std::vector<Metric>& metrics = program.built().model.metrics;
  std::vector<MetricState> states(metrics.size());
  for (;;) {
    Result<data::Batch> next = loader->next();
    if (!next.ok() && next.status().code() == Code::kOutOfRange) break;
    ARGOSY_RETURN_IF_ERROR(next.status());
    ARGOSY_ASSIGN_OR_RETURN(const auto added, program.evaluate(feeds_of(*next, components)));
    for (std::size_t i = 0; i < states.size(); ++i) states[i].merge(added[i]);
  }
  Evaluation evaluation;
  for (std::size_t i = 0; i < states.size(); ++i) evaluation.emplace_back(metrics[i].name, states[i].value());
  return evaluation;
}

Result<std::vector<std::pair<std::string, Tensor>>> sample_images_of(CompiledModel& program, const data::Dataset& data,
                                                                     int examples) {
  std::vector<std::pair<std::string, Tensor>> named;
  if (program.built().model.sample_images.empty()) return named;
  ARGOSY_ASSIGN_OR_RETURN(const auto components, match_inputs(program.built().inputs, data));
  const std::int64_t batch = std::min<std::int64_t>(examples, data.size());
  ARGOSY_ASSIGN_OR_RETURN(const auto loader, data::Loader::open(data, {.batch = batch, .shuffle = false, .epochs = 1}));
  ARGOSY_ASSIGN_OR_RETURN(const data::Batch first, loader->next());
  ARGOSY_ASSIGN_OR_RETURN(auto images, program.sample_images(feeds_of(first, components)));
  for (std::size_t i = 0; i < images.size(); ++i) {
    named.emplace_back(program.built().model.sample_images[i].name, std::move(images[i]));
  }
  return named;
}

}  // namespace argosy
