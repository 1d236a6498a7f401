// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT: torchrun's, and of every launcher like it.
// torchrun's own store may hold MASTER_PORT: the ports after it are tried in turn.
#include "argosy/cluster/environment/variables.h"
#include "argosy/rpc/gate/peer_filter.h"

namespace argosy {

FoundPlace place_of_torchrun(const EnvironmentMap& environment) {
  if (!has(environment, "RANK") && !has(environment, "WORLD_SIZE")) return std::optional<JobPlace>();
  JobPlace place{.source = "RANK, WORLD_SIZE"};
  ARGOSY_ASSIGN_OR_RETURN(place.size, number_of(environment, "WORLD_SIZE", 1));
  ARGOSY_ASSIGN_OR_RETURN(place.rank, number_of(environment, "RANK"));
  const std::string host(text_of(environment, "MASTER_ADDR"));
  const bool loopback = tf::is_loopback(host);
  const bool local_known = has(environment, "LOCAL_WORLD_SIZE");
  // Without a word of it: a coordinator on loopback means that all tasks are here.
  ARGOSY_ASSIGN_OR_RETURN(place.local_size, number_or(environment, "LOCAL_WORLD_SIZE",
                                                      loopback && host == "localhost" ? place.size : 1, 1));
  ARGOSY_ASSIGN_OR_RETURN(place.local_rank,
                          number_or(environment, "LOCAL_RANK", place.local_size == place.size ? place.rank : 0));
  if (!local_known && place.local_rank >= place.local_size) place.local_size = place.local_rank + 1;
  place.job = std::string(text_of(environment, "TORCHELASTIC_RUN_ID"));
  if (place.size == 1) return std::optional<JobPlace>(std::move(place));
  if (host.empty()) {
    return invalid_argument("WORLD_SIZE=", place.size, ", but MASTER_ADDR is not set")
        .with_id("ARG-CLUSTER-032")
        .with_where("MASTER_ADDR")
        .with_hint("export MASTER_ADDR=HOST of rank 0; argosy launch and torchrun do");
  }
  if (host == "localhost" && local_known && place.local_size < place.size) {
    return invalid_argument("MASTER_ADDR=localhost, but ", place.size - place.local_size, " of ", place.size,
                            " tasks are on other hosts, where it is another machine")
        .with_id("ARG-CLUSTER-048")
        .with_where("MASTER_ADDR")
        .with_hint("the name of the host of rank 0, as the other hosts know it");
  }
  ARGOSY_ASSIGN_OR_RETURN(const int port, number_or(environment, "MASTER_PORT", kDefaultPort, 1, 65535));
  place.coordinators = eight_ports(host, port);
  return std::optional<JobPlace>(std::move(place));
}

}  // namespace argosy
