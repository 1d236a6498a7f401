// cuDNN's graphs as the fake has them: descriptors that know their attributes, are as strict about them as the library
// is, and convolve by our own kernels.
#pragma once

#include "tests/cuda/fake_dnn.h"

namespace argosy::cuda::fake {

// Adds the calls of graphs. `fake` says which engines there are, and is told what is asked.
void add_graph_calls(FakeDnn& fake, DnnCalls& calls);

}  // namespace argosy::cuda::fake
