// start_idle_team(): a team of OpenMP threads that only exists. Implemented in parallel.cc.
#pragma once

namespace argosy {

// Starts a team of `threads` for the calling thread, and lets it rest. release_omp_team() ends it. False: the system
// has no threads for it, now. libgomp itself would end the process then.
bool start_idle_team(int threads);

}  // namespace argosy
