// A short training of a small MLP on fake GPUs, alone or as one task of a job.
#pragma once

#include "argosy/data/dataset.h"
#include "argosy/train/loop/trainer.h"
#include "argosy/train/models/models.h"

namespace argosy {

constexpr std::int64_t kSteps = 7;  // the last of them are replays

inline TrainerOptions small_training(const DeviceRequest& devices, JobTasks* tasks) {
  return {.optimizer = momentum(0.1, 0.9),
          .devices = devices,
          .batch = 16,
          .steps = kSteps,
          .seed = 7,
          .check_replicas_every = 2,
          .verdict = false,
          .tasks = tasks};
}

inline ModelBuilder small_mlp(double dropout = 0) {
  return models::mlp({.image_size = 6, .channels = 1, .classes = 10, .dropout = dropout}, 12, 8);
}

inline Result<TrainReport> train_small(const ModelBuilder& model, TrainerOptions options) {
  ARGOSY_ASSIGN_OR_RETURN(const auto data,
                          data::open_dataset("synthetic", {.image_size = 6, .channels = 1, .examples = 48}));
  ARGOSY_ASSIGN_OR_RETURN(const auto trainer, Trainer::make(model, std::move(options)));
  return trainer->fit(*data, data.get());
}

}  // namespace argosy
