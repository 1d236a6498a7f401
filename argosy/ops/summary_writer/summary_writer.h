// Event files written while a step runs: tf.summary of TensorFlow 2 inside graphs. A writer is a resource; it has a
// file from CreateSummaryFileWriter on, until CloseSummaryWriter.
#pragma once

#include <string>
#include <string_view>

#include "argosy/graph/graph.h"

namespace argosy {

// The handle of a writer of event files; equal names share it.
Value summary_writer(Graph& graph, const std::string& shared_name = "");
// Opens a file in the folder, once.
Value create_summary_file_writer(Value writer, std::string_view folder);
// `step`: int64. To be run; after create_summary_file_writer.
Value write_scalar_summary(Value writer, Value step, std::string_view tag, Value scalar);
Value close_summary_writer(Value writer);  // what was written is in the file; a control value

}  // namespace argosy
