// NumPy's .npy files, versions 1 to 3, C order, every plain dtype, either byte order. bfloat16, which NumPy has no name
// for, is stored as '<V2', as ml_dtypes stores it.
#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

namespace argosy::data {

// DATA_LOSS names file and numbers; UNIMPLEMENTED for Fortran order and for types without a dtype of ours.
// Memory is claimed only after the file proved to be long enough.
Result<Tensor> read_npy(const std::string& path);

// Version 1, readable by every NumPy. REQUIRES: host memory.
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace argosy::data
