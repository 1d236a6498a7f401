// The signatures of a MetaGraphDef, and a substitute if it has none. Internal to argosy/tf/model.
#pragma once

#include "argosy/tf/model/load_graph.h"

namespace tensorflow {
class GraphDef;
class MetaGraphDef;
}  // namespace tensorflow

namespace argosy {

// Returns the signatures, sorted by name, without TensorFlow's internal ones ("__saved_model_init_op").
std::vector<ModelSignature> signatures_of(const tensorflow::MetaGraphDef& meta);
// Returns a substitute for a graph without signatures: its placeholders are the inputs, the values of nodes without
// consumers the outputs, by the nodes' names.
ModelSignature ends_of(const tensorflow::GraphDef& graph);

}  // namespace argosy
