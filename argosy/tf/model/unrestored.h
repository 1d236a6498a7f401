// Finds variables that a SavedModel's signatures read and nothing restores. Internal to argosy/tf/model.
#pragma once

#include <string>
#include <vector>

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace argosy {

// Returns the variables, sorted, that signatures read and that get a value neither from the restore op nor from
// `init_ops` nor from an assignment in a signature. Keras 3 models written by tf.saved_model.save have such variables:
// Keras restores them in Python.
std::vector<std::string> unrestored_of(const tensorflow::MetaGraphDef& meta, const std::vector<std::string>& init_ops);

}  // namespace argosy
