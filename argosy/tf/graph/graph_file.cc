#include "argosy/tf/graph/graph_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <climits>

#include "argosy/base/system/file.h"
#include "argosy/formats/proto/meta_graph.pb.h"

namespace argosy::tf {

namespace {

using google::protobuf::Message;
using tensorflow::GraphDef;
using tensorflow::MetaGraphDef;
using tensorflow::SavedModel;

bool is_text_path(std::string_view path) {
  return path.ends_with(".pbtxt") || path.ends_with(".pb.txt") || path.ends_with(".prototxt");
}

Status malformed(const std::string& path, const auto&... what) {
  return invalid_argument(what...).with_id("ARG-IMPORT-009").with_where(path);
}

// Keeps the first error of a text.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = str_cat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  void AddWarning(int, int, const std::string&) override {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Status parse_text(const std::string& path, std::string_view text, Message& to) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.AllowUnknownField(true);  // newer versions say more
  parser.SetRecursionLimit(100);
  if (parser.ParseFromString(std::string(text), &to)) return ok_status();
  return malformed(path, to.GetTypeName(), " as text: ", error.text().empty() ? "malformed" : error.text());
}

bool parse_binary(std::string_view bytes, Message& to) {
  return to.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Messages of another type often parse, too, but then their nodes have no ops.
bool is_plausible(const GraphDef& def) {
  return std::all_of(def.node().begin(), def.node().end(),
                     [](const auto& node) { return !node.name().empty() && !node.op().empty(); });
}
bool is_plausible(const MetaGraphDef& meta) { return meta.has_graph_def() && is_plausible(meta.graph_def()); }
bool is_plausible(const SavedModel& model) {
  return model.meta_graphs_size() > 0 && std::all_of(model.meta_graphs().begin(), model.meta_graphs().end(),
                                                     [](const auto& m) { return is_plausible(m); });
}

std::vector<std::string> tags_of(const MetaGraphDef& meta) {
  const auto& tags = meta.meta_info_def().tags();
  std::vector<std::string> sorted(tags.begin(), tags.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Result<std::unique_ptr<MetaGraphDef>> choose(const std::string& path, SavedModel& model,
                                             std::vector<std::string> tags) {
  std::vector<std::string> there;
  for (const MetaGraphDef& meta : model.meta_graphs()) there.push_back(str_cat("{", str_join(tags_of(meta)), "}"));
  const bool any = tags.empty() && model.meta_graphs_size() == 1;
  if (tags.empty()) tags = {"serve"};
  std::sort(tags.begin(), tags.end());
  for (MetaGraphDef& meta : *model.mutable_meta_graphs()) {
    if (any || tags_of(meta) == tags) return std::make_unique<MetaGraphDef>(std::move(meta));
  }
  return failed_precondition("the SavedModel has no graph with the tags {", str_join(tags), "}; it has ",
                             str_join(there))
      .with_id("ARG-IMPORT-013")
      .with_where(path)
      .with_hint("--tags with one of these");
}

Result<GraphFile> read_model(const std::string& path, std::string_view bytes, const std::vector<std::string>& tags) {
  SavedModel model;
  if (is_text_path(path)) {
    ARGOSY_RETURN_IF_ERROR(parse_text(path, bytes, model));
  } else if (!parse_binary(bytes, model)) {
    return malformed(path, bytes.size(), " bytes are not a SavedModel");
  }
  GraphFile file;
  file.kind = GraphKind::kSavedModel;
  file.path = path;
  const std::size_t slash = path.rfind('/');
  file.folder = slash == std::string::npos ? "." : path.substr(0, slash);
  ARGOSY_ASSIGN_OR_RETURN(file.meta, choose(path, model, tags));
  return file;
}

Result<GraphFile> read_meta(const std::string& path, std::string_view bytes) {
  GraphFile file;
  file.kind = GraphKind::kMetaGraphDef;
  file.path = path;
  file.meta = std::make_unique<MetaGraphDef>();
  if (is_text_path(path)) {
    ARGOSY_RETURN_IF_ERROR(parse_text(path, bytes, *file.meta));
  } else if (!parse_binary(bytes, *file.meta)) {
    return malformed(path, bytes.size(), " bytes are not a MetaGraphDef");
  }
  return file;
}

}  // namespace

GraphFile::GraphFile() = default;
GraphFile::GraphFile(GraphFile&&) noexcept = default;
GraphFile& GraphFile::operator=(GraphFile&&) noexcept = default;
GraphFile::~GraphFile() = default;

std::string_view kind_name(GraphKind kind) {
  switch (kind) {
    case GraphKind::kGraphDef: return "GraphDef";
    case GraphKind::kMetaGraphDef: return "MetaGraphDef";
    default: return "SavedModel";
  }
}

Result<GraphFile> read_graph_bytes(const std::string& path, std::string_view bytes,
                                   const std::vector<std::string>& tags) {
  if (bytes.size() > INT_MAX) {
    return resource_exhausted(bytes.size(), " bytes exceed protobuf's 2 GiB").with_id("ARG-PROTO-002").with_where(path);
  }
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (name.starts_with("saved_model.")) return read_model(path, bytes, tags);
  if (name.find(".meta") != std::string_view::npos) return read_meta(path, bytes);
  GraphFile file;
  file.path = path;
  file.meta = std::make_unique<MetaGraphDef>();
  if (is_text_path(path)) {
    Status as_graph = parse_text(path, bytes, *file.meta->mutable_graph_def());
    if (as_graph.ok() && file.meta->graph_def().node_size() > 0) return file;
    // With fields that a GraphDef lacks it reads as one without nodes.
    auto as_meta = read_meta(path, bytes);
    if (as_meta.ok() && as_meta->meta->graph_def().node_size() > 0) return as_meta;
    if (!as_graph.ok()) return as_graph;
    return file;
  }
  if (parse_binary(bytes, *file.meta->mutable_graph_def()) && is_plausible(file.meta->graph_def())) return file;
  if (auto meta = read_meta(path, bytes); meta.ok() && is_plausible(*meta->meta)) return meta;
  SavedModel model;
  if (parse_binary(bytes, model) && is_plausible(model)) return read_model(path, bytes, tags);
  return malformed(path, bytes.size(), " bytes are no GraphDef, MetaGraphDef or SavedModel");
}

Result<GraphFile> read_graph_file(const std::string& path, const std::vector<std::string>& tags) {
  std::string file = path;
  if (is_directory(path)) {
    file = path + "/saved_model.pb";
    if (!file_exists(file)) file = path + "/saved_model.pbtxt";
    if (!file_exists(file)) {
      return not_found("there is neither saved_model.pb nor saved_model.pbtxt in it")
          .with_id("ARG-FILE-001")
          .with_where(path)
          .with_hint("a folder that tf.saved_model.save() wrote, or a .pb, .pbtxt or .meta file");
    }
  }
  ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, read_file(file, std::int64_t{INT_MAX}));
  return read_graph_bytes(file, bytes, tags);
}

std::string graph_text(const GraphDef& def) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(def, &text);
  return text;
}

Status write_graph_file(const std::string& path, const GraphDef& def) {
  std::string bytes;
  if (is_text_path(path)) {
    bytes = graph_text(def);
  } else if (def.ByteSizeLong() > INT_MAX || !def.SerializeToString(&bytes)) {
    return resource_exhausted("a GraphDef of ", def.ByteSizeLong(), " bytes exceeds protobuf's 2 GiB")
        .with_id("ARG-PROTO-002")
        .with_where(path);
  }
  const std::string temporary = path + ".tmp";
  ARGOSY_ASSIGN_OR_RETURN(File file, File::create(temporary));
  Status written = file.write(bytes);
  if (written.ok()) written = file.close();
  if (written.ok()) written = rename_file(temporary, path);
  if (!written.ok()) (void)remove_file(temporary);
  return written;
}

}  // namespace argosy::tf
