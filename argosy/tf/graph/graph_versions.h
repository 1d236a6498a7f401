// GraphVersions: the versions of a graph that is imported part by part. Internal to argosy/tf/graph.
#pragma once

#include "argosy/base/status.h"
#include "argosy/formats/proto/graph.pb.h"

namespace argosy::tf {

class GraphVersions {
 public:
  // INVALID_ARGUMENT where a consumer of our version may not read a graph of these versions: ARG-IMPORT-007.
  static Status check(const tensorflow::VersionDef& versions);
  // The first graph that has versions gives them; later ones may only ask for more of the consumer.
  void merge(const tensorflow::VersionDef& more);
  const tensorflow::VersionDef& all() const { return versions_; }

 private:
  tensorflow::VersionDef versions_;
};

}  // namespace argosy::tf
