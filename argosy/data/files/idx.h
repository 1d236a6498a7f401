// IDX, the format of MNIST: big-endian header (two zero bytes, type, rank, sizes), then the elements.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

// Reads an IDX file, gzipped or not, of any type (8-, 16- and 32-bit integers, float, double). Memory is allocated only
// if a file of this size can hold the sizes in its header. DATA_LOSS names file and numbers.
Result<Tensor> read_idx(const std::string& path);

}  // namespace argosy::data
