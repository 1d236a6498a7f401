// Helpers of the checkpoint benchmarks.
#pragma once

#include <span>
#include <string>

#include "argosy/formats/checkpoint/checkpoint.h"

namespace argosy::cli {

// `asked`, or a folder of this process among the temporary ones.
std::string checkpoint_folder(const std::string& asked);

// A plain writer to compare with: `folder`/raw by one thread, 8 MiB at a time, fsync, rename, fsync of the folder.
Status raw_write(const std::string& folder, std::span<const tf::NamedTensor> tensors);

}  // namespace argosy::cli
