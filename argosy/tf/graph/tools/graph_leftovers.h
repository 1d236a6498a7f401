// What a GraphDef need not say once nodes were taken out of it. Each function changes the graph in place.
#pragma once

#include "argosy/op/definition/registry.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace argosy::tf {

// Attributes that have their op's default, of nodes and of functions' nodes. Returns how many there were.
int strip_defaults(tensorflow::GraphDef& def, const OpRegistry& ops);

// Functions that no node names any more, directly or through others, and their gradients.
void drop_functions(tensorflow::GraphDef& def);

// Names of nodes that are gone, among those that others were to be placed with.
void forget_colocations(tensorflow::GraphDef& def);

}  // namespace argosy::tf
