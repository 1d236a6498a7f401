// NumPy's .npy files, versions 1 to 3, C order, every plain dtype, either byte order. bfloat16, which NumPy has no name
// for, is stored as '<V2', as ml_dtypes stores it.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

// Reads a file. DATA_LOSS names file and numbers. UNIMPLEMENTED: Fortran order, or a type without a dtype here.
// Memory is allocated only after the file proved to be long enough.
Result<Tensor> read_npy(const std::string& path);

// Writes version 1, which every NumPy reads. REQUIRES: the tensor is in host memory.
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace argosy::data
