// JobFile: the file in which a coordinator stores its token for its own user. `argosy status` on that host finds it by
// the port.
#pragma once

#include <string>

#include "argosy/cluster/job_token.h"

namespace argosy {

// While this object lives, the file exists, readable by this user only: $XDG_RUNTIME_DIR/argosy-jobs/PORT, else
// /tmp/argosy-jobs-UID/PORT.
class JobFile {
 public:
  // If the file cannot be written, there is none; `argosy status` then needs ARGOSY_JOB_TOKEN.
  JobFile(int port, const JobToken& token);
  ~JobFile();
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  // The token of the job at this port of this host; a none() token if this user has no such file.
  static JobToken find(int port);

 private:
  std::string path_;
};

}  // namespace argosy
