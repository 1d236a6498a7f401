// JobPlace: a process' place in its job: rank, size, and the address of task 0. find_place() (environment/find_place.h)
// makes it from the environment; join_job() takes it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace argosy {

// A value type. The default is a job of one.
struct JobPlace {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  // among the tasks of this host
  // "host:port" where task 0 may listen, in the order in which they are tried. Task 0 takes the first free one; the
  // others ask each until one knows their job. Empty: a job of one, or the launcher's exchange provides it.
  std::vector<std::string> coordinators;
  std::vector<std::string> hosts;  // of each rank, where the environment knows them; else empty
  std::string job;                 // an id that distinguishes jobs on one network; may be empty
  std::string token;               // 64 hexadecimal digits, or empty (ARGOSY_JOB_TOKEN)
  // Networks beyond loopback from which tasks may come without certificates (ARGOSY_INSECURE_CLUSTER).
  std::vector<std::string> insecure_networks;
  std::optional<std::chrono::milliseconds> start_timeout;  // for all tasks to join (ARGOSY_START_TIMEOUT)
  // The launcher's exchange that provides task 0's address and the token: PMI-1 (on PMI_FD) or PMIx (by dlopen).
  enum class Exchange { kNone, kPmi1, kPmix } exchange = Exchange::kNone;
  std::string source;  // the variables that this comes from: "RANK, WORLD_SIZE"; "": no source describes a job

  // The indices, among `count` devices or cores of this host, that this task uses: every local_size-th from local_rank
  // on.
  std::vector<int> own_share(int count) const;
  int own_threads(int cores) const;  // cores / local_size, at least 1
};

}  // namespace argosy
