// The signatures of a MetaGraphDef, and a substitute if it has none. Internal to argosy/tf/model.
#pragma once

#include "argosy/tf/model/load_graph.h"

namespace tensorflow {
class GraphDef;
class MetaGraphDef;
}  // namespace tensorflow

namespace argosy {

// Sorted by name; TensorFlow's own ("__saved_model_init_op") are left out.
std::vector<ModelSignature> signatures_of(const tensorflow::MetaGraphDef& meta);
// Of a graph without signatures: its placeholders, and the nodes with outputs that no node reads, by their own names.
ModelSignature ends_of(const tensorflow::GraphDef& graph);

}  // namespace argosy
