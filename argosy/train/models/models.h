// Ready-made models, used by `argosy train`, examples and benchmarks. Each function returns a ModelBuilder for a
// Trainer.
#pragma once

#include <cstdint>

#include "argosy/train/model/model.h"

namespace argosy::models {

// A convolutional auto-encoder.
// - Encoder: `depth` times a 3x3 convolution with ReLU and a 2x2 max-pooling.
// - Decoder: `depth` strided transposed convolutions with ReLU, and a 3x3 convolution to the image's channels.
// - Filters: width, 2 width, 4 width, 8 width, and 8 width from there on.
// - Loss, summed over the batch: sum((y - x)^2) / pixels of one image.
struct AutoencoderOptions {
  int image_size = 64;  // a multiple of 2^depth
  int channels = 3;     // of the images
  int depth = 6;        // layers down, and as many up
  int width = 64;       // channels of the first layer
  double dropout = 0;   // of the code between encoder and decoder
};
// Convolutional; its loss is a sum of squares over the batch. Images in [0, 1].
ModelBuilder autoencoder(const AutoencoderOptions& options);

// Options of image classifiers.
struct ClassifierOptions {
  int image_size = 28;  // pixels on a side
  int channels = 1;     // of the images
  int classes = 10;     // labels are 0 to classes - 1
  double dropout = 0;   // mlp, lenet: of the units of hidden layers
};
// Layers of `hidden`, `last` and `classes` units with ReLU between. last = 0: as hidden.
ModelBuilder mlp(const ClassifierOptions& options, int hidden = 256, int last = 0);
// Two 5x5 convolutions (32 and 64 filters) with ReLU and 2x2 max-pooling, a layer of 1024 units, and the classes.
ModelBuilder lenet(const ClassifierOptions& options);
// ResNet (He et al., 2016). `layers` 20, 32, 44, 56: three stages of basic blocks for small images. 50: bottlenecks for
// large images. The loss includes weight decay. INVALID_ARGUMENT (of the graph) for other depths.
ModelBuilder resnet(const ClassifierOptions& options, int layers, double weight_decay = 1e-4);

// A small encoder that sorts. Given a sequence of tokens, it predicts the sorted sequence, token by token. Inputs
// "tokens" and "sorted", int32[length] (data: sorting_task()).
struct TransformerOptions {
  int length = 16;       // words of a sequence
  int vocabulary = 32;   // distinct words
  int width = 64;        // of a word's vector
  int heads = 4;         // of attention
  int layers = 2;        // blocks
  double dropout = 0.1;  // of elements that are dropped
};
// Encoder blocks of self-attention; logits for each token of the sequence.
ModelBuilder transformer(const TransformerOptions& options);

}  // namespace argosy::models
