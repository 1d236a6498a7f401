// A folder of PNG and JPEG files: images float[size,size,channels] in 0 … 1, resized, and labels int32 by sub-folder
// (sorted by name; a folder without sub-folders is one class). With train/ and test/ inside, the split chooses.
// Files are read and decoded when they are fetched; a damaged one is an error that names it.
#pragma once

#include "argosy/data/dataset.h"

namespace argosy::data {

bool looks_like_image_folder(const std::string& directory);
Result<std::unique_ptr<Dataset>> open_image_folder(const std::string& directory, const DatasetOptions& options);

}  // namespace argosy::data
