// Graphs in files of TensorFlow: a GraphDef (.pb, or .pbtxt as text), a MetaGraphDef (.meta), a SavedModel (a folder
// with saved_model.pb or .pbtxt). Text is recognised by the contents, whatever the file's name.
// Internal to argosy/tf. The messages are only forward-declared.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/status.h"

namespace tensorflow {
class GraphDef;
class MetaGraphDef;
}  // namespace tensorflow

namespace argosy::tf {

enum class GraphKind { kGraphDef, kMetaGraphDef, kSavedModel };
std::string_view kind_name(GraphKind kind);

struct GraphFile {
  GraphKind kind = GraphKind::kGraphDef;
  std::string path;                                // the file itself
  std::string folder;                              // a SavedModel's folder, which has variables/ and assets/
  std::unique_ptr<tensorflow::MetaGraphDef> meta;  // for a GraphDef only its field graph_def is set

  GraphFile();
  GraphFile(GraphFile&&) noexcept;
  GraphFile& operator=(GraphFile&&) noexcept;
  ~GraphFile();
};

// Reads a file. `tags`: selects a graph of a SavedModel; empty: its only graph, else the one with the single tag
// "serve". NOT_FOUND: no file. INVALID_ARGUMENT: no such message; for text with line and column. FAILED_PRECONDITION:
// no graph has these tags; it lists the tags that exist.
Result<GraphFile> read_graph_file(const std::string& path, const std::vector<std::string>& tags = {});
// Likewise from a file's contents. `path`: for errors, and for the kind of message where the bytes leave it open.
Result<GraphFile> read_graph_bytes(const std::string& path, std::string_view bytes,
                                   const std::vector<std::string>& tags = {});
// True if a file with this beginning may be for read_graph_bytes(), whatever its name: it is binary, or text that
// begins as such a message does ("node {", "saver_def {").
bool may_be_graph(std::string_view head);

// Writes text if the path ends in .pbtxt, else binary. Replaces the file atomically.
Status write_graph_file(const std::string& path, const tensorflow::GraphDef& def);
std::string graph_text(const tensorflow::GraphDef& def);

}  // namespace argosy::tf
