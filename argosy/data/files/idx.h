// IDX, the format of MNIST: big-endian header (two zero bytes, type, rank, sizes), then the elements.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

// A plain or gzipped IDX file of any of its types (8-bit, 16- and 32-bit integers, float, double), told apart by
// content. Memory is claimed only as far as the file's size can back it. DATA_LOSS names file and numbers.
Result<Tensor> read_idx(const std::string& path);

}  // namespace argosy::data
