#include "tools/argosy/cli/command.h"

namespace argosy::cli {

void define_cluster_check(Command& cluster);

void define_cluster(Command& program) {
  Command& cluster = program.add("cluster", "The hosts of a job: can they reach each other");
  cluster.example("argosy launch -H gpu-a,gpu-b -- argosy cluster check", "a row for each pair of hosts");
  define_cluster_check(cluster);
}

}  // namespace argosy::cli
