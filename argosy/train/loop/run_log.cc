#include "argosy/train/loop/run_log.h"

#include "argosy/tf/graph/graph_event.h"

namespace argosy {

Result<std::unique_ptr<RunLog>> RunLog::open(const std::string& directory, const BuiltModel& built) {
  ARGOSY_ASSIGN_OR_RETURN(auto writer, tf::EventWriter::open(directory));
  ARGOSY_RETURN_IF_ERROR(tf::write_graph(*writer, *built.graph));
  return std::unique_ptr<RunLog>(new RunLog(std::move(writer)));
}

Status RunLog::step(std::int64_t step, double loss, double learning_rate, double samples_per_second) {
  ARGOSY_RETURN_IF_ERROR(writer_->scalar("loss", step, loss));
  ARGOSY_RETURN_IF_ERROR(writer_->scalar("learning_rate", step, learning_rate));
  return writer_->scalar("samples_per_second", step, samples_per_second);
}

Status RunLog::evaluation(std::int64_t step, const std::vector<std::pair<std::string, double>>& metrics) {
  for (const auto& [name, value] : metrics) {
    ARGOSY_RETURN_IF_ERROR(writer_->scalar(str_cat("evaluation/", name), step, value));
  }
  return ok_status();
}

Status RunLog::weights(std::int64_t step, CompiledModel& program) {
  ARGOSY_ASSIGN_OR_RETURN(const auto values, program.variables());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool slot = i >= values.size() - program.built().train.slots.size();
    if (slot || !is_floating(values[i].tensor.dtype())) continue;
    ARGOSY_RETURN_IF_ERROR(writer_->histogram(values[i].name, step, values[i].tensor));
  }
  return ok_status();
}

Status RunLog::sample_images(std::int64_t step, const std::string& name, const Tensor& images) {
  return writer_->image(name, step, images);
}

}  // namespace argosy
