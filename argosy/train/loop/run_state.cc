#include "argosy/train/loop/run_state.h"

#include "argosy/base/log.h"
#include "argosy/base/system/file.h"
#include "argosy/formats/checkpoint/checkpoint_directory.h"
#include "argosy/train/tasks/run_tasks.h"

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

// The content of a checkpoint. Values are in the order of the model's variables.
struct Saved {
  Resumed resumed;
  std::vector<Tensor> values;
};

Result<std::optional<Saved>> read_saved(const BuiltModel& built, const std::string& directory,
                                        const data::Dataset& dataset, const data::LoaderOptions& loader) {
  if (!is_directory(directory)) return std::optional<Saved>();
  auto latest = tf::latest_checkpoint(directory);
  if (!latest.ok() && latest.status().code() == Code::kNotFound) return std::optional<Saved>();
  ARGOSY_RETURN_IF_ERROR(latest.status());
  ARGOSY_ASSIGN_OR_RETURN(const tf::CheckpointReader reader, tf::CheckpointReader::open(latest->prefix));
  ARGOSY_RETURN_IF_ERROR(check_fits(built, reader));
  std::vector<std::string> names;
  for (const VariableNode& v : built.variables) names.push_back(v.ref.node_name());
  Saved saved;
  ARGOSY_ASSIGN_OR_RETURN(saved.values, reader.read(names));
  Resumed& resumed = saved.resumed;
  resumed.prefix = latest->prefix;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != built.train.global_step.ref.node_name()) continue;
    ARGOSY_ASSIGN_OR_RETURN(resumed.step, to_int64(saved.values[i], "global_step"));
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
  return std::optional<Saved>(std::move(saved));
}

// Sends the first task's checkpoint to every task: whether there is one, step, position, rate, then the variables. The
// prefix is the path on the first task's disk.
Result<std::optional<Saved>> share(RunTasks& tasks, std::optional<Saved> saved) {
  std::vector<Tensor> told;
  if (tasks.is_first() && saved) {
    const Resumed& r = saved->resumed;
    told = {Tensor::vector<std::int64_t>({r.step, r.cursor.epoch, r.cursor.position}),
            Tensor::vector<double>({r.learning_rate ? 1.0 : 0.0, r.learning_rate.value_or(0)})};
    told.insert(told.end(), saved->values.begin(), saved->values.end());
  }
  ARGOSY_ASSIGN_OR_RETURN(std::vector<Tensor> all, tasks.from_first(std::move(told)));
  if (tasks.is_first()) return saved;
  if (all.size() < 2) return std::optional<Saved>();
  Saved got;
  const auto* const numbers = all[0].data<std::int64_t>();
  got.resumed = {.step = numbers[0], .cursor = {numbers[1], numbers[2]}, .prefix = "of task 0"};
  if (all[1].data<double>()[0] != 0) got.resumed.learning_rate = all[1].data<double>()[1];
  got.values.assign(all.begin() + 2, all.end());
  return std::optional<Saved>(std::move(got));
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
  const BuiltModel& built = program.built();
  RunTasks* const tasks = program.tasks().get();
  std::optional<Saved> saved;
  if (tasks == nullptr || tasks->is_first()) {
    ARGOSY_ASSIGN_OR_RETURN(saved, read_saved(built, directory, dataset, loader));
  }
  if (tasks != nullptr) {
    ARGOSY_ASSIGN_OR_RETURN(saved, share(*tasks, std::move(saved)));
  }
  if (!saved) return std::optional<Resumed>();
  if (saved->values.size() != built.variables.size()) return internal_error("task 0 has another number of variables");
  std::vector<tf::NamedTensor> values;
  for (std::size_t i = 0; i < built.variables.size(); ++i) {
    values.push_back({built.variables[i].ref.node_name(), std::move(saved->values[i])});
  }
  ARGOSY_RETURN_IF_ERROR(program.initialize(values));
  return std::optional<Resumed>(std::move(saved->resumed));
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
