// Readers: records of files whose names come from a queue, shared by the steps of a session. (Datasets are the newer
// way.)
#pragma once

#include <utility>

#include "argosy/graph/graph.h"

namespace argosy {

// A reader of lines, the value without its end.
Value text_line_reader(Graph& graph, int skip_header_lines = 0, std::string_view name = {});
Value whole_file_reader(Graph& graph, std::string_view name = {});  // A reader of whole files.
// A reader of records of equal length between a header and a footer.
Value fixed_length_record_reader(Graph& graph, std::int64_t record_bytes, std::int64_t header_bytes = 0,
                                 std::int64_t footer_bytes = 0, std::string_view name = {});
Value record_reader(Graph& graph, std::string_view name = {});  // of TFRecord files

// (key, value) of the next record; waits for the queue of file names.
std::pair<Value, Value> reader_read(Value reader, Value queue);
// As many as there are left in a file, at most n.
std::pair<Value, Value> reader_read_up_to(Value reader, Value queue, Value n);

}  // namespace argosy
