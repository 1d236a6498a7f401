// Ops that write event files while a step runs: TensorFlow 2's tf.summary in graphs. A writer is a resource; its file
// is open from CreateSummaryFileWriter to CloseSummaryWriter.
#pragma once

#include <string>
#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// The handle of a writer of event files. Equal names share one writer.
Value summary_writer(Graph& graph, const std::string& shared_name = "");
// Opens a file in the folder, unless one is open already.
Value create_summary_file_writer(Value writer, std::string_view folder);
// Writes one number. `step`: int64. Run it after create_summary_file_writer.
Value write_scalar_summary(Value writer, Value step, std::string_view tag, Value scalar);
Value close_summary_writer(Value writer);  // flushes and closes the file; a control value

}  // namespace argosy
