// Values of variables in files, in TensorFlow's formats: what tf.train.Saver's nodes do. (A program of ours saves by
// argosy/formats/checkpoint/saver.h.) Which files may be touched is asked of the step's device set (argosy/op/kernel/file_policy.h).
#pragma once

#include <vector>

#include "argosy/graph/graph.h"

namespace argosy {

// Writes `<prefix>.index` and its data file. `slices`: a word per tensor, "" for a whole one, else the shape of what it
// is a part of and where it lies there: "10 20 0,5:-" is rows 0 to 5 of [10,20]. A control value.
Value save(Value prefix, Value names, Value slices, const std::vector<Value>& tensors);
// The tensors with these names; slices: "" or a part of one, as the saver wrote it.
std::vector<Value> restore(Value prefix, Value names, Value slices, const std::vector<DType>& dtypes);
// Pieces that several devices saved become one checkpoint. A control value.
Value merge_checkpoints(Value pieces, Value prefix, bool delete_old_directories = true);
Value sharded_filename(Value basename, Value shard, Value shards);  // "<basename>-00001-of-00004" and the like

}  // namespace argosy
