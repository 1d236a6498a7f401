// Removes parts of a GraphDef that are redundant, or unused after nodes were removed. Each function changes the graph
// in place. Internal to argosy/tf/graph/tools.
#pragma once

#include "argosy/op/definition/registry.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace argosy::tf {

// Removes attributes that have their op's default value, from nodes and from nodes of functions. Returns their number.
int strip_defaults(tensorflow::GraphDef& def, const OpRegistry& ops);

// Removes functions that no node reaches by name, directly or through other functions, and their gradients.
void drop_functions(tensorflow::GraphDef& def);

// Removes colocation constraints ("loc:@name") with nodes that do not exist any more.
void forget_colocations(tensorflow::GraphDef& def);

}  // namespace argosy::tf
