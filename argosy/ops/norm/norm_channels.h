// Channels: builds the parts of batch normalisation as separate ops: reductions over all axes but the channels' axis,
// and vectors [channels] that broadcast against images. Used by gradients of gradients, for example.
#pragma once

#include <cstdint>
#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

class Channels {
 public:
  // `format`: "NHWC", "NCHW", "NDHWC" or "NCDHW". Adds nodes to the graph, which must outlive this.
  Channels(Graph& graph, const std::string& format);

  Value mean(Value x) const;      // of each channel; keeps the rank: the other axes have size 1
  Value sum(Value x) const;       // of each channel: [channels]
  Value spread(Value v) const;    // [channels], reshaped so that it broadcasts against an image
  Value together(Value x) const;  // flattens a result of mean() to [channels]

 private:
  Graph& graph_;
  const bool first_;
  Value axes_, beside_, all_;
};

// x cast to float32, unless it has that dtype.
Value widened(Value x);

}  // namespace argosy
