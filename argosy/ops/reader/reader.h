// Readers: they read records from files whose names come from a queue. The steps of a session share them. (Datasets are
// TensorFlow's newer way.)
#pragma once

#include <utility>

#include "argosy/graph/graph.h"

namespace argosy {

// A reader of lines; a value is a line without its line end.
Value text_line_reader(Graph& graph, int skip_header_lines = 0, std::string_view name = {});
Value whole_file_reader(Graph& graph, std::string_view name = {});  // a reader whose records are whole files
// A reader of files that have a header, records of equal length, and a footer.
Value fixed_length_record_reader(Graph& graph, std::int64_t record_bytes, std::int64_t header_bytes = 0,
                                 std::int64_t footer_bytes = 0, std::string_view name = {});
Value record_reader(Graph& graph, std::string_view name = {});  // a reader of TFRecord files

// (key, value) of the next record; waits for the queue of file names.
std::pair<Value, Value> reader_read(Value reader, Value queue);
// (keys, values) of the next records: up to n, and all of one file.
std::pair<Value, Value> reader_read_up_to(Value reader, Value queue, Value n);

}  // namespace argosy
