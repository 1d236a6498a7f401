// A folder of checkpoints as tf.train.Saver keeps it: `<name>-<step>` prefixes and the text file `checkpoint`, which
// names the latest. That file is advice for TensorFlow's readers; we look at what is really there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace argosy::tf {

struct DamagedCheckpoint {
  std::string prefix;
  Status why;
};

struct LatestCheckpoint {
  std::string prefix;
  std::int64_t step = -1;                  // from the name; -1 when it has none
  std::vector<DamagedCheckpoint> skipped;  // newer ones that did not verify, newest first
};

// The checkpoint of the highest step (then the newest file) that verifies, every byte of it read. Skipping one is
// logged as a warning. Where the state file is readable, only checkpoints of the same base name as its latest count.
// NOT_FOUND when the folder has none; DATA_LOSS, listing them, when all are damaged.
Result<LatestCheckpoint> latest_checkpoint(const std::string& directory);

// All prefixes in a folder that have an index, `name-…` only unless it is empty; oldest first. Nothing is verified.
Result<std::vector<std::string>> list_checkpoints(const std::string& directory, std::string_view name = {});

// "…/model.ckpt-120" → 120; -1 when the prefix does not end so.
std::int64_t checkpoint_step(std::string_view prefix);

// The prefixes that the state file names; paths in it are taken as relative to the folder.
struct CheckpointStateFile {
  std::string latest;
  std::vector<std::string> all;  // oldest first
};
Result<CheckpointStateFile> read_checkpoint_state(const std::string& directory);
// The text of a state file for these prefixes; those inside the folder are written relative to it.
std::string checkpoint_state_text(const std::string& directory, const std::vector<std::string>& prefixes);

}  // namespace argosy::tf
