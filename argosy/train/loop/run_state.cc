#include "argosy/train/loop/run_state.h"

#include "argosy/base/log.h"
#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"

namespace argosy {

namespace {

// Reports all differences at once: they show which model was meant.
Status check_fits(const BuiltModel& built, const tf::CheckpointReader& reader) {
  std::vector<std::string> differences;
  for (const VariableNode& v : built.variables) {
    const std::string& name = v.ref.node_name();
    const tf::CheckpointEntry* entry = reader.find(name);
    if (entry == nullptr) {
      differences.push_back(str_cat("no \"", name, "\""));
    } else if (entry->dtype != v.dtype() || !v.shape().compatible(entry->shape)) {
      differences.push_back(str_cat("\"", name, "\" is ", dtype_name(entry->dtype), entry->shape, " instead of ",
                                    dtype_name(v.dtype()), v.shape()));
    }
  }
  if (differences.empty()) return ok_status();
  const std::size_t all = differences.size();
  if (all > 8) differences.resize(8);
  return failed_precondition("the checkpoint ", reader.prefix(), " is of another model: ", str_join(differences, "; "),
                             all > 8 ? str_cat("; and ", all - 8, " more") : std::string())
      .with_id("ARG-CKPT-011")
      .with_where(reader.prefix())
      .with_hint("the flags that the checkpoint was made with (model, size, optimizer), or another --checkpoint-dir");
}

}  // namespace

Result<std::string> check_folder(const BuiltModel& built, const std::string& directory) {
  if (!is_directory(directory)) return std::string();
  ARGOSY_ASSIGN_OR_RETURN(const auto prefixes, tf::list_checkpoints(directory, kCheckpointName));
  if (prefixes.empty()) return std::string();
  const auto reader = tf::CheckpointReader::open(prefixes.back());
  if (!reader.ok()) {
    return Status(reader.status()).with_where(prefixes.back()).with_hint("another --checkpoint-dir for this run");
  }
  ARGOSY_RETURN_IF_ERROR(check_fits(built, *reader));
  return prefixes.back();
}

Result<std::optional<Resumed>> resume(CompiledModel& program, const std::string& directory,
                                      const data::Dataset& dataset, const data::LoaderOptions& loader) {
  if (!is_directory(directory)) return std::optional<Resumed>();
  auto latest = tf::latest_checkpoint(directory);
  if (!latest.ok() && latest.status().code() == Code::kNotFound) return std::optional<Resumed>();
  ARGOSY_RETURN_IF_ERROR(latest.status());
  ARGOSY_ASSIGN_OR_RETURN(const tf::CheckpointReader reader, tf::CheckpointReader::open(latest->prefix));
  const BuiltModel& built = program.built();
  ARGOSY_RETURN_IF_ERROR(check_fits(built, reader));
  std::vector<std::string> names;
  for (const VariableNode& v : built.variables) names.push_back(v.ref.node_name());
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, reader.read(names));
  Resumed resumed{.prefix = latest->prefix};
  std::vector<tf::NamedTensor> values;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == built.train.global_step.ref.node_name()) {
      ARGOSY_ASSIGN_OR_RETURN(resumed.step, to_int64(tensors[i], "global_step"));
    }
    values.push_back({names[i], std::move(tensors[i])});
  }
  if (reader.find(kLoaderStateName) != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(const Tensor state, reader.read(kLoaderStateName));
    ARGOSY_ASSIGN_OR_RETURN(resumed.cursor, data::cursor_from_state(state, dataset, loader));
  } else {
    ARGOSY_LOG(kWarning, latest->prefix, " does not say where it stood in its data: the first epoch starts anew");
  }
  const tf::CheckpointEntry* rate = reader.find(kLearningRateName);
  if (rate != nullptr && rate->dtype == DType::kFloat64 && rate->shape == Shape()) {
    ARGOSY_ASSIGN_OR_RETURN(const Tensor read, reader.read(kLearningRateName));
    resumed.learning_rate = *read.data<double>();
  }
  ARGOSY_RETURN_IF_ERROR(program.initialize(values));
  return std::optional<Resumed>(std::move(resumed));
}

Result<std::unique_ptr<Checkpointer>> Checkpointer::open(const std::string& directory, int keep) {
  ARGOSY_ASSIGN_OR_RETURN(auto saver,
                          tf::Saver::open({.directory = directory, .name = kCheckpointName, .max_to_keep = keep}));
  return std::unique_ptr<Checkpointer>(new Checkpointer(std::move(saver)));
}

Status Checkpointer::save(CompiledModel& program, std::int64_t step, double learning_rate, const data::Loader& loader) {
  ARGOSY_ASSIGN_OR_RETURN(std::vector<tf::NamedTensor> tensors, program.variables());
  tensors.push_back({kLoaderStateName, loader.state()});
  tensors.push_back({kLearningRateName, Tensor::scalar(learning_rate)});
  return saver_->save_async(step, tensors);
}

Result<std::string> Checkpointer::finish() {
  ARGOSY_RETURN_IF_ERROR(saver_->wait());
  return saver_->status().last_prefix;
}

}  // namespace argosy
