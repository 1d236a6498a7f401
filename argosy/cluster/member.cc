#include "argosy/cluster/member.h"

#include "argosy/cluster/single_task.h"

namespace argosy {

Result<std::unique_ptr<JobTasks>> join_job(JoinOptions options) {
  if (options.place.size == 1) return std::unique_ptr<JobTasks>(std::make_unique<SingleTask>(options.devices));
  return unimplemented("jobs of several tasks: the coordinator comes with the next commit");
}

}  // namespace argosy
