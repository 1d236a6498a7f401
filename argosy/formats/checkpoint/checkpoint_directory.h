// A folder of checkpoints as tf.train.Saver keeps it: `<name>-<step>` prefixes and the text file `checkpoint`, which
// names the latest. We write that file for TensorFlow's readers. To find a checkpoint we look at the files themselves.
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
  std::int64_t step = -1;                  // as in the prefix; -1: the prefix has no step
  std::vector<DamagedCheckpoint> skipped;  // newer checkpoints whose verification failed, newest first
};

// Returns the newest valid checkpoint of a folder: that of the highest step, among equals the newest file. Reads and
// verifies every byte of it. Logs a warning for each damaged one that it skips. If the state file can be read, only
// checkpoints with the base name of its latest one count.
// NOT_FOUND: the folder has no checkpoint. DATA_LOSS lists them: all are damaged.
Result<LatestCheckpoint> latest_checkpoint(const std::string& directory);

// Returns the prefixes of a folder that have an index, by step and time, oldest first. Verifies nothing. `name`: only
// the prefixes "<name>" and "<name>-<step>"; empty: all.
Result<std::vector<std::string>> list_checkpoints(const std::string& directory, std::string_view name = {});

// Returns the step in a prefix: 120 for "…/model.ckpt-120"; -1 if it does not end in a step.
std::int64_t checkpoint_step(std::string_view prefix);

// The prefixes that a state file names. Relative paths in the file are relative to its folder; here they are joined.
struct CheckpointStateFile {
  std::string latest;
  std::vector<std::string> all;  // oldest first
};
Result<CheckpointStateFile> read_checkpoint_state(const std::string& directory);
// Returns the text of a state file that names these prefixes. Those inside the folder are written relative to it.
std::string checkpoint_state_text(const std::string& directory, const std::vector<std::string>& prefixes);

}  // namespace argosy::tf
