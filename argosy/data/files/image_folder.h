// A folder of PNG and JPEG files as a dataset: images float[size,size,channels] in 0 … 1, resized, and labels int32.
// Each sub-folder with images is a class, in the order of names. Without such sub-folders the folder is one class. If
// there is a folder train/ or test/ of the split's name, it is used instead. Files are read and decoded when they are
// fetched. An error names a damaged file.
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

bool looks_like_image_folder(const std::string& directory);
Result<std::unique_ptr<Dataset>> open_image_folder(const std::string& directory, const DatasetOptions& options);

}  // namespace argosy::data
