// What the files of the fake cuDNN share.
#pragma once

#include <mutex>

#include "tests/fake_gpu/support/fake_dnn.h"

namespace argosy::cuda::fake {

extern FakeDnn* fake;        // the table's functions are given no context of ours
extern std::mutex counting;  // devices have threads of their own

inline DType dtype_of(int type) {
  switch (type) {
    case kDnnDouble: return DType::kFloat64;
    case kDnnHalf: return DType::kFloat16;
    case kDnnBfloat16: return DType::kBfloat16;
    default: return DType::kFloat32;
  }
}
// Everything is started on the stream that the handle was given for it.
void expect_stream(const DnnHandleObject& handle);
// Batch normalisation, pooling and softmax (fake_dnn_images.cc).
void add_images(DnnCalls& calls);
// Graphs (fake_dnn_graph.cc): descriptors that know their attributes and are as strict about them as the library is,
// and convolutions by our own kernels.
void add_graphs(DnnCalls& calls);

}  // namespace argosy::cuda::fake
