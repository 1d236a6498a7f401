// Loops that tasks share: their values meet by the numbers of frames, which TensorFlow 1.x gives otherwise
// (argosy/runtime/step/frame_keys.h). With such a task a step would wait until its client's timeout.
#pragma once

#include <functional>

#include "argosy/cluster/cluster_spec.h"
#include "argosy/passes/simplify/prune.h"

namespace tensorflow {
class GetStatusResponse;
}

namespace argosy::tf {

// True if the task with this status numbers frames as we do. TensorFlow does since 2.4; its status shows it from 2.5
// on.
bool numbers_frames_as_we(const tensorflow::GetStatusResponse& status);

// Of a graph that a master has cut: `may_share` is asked of each other task with which a loop of it has values in
// common. UNIMPLEMENTED "ARG-PART-004": it said no.
Status check_shared_loops(const StepGraph& step, const TaskName& own,
                          const std::function<bool(const TaskName& task)>& may_share);

}  // namespace argosy::tf
