// Ops that save and restore variables in files of TensorFlow's formats: those of tf.train.Saver. (The command-line tool
// and the C++ API save by argosy/formats/checkpoint/saver.h.) The step's device set decides which files may be read and
// written (argosy/op/kernel/file_policy.h).
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Writes `<prefix>.index` and its data file. Returns a control value. `slices`: one string per tensor. "" is a whole
// tensor; else the full shape, and start and length on each axis. "10 20 0,5:-" is rows 0 to 4 of [10,20].
Value save(Value prefix, Value names, Value slices, const std::vector<Value>& tensors);
// Returns the tensors with these names. `slices`: as in save().
std::vector<Value> restore(Value prefix, Value names, Value slices, const std::vector<DType>& dtypes);
// Merges the checkpoints `pieces`, which several devices saved, into one at `prefix`. Returns a control value.
Value merge_checkpoints(Value pieces, Value prefix, bool delete_old_directories = true);
Value sharded_filename(Value basename, Value shard, Value shards);  // "<basename>-00001-of-00004" and the like

}  // namespace argosy
