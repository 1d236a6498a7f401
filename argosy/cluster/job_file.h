// The file in which a coordinator leaves its token for its own user: `argosy status` on that host finds it by the port.
#pragma once

#include <string>

#include "argosy/cluster/job_token.h"

namespace argosy {

// While it lives there is a file that only this user may read: $XDG_RUNTIME_DIR/argosy-jobs/PORT, else
// /tmp/argosy-jobs-UID/PORT.
class JobFile {
 public:
  // Where it cannot be written there is none: status asks for ARGOSY_JOB_TOKEN then.
  JobFile(int port, const JobToken& token);
  ~JobFile();
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  // The token of the job at this port of this host; none where there is no such file of this user's.
  static JobToken find(int port);

 private:
  std::string path_;
};

}  // namespace argosy
