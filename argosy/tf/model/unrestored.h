// Variables that a SavedModel reads and never restores. Internal to argosy/tf/model.
#pragma once

#include <string>
#include <vector>

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace argosy {

// The variables that signatures read, and that neither the restoring nor `init_ops` reaches, sorted. What
// tf.saved_model.save writes of a Keras 3 model has such: its Python restores them.
std::vector<std::string> unrestored_of(const tensorflow::MetaGraphDef& meta, const std::vector<std::string>& init_ops);

}  // namespace argosy
