// RunLog: writes a run's TensorBoard event file: loss, learning rate and speed of steps, evaluations, weights, sample
// images and the graph.
#pragma once

#include <memory>
#include <string>

#include "argosy/formats/events/events.h"
#include "argosy/train/loop/compiled_model.h"

namespace argosy {

class RunLog {
 public:
  // Opens the file and writes the model's graph.
  static Result<std::unique_ptr<RunLog>> open(const std::string& directory, const BuiltModel& built);

  Status step(std::int64_t step, double loss, double learning_rate, double samples_per_second);
  Status evaluation(std::int64_t step, const std::vector<std::pair<std::string, double>>& metrics);
  // Histograms of all trained variables.
  Status weights(std::int64_t step, CompiledModel& program);
  Status sample_images(std::int64_t step, const std::string& name, const Tensor& images);
  Status flush() { return writer_->flush(); }

 private:
  explicit RunLog(std::unique_ptr<tf::EventWriter> writer) : writer_(std::move(writer)) {}
  std::unique_ptr<tf::EventWriter> writer_;
};

}  // namespace argosy
