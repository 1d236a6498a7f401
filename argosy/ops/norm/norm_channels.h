// What batch normalisation is written with where it is ops of its own: means over all axes but the channels', and
// vectors of one number a channel beside images. In float32.
#pragma once

#include <cstdint>
#include <string>

#include "argosy/graph/graph.h"

namespace argosy {

class Channels {
 public:
  // `format`: "NHWC", "NCHW", "NDHWC" or "NCDHW". Adds nodes to the graph, which is borrowed.
  Channels(Graph& graph, const std::string& format);

  Value mean(Value x) const;      // axes are kept, all of size 1 but the channels'
  Value sum(Value x) const;       // one number a channel
  Value spread(Value v) const;    // one number a channel, as an image's
  Value together(Value x) const;  // of what mean() gives: one number a channel

 private:
  Graph& graph_;
  const bool first_;
  Value axes_, beside_, all_;
};

// In float32.
Value widened(Value x);

}  // namespace argosy
