// What mpirun sets: Open MPI (OMPI_COMM_WORLD_*), and launchers that speak PMI-1 (MPICH's Hydra: PMI_RANK, PMI_SIZE).
#include "argosy/cluster/environment/variables.h"

namespace argosy {

FoundPlace place_of_openmpi(const EnvironmentMap& environment) {
  if (!has(environment, "OMPI_COMM_WORLD_RANK") && !has(environment, "OMPI_COMM_WORLD_SIZE")) {
    return std::optional<JobPlace>();
  }
  JobPlace place{.source = "OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE"};
  ARGOSY_ASSIGN_OR_RETURN(place.size, number_of(environment, "OMPI_COMM_WORLD_SIZE", 1));
  ARGOSY_ASSIGN_OR_RETURN(place.rank, number_of(environment, "OMPI_COMM_WORLD_RANK"));
  ARGOSY_ASSIGN_OR_RETURN(place.local_size, number_of(environment, "OMPI_COMM_WORLD_LOCAL_SIZE", 1));
  ARGOSY_ASSIGN_OR_RETURN(place.local_rank, number_of(environment, "OMPI_COMM_WORLD_LOCAL_RANK"));
  if (place.size == 1) return std::optional<JobPlace>(std::move(place));
  place.job = std::string(text_of(environment, "PMIX_NAMESPACE"));
  if (place.local_size == place.size && !place.job.empty()) {
    place.coordinators = eight_ports("127.0.0.1", port_of_job(place.job));
  } else {
    place.exchange = JobPlace::Exchange::kPmix;
  }
  return std::optional<JobPlace>(std::move(place));
}

FoundPlace place_of_pmi(const EnvironmentMap& environment) {
  if (has(environment, "OMPI_COMM_WORLD_RANK")) return std::optional<JobPlace>();
  if (!has(environment, "PMI_RANK") && !has(environment, "PMI_SIZE")) return std::optional<JobPlace>();
  JobPlace place{.source = "PMI_RANK, PMI_SIZE"};
  ARGOSY_ASSIGN_OR_RETURN(place.size, number_of(environment, "PMI_SIZE", 1));
  ARGOSY_ASSIGN_OR_RETURN(place.rank, number_of(environment, "PMI_RANK"));
  ARGOSY_ASSIGN_OR_RETURN(place.local_size, number_or(environment, "MPI_LOCALNRANKS", 1, 1));
  ARGOSY_ASSIGN_OR_RETURN(place.local_rank, number_or(environment, "MPI_LOCALRANKID", 0));
  if (place.size == 1) return std::optional<JobPlace>(std::move(place));
  // Slurm's PMI speaks another protocol on that descriptor, and Slurm says where its first host is.
  if (has(environment, "PMI_FD") && !has(environment, "SLURM_STEP_ID")) {
    place.exchange = JobPlace::Exchange::kPmi1;
  } else if (has(environment, "SLURM_STEP_NODELIST")) {
    return std::optional<JobPlace>();
  }
  return std::optional<JobPlace>(std::move(place));
}

}  // namespace argosy
