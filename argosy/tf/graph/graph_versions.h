// GraphVersions: the VersionDef of a graph that is imported in several parts. Internal to argosy/tf/graph.
#pragma once

#include "argosy/base/status.h"
#include "argosy/formats/proto/graph.pb.h"

namespace argosy::tf {

class GraphVersions {
 public:
  // INVALID_ARGUMENT "ARG-IMPORT-007": a consumer of our version (kProducerVersion) may not read such a graph.
  static Status check(const tensorflow::VersionDef& versions);
  // Merges a part's versions: the producer of the first part that has one, the largest min_consumer, all bad_consumers.
  void merge(const tensorflow::VersionDef& more);
  const tensorflow::VersionDef& all() const { return versions_; }

 private:
  tensorflow::VersionDef versions_;
};

}  // namespace argosy::tf
