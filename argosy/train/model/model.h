// A model as a training run sees it: a function that builds the model, and the values that it returns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "argosy/train/model/layers.h"
#include "argosy/train/model/metrics.h"

namespace argosy {

struct Model {
  Value loss;                   // scalar; its reduction over the batch says how shards combine
  std::vector<Metric> metrics;  // for evaluations
  // Images that the model computes, for people: inputs and outputs.
  struct SampleImages {
    std::string name;  // of the summary
    Value images;      // [batch, height, width, 1 or 3], in 0 … 1
  };
  std::vector<SampleImages> sample_images = {};  // logged for a few examples: input and reconstruction
};

// Called once for training and once for evaluation; net.training() tells the two apart. Both calls must make the same
// variables.
using ModelBuilder = std::function<Model(Layers& net)>;

}  // namespace argosy
