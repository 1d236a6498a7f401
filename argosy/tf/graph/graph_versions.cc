#include "argosy/tf/graph/graph_versions.h"

#include <algorithm>
#include <set>

#include "argosy/tf/graph/imported_graph.h"

namespace argosy::tf {

Status GraphVersions::check(const tensorflow::VersionDef& versions) {
  if (versions.min_consumer() > ImportedGraph::kProducerVersion) {
    return invalid_argument("GraphDef min consumer version ", versions.min_consumer(), " above current version ",
                            ImportedGraph::kProducerVersion, " for TensorFlow 2.21.  Please upgrade TensorFlow.")
        .with_id("ARG-IMPORT-007");
  }
  for (const int bad : versions.bad_consumers()) {
    if (bad != ImportedGraph::kProducerVersion) continue;
    return invalid_argument("GraphDef disallows consumer version ", bad,
                            ".  Please upgrade TensorFlow: this version is likely buggy.")
        .with_id("ARG-IMPORT-007");
  }
  if (versions.producer() < 0) {
    return invalid_argument("GraphDef producer version ", versions.producer(), " below min producer 0 supported")
        .with_id("ARG-IMPORT-007");
  }
  return ok_status();
}

void GraphVersions::merge(const tensorflow::VersionDef& more) {
  if (versions_.producer() == 0) versions_.set_producer(more.producer());
  versions_.set_min_consumer(std::max(versions_.min_consumer(), more.min_consumer()));
  std::set<int> bad(versions_.bad_consumers().begin(), versions_.bad_consumers().end());
  for (const int version : more.bad_consumers()) {
    if (bad.insert(version).second) versions_.add_bad_consumers(version);
  }
}

}  // namespace argosy::tf
