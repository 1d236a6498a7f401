#include "argosy/cluster/environment/find_place.h"

#include "argosy/cluster/environment/variables.h"
#include "argosy/cluster/network/host_port.h"

extern "C" char** environ;

namespace argosy {

namespace {

struct Source {
  FoundPlace (*find)(const EnvironmentMap&);
  // A scheduler may hold a launcher whose tasks it does not know: Slurm starts one torchrun a host. Its numbers are those
  // of the launchers then, and contradict nothing.
  bool scheduler;
};

constexpr Source kSources[] = {
    {place_of_argosy, false},   {place_of_tf_config, false}, {place_of_openmpi, false},   {place_of_pmi, false},
    {place_of_torchrun, false}, {place_of_slurm, true},      {place_of_kubernetes, true},
};

Result<std::optional<JobPlace>> place_of_flags(const PlaceFlags& flags) {
  if (!flags.rank && !flags.size && flags.coordinator.empty()) return std::optional<JobPlace>();
  if (!flags.rank || !flags.size || (*flags.size > 1 && flags.coordinator.empty())) {
    return invalid_argument("--rank, --tasks and --coordinator are given together")
        .with_id("ARG-CLUSTER-032")
        .with_where("--rank")
        .with_hint("--rank 0 --tasks 2 --coordinator gpu-a:29500");
  }
  JobPlace place{.rank = *flags.rank, .size = *flags.size, .source = "--rank, --tasks"};
  if (!flags.coordinator.empty()) place.coordinators = {flags.coordinator};
  return std::optional<JobPlace>(std::move(place));
}

Status contradiction(const JobPlace& one, const JobPlace& other) {
  return invalid_argument(one.source, " say rank ", one.rank, " of ", one.size, ", ", other.source, " say rank ",
                          other.rank, " of ", other.size)
      .with_id("ARG-CLUSTER-031")
      .with_where(str_cat(one.source, " and ", other.source))
      .with_hint("unset the variables of the launcher that did not start this process");
}

// What holds for every source: the token, and an address that somebody knew better.
Status complete(const EnvironmentMap& environment, JobPlace& place) {
  place.token = std::string(text_of(environment, "ARGOSY_JOB_TOKEN"));
  if (has(environment, "ARGOSY_INSECURE_CLUSTER")) {
    place.insecure_networks = str_split(text_of(environment, "ARGOSY_INSECURE_CLUSTER"), ',');
  }
  if (has(environment, "ARGOSY_START_TIMEOUT")) {
    ARGOSY_ASSIGN_OR_RETURN(const int seconds, number_of(environment, "ARGOSY_START_TIMEOUT", 1, 86'400));
    place.start_timeout = std::chrono::seconds(seconds);
  }
  if (has(environment, "ARGOSY_COORDINATOR")) {
    place.coordinators = {std::string(text_of(environment, "ARGOSY_COORDINATOR"))};
    place.exchange = JobPlace::Exchange::kNone;
  }
  ARGOSY_RETURN_IF_ERROR(check_numbers(place));
  for (const std::string& address : place.coordinators) {
    auto parsed = HostPort::parse(address);
    if (!parsed.ok()) {
      const bool given = has(environment, "ARGOSY_COORDINATOR");
      return std::move(parsed).status().with_where(given ? "ARGOSY_COORDINATOR" : place.source);
    }
  }
  if (place.size > 1 && place.coordinators.empty() && place.exchange == JobPlace::Exchange::kNone) {
    return invalid_argument(place.source, " speak of ", place.size, " tasks, but not of where task 0 listens")
        .with_id("ARG-CLUSTER-032")
        .with_where(place.source)
        .with_hint("export ARGOSY_COORDINATOR=HOST:PORT of task 0, the same on every host");
  }
  return ok_status();
}

}  // namespace

EnvironmentMap process_environment() {
  EnvironmentMap map;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view row = *at;
    const std::size_t equals = row.find('=');
    if (equals == std::string_view::npos || equals + 1 == row.size()) continue;
    map.emplace(row.substr(0, equals), row.substr(equals + 1));
  }
  return map;
}

Result<JobPlace> find_place(const EnvironmentMap& environment, const PlaceFlags& flags) {
  ARGOSY_ASSIGN_OR_RETURN(std::optional<JobPlace> taken, place_of_flags(flags));
  for (const Source& source : kSources) {
    if (taken && source.scheduler) break;
    ARGOSY_ASSIGN_OR_RETURN(std::optional<JobPlace> found, source.find(environment));
    if (!found) continue;
    if (!taken) {
      taken = std::move(found);
    } else if (taken->rank != found->rank || taken->size != found->size) {
      return contradiction(*taken, *found);
    }
  }
  JobPlace place = taken ? *std::move(taken) : JobPlace();
  ARGOSY_RETURN_IF_ERROR(complete(environment, place));
  return place;
}

std::string describe(const JobPlace& place) {
  if (place.source.empty()) return "a job of one task: no launcher's variables are set";
  if (place.size == 1) return str_cat("a job of one task, by ", place.source);
  std::string at = place.exchange == JobPlace::Exchange::kPmi1   ? "told by PMI-1"
                   : place.exchange == JobPlace::Exchange::kPmix ? "told by PMIx"
                                                                 : place.coordinators[0];
  return str_cat("task ", place.rank, " of ", place.size, " by ", place.source, ", coordinator ", at);
}

}  // namespace argosy
