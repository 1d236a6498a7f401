// Shared by the files of the fake cuDNN.
#pragma once

#include <mutex>

#include "tests/fake_gpu/support/fake_dnn.h"

namespace argosy::cuda::fake {

extern FakeDnn* fake;        // the table's functions have no argument for it
extern std::mutex counting;  // devices have threads of their own

inline DType dtype_of(int type) {
  switch (type) {
    case kDnnDouble: return DType::kFloat64;
    case kDnnHalf: return DType::kFloat16;
    case kDnnBfloat16: return DType::kBfloat16;
    default: return DType::kFloat32;
  }
}
// Fails the test unless the stream of the handle is the device's compute stream.
void expect_stream(const DnnHandleObject& handle);
// Batch normalisation, pooling and softmax (fake_dnn_images.cc).
void add_images(DnnCalls& calls);
// Graphs (fake_dnn_graph.cc): descriptors that check their attributes as strictly as the library, and convolutions by
// our own kernels.
void add_graphs(DnnCalls& calls);

}  // namespace argosy::cuda::fake
