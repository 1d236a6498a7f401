// Layers: builds a model and collects its inputs, its variables and the updates that run with a training step.
//
//   Layers net(graph, {.seed = 1});
//   Value images = net.input("image", DType::kFloat32, {28, 28, 1});
//   Value x = net.dense(flatten(images), 256, {.activation = relu});
//
// Variables have the names that TensorFlow's layers give ("dense/kernel", "conv2d_1/bias"), so both read each other's
// checkpoints. A layer's random numbers follow from one seed and the layer's place in the model, so equal models have
// equal initial values. The graph keeps the first error (Graph::status()). Used by one thread.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/ops/state/state.h"
#include "argosy/train/model/initializers.h"

namespace argosy {

using Activation = std::function<Value(Value)>;  // what a layer applies to its result

// Options of a fully connected layer.
struct DenseOptions {
  Activation activation = {};             // none: linear
  bool bias = true;                       // adds one number to each unit
  Initializer kernel = glorot_uniform();  // initial weights
  std::string name = "dense";             // the scope of its variables
};

// Options of a convolution layer.
struct ConvOptions {
  std::array<std::int64_t, 2> window = {3, 3};   // height, width
  std::array<std::int64_t, 2> strides = {1, 1};  // height, width
  std::string padding = "SAME";                  // or "VALID"
  Activation activation = {};                    // none: linear
  bool bias = true;                              // adds one number to each filter
  Initializer kernel = glorot_uniform();         // initial weights
  std::string name = "";                         // "": conv2d or conv2d_transpose
};

// Options of batch normalisation.
struct BatchNormLayerOptions {
  double momentum = 0.99;                    // of the moving averages
  double epsilon = 1e-3;                     // added to the variance
  std::string name = "batch_normalization";  // the scope of its variables
};

// Options of layer normalisation.
struct LayerNormOptions {
  double epsilon = 1e-6;                     // added to the variance
  std::string name = "layer_normalization";  // the scope of its variables
};

// Options of self-attention.
struct AttentionOptions {
  int heads = 4;                   // the width is a multiple of it
  std::string name = "attention";  // the scope of its variables
};

// Options of all layers of a model.
struct LayersOptions {
  std::uint64_t seed = 0;         // of initial weights and dropout
  bool training = true;           // dropout drops, batch norm uses batch statistics
  DType dtype = DType::kFloat32;  // of variables
  // Dtype of the layers' arithmetic; kInvalid: as the variables. kBfloat16 with float32 variables is mixed precision.
  DType compute = DType::kInvalid;
  std::optional<Value> step = {};  // int64 global step: dropout's random numbers depend on it
};

class Layers {
 public:
  explicit Layers(Graph& graph,
                  const LayersOptions& options = {});  // Layers add nodes to `graph`, which outlives this.

  Graph& graph() const { return graph_; }              // that layers add nodes to
  bool training() const { return options_.training; }  // dropout and batch normalisation work as in training
  DType compute_dtype() const;                         // of the layers' arithmetic

  // A placeholder for batches of examples with this shape. `name`: the dataset's name for the component. Floating-point
  // inputs are cast to the compute dtype.
  Value input(std::string_view name, DType dtype, const std::vector<std::int64_t>& example_shape);

  // x · kernel + bias over the last axis.
  Value dense(Value x, int units, const DenseOptions& options = {});
  // Convolves images [batch, height, width, channels]; gives `filters` channels.
  Value conv2d(Value x, int filters, const ConvOptions& options = {});
  // Multiplies height and width by the strides; see conv2d_transpose() for padding "VALID".
  Value conv2d_transpose(Value x, int filters, const ConvOptions& options = {});
  // Normalises over every axis but the last. In training it uses batch statistics (of each replica's shard) and updates
  // the moving averages; otherwise it uses the moving averages. In float64 it is composed of simple ops, and the moving
  // variance is the batch's without Bessel's correction, as in Keras.
  Value batch_norm(Value x, const BatchNormLayerOptions& options = {});
  // Normalises over the last axis.
  Value layer_norm(Value x, const LayerNormOptions& options = {});
  // In training: keeps each element with probability 1 - rate, scaled to keep the mean. The same seed and step drop the
  // same elements on any number of devices. So a resumed run drops what it would have dropped.
  Value dropout(Value x, double rate);
  // Rows of a [vocabulary, width] table.
  Value embedding(Value indices, std::int64_t vocabulary, int width, std::string_view name = "embedding");
  // Multi-head self-attention over [batch, time, width].
  Value self_attention(Value x, const AttentionOptions& options = {});

  // A further variable of the model. Optimizers update the trainable ones.
  VariableNode variable(std::string_view name, const std::vector<std::int64_t>& shape, const Initializer& initializer,
                        bool trainable = true);
  // A variable's value in the compute dtype.
  Value value_of(const VariableNode& v) const;
  // Adds an update that runs after the gradients of every training step: moving averages.
  void add_update(Value update) { updates_.push_back(update); }

  // The result of a call of input().
  struct Input {
    std::string name;   // the dataset's component
    Value placeholder;  // what is fed
  };
  const std::vector<Input>& inputs() const { return inputs_; }  // in the order in which they were made
  // All of them, in the order in which they were made.
  const std::vector<VariableNode>& variables() const { return variables_; }
  const std::vector<VariableNode>& trainable() const { return trainable_; }  // those that an optimizer updates
  const std::vector<Value>& updates() const { return updates_; }             // what add_update() took
  // The seed of the next random op; every call returns another one.
  std::int64_t next_seed();

 private:
  Value add_bias(Value y, int units, bool bias, const Activation& activation);

  Graph& graph_;
  const LayersOptions options_;
  std::vector<Input> inputs_;
  std::vector<VariableNode> variables_, trainable_;
  std::vector<Value> updates_;
  std::int64_t seeds_ = 0;
};

// [batch, a, b, …] to [batch, a*b*…].
Value flatten(Value x);

}  // namespace argosy
