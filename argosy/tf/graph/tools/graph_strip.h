// The implementation of GraphForm::strip(), on a GraphDef. Internal to argosy/tf.
#pragma once

#include "argosy/tf/graph/tools/graph_tools.h"

namespace tensorflow {
class GraphDef;
}

namespace argosy::tf {

Result<std::string> strip_graph(tensorflow::GraphDef& def, const OpRegistry& ops,
                                const GraphForm::StripOptions& options);

}  // namespace argosy::tf
