// Graphs in files of TensorFlow: a GraphDef (.pb, or .pbtxt as text), a MetaGraphDef (.meta), a SavedModel (a folder
// with saved_model.pb or .pbtxt). Each may be text under any name: what is in a file says which it is.
// Internal to argosy/tf: the messages are known here by name only.
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
  std::string folder;                              // of a SavedModel: where variables/ and assets/ are
  std::unique_ptr<tensorflow::MetaGraphDef> meta;  // of a GraphDef: nothing but graph_def

  GraphFile();
  GraphFile(GraphFile&&) noexcept;
  GraphFile& operator=(GraphFile&&) noexcept;
  ~GraphFile();
};

// `tags`: which graph of a SavedModel that holds several; empty: its only one, or the one tagged "serve" alone.
// NOT_FOUND; INVALID_ARGUMENT, with line and column of a text; FAILED_PRECONDITION listing the tags there are.
Result<GraphFile> read_graph_file(const std::string& path, const std::vector<std::string>& tags = {});
// The same from a file's contents. `path` is named in errors; it says what the bytes should be where they do not.
Result<GraphFile> read_graph_bytes(const std::string& path, std::string_view bytes,
                                   const std::vector<std::string>& tags = {});
// Whether a file that begins so, whatever its name, is for read_graph_bytes(): text that begins as a message does
// ("node {", "saver_def {"), or what is no text at all.
bool may_be_graph(std::string_view head);

// Writes text if the path ends in .pbtxt, else binary. Replaces the file in one step.
Status write_graph_file(const std::string& path, const tensorflow::GraphDef& def);
std::string graph_text(const tensorflow::GraphDef& def);

}  // namespace argosy::tf
