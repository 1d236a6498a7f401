#include "argosy/tf/server/session/run_options.h"

#include "argosy/formats/proto/config.pb.h"

namespace argosy::tf {

Status check_options(const tensorflow::RunOptions& options) {
  if (options.debug_options().debug_tensor_watch_opts_size() == 0) return ok_status();
  const auto& watch = options.debug_options().debug_tensor_watch_opts(0);
  const std::string name = str_cat(watch.node_name(), ":", watch.output_slot());
  return unimplemented("RunOptions.debug_options: this server cannot watch tensors for a debugger, the first of them ",
                       name)
      .with_id("ARG-RPC-006")
      .with_hint(str_cat("fetch ", name, ", or put a tf.print behind it"));
}

Status read_options(const std::string& serialized, tensorflow::RunOptions& to) {
  if (serialized.empty()) return ok_status();
  if (!to.ParseFromString(serialized)) return invalid_argument("RunOptions are damaged").with_id("ARG-PROTO-003");
  return check_options(to);
}

bool wants_metadata(const tensorflow::RunOptions& options) {
  return options.trace_level() == tensorflow::RunOptions::FULL_TRACE || options.output_partition_graphs();
}

}  // namespace argosy::tf
