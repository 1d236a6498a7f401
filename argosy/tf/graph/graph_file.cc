#include "argosy/tf/graph/graph_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/common.h>
#include <google/protobuf/text_format.h>
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#endif

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "argosy/base/system/file.h"
#include "argosy/formats/proto/meta_graph.pb.h"

namespace argosy::tf {

namespace {

using google::protobuf::Message;
using tensorflow::GraphDef;
using tensorflow::MetaGraphDef;
using tensorflow::SavedModel;

// While it lives, protobuf prints nothing to stderr; our errors contain the messages. Later versions of protobuf do not
// print.
struct Silence {
#if GOOGLE_PROTOBUF_VERSION < 4022000
  google::protobuf::LogSilencer silencer;
#endif
};

bool is_text_path(std::string_view path) {
  return path.ends_with(".pbtxt") || path.ends_with(".pb.txt") || path.ends_with(".prototxt");
}

Status malformed(const std::string& path, const auto&... what) {
  return invalid_argument(what...)
      .with_id("ARG-IMPORT-009")
      .with_where(path)
      .with_hint("a .pb, .pbtxt or .meta file, or the folder of a SavedModel");
}

// Returns the error for bytes that are no message. It says what they are, if that is known.
Status no_graph(const std::string& path, std::string_view bytes, std::string_view wanted) {
  const bool zip = bytes.starts_with("PK\x03\x04"), hdf5 = bytes.starts_with("\x89HDF\r\n\x1a\n");
  if (!zip && !hdf5) return malformed(path, bytes.size(), " bytes are ", wanted);
  return invalid_argument(bytes.size(), " bytes are ", wanted, ", but ",
                          zip ? "a zip archive, as .keras files are" : "HDF5, as .h5 files of Keras are")
      .with_id("ARG-IMPORT-009")
      .with_where(path)
      .with_hint("in Python: keras.models.load_model(FILE).export(FOLDER) writes a SavedModel");
}

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";  // that editors put before UTF-8

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
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.AllowUnknownField(true);  // newer versions say more
  parser.SetRecursionLimit(100);
  if (parser.ParseFromString(std::string(text), &to)) return ok_status();
  return invalid_argument(to.GetTypeName(), " as text: ", error.text().empty() ? "malformed" : error.text())
      .with_id("ARG-IMPORT-009")
      .with_where(path)
      .with_hint("correct that line");
}

bool parse_binary(std::string_view bytes, Message& to) {
  return to.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// False if this is probably a message of another type: those often parse, but then the nodes have no ops.
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

Result<GraphFile> read_model(const std::string& path, std::string_view bytes, bool text,
                             const std::vector<std::string>& tags) {
  SavedModel model;
  if (text) {
    ARGOSY_RETURN_IF_ERROR(parse_text(path, bytes, model));
  } else if (!parse_binary(bytes, model)) {
    return no_graph(path, bytes, "not a SavedModel");
  }
  GraphFile file;
  file.kind = GraphKind::kSavedModel;
  file.path = path;
  const std::size_t slash = path.rfind('/');
  file.folder = slash == std::string::npos ? "." : path.substr(0, slash);
  ARGOSY_ASSIGN_OR_RETURN(file.meta, choose(path, model, tags));
  return file;
}

Result<GraphFile> read_meta(const std::string& path, std::string_view bytes, bool text) {
  GraphFile file;
  file.kind = GraphKind::kMetaGraphDef;
  file.path = path;
  file.meta = std::make_unique<MetaGraphDef>();
  if (text) {
    ARGOSY_RETURN_IF_ERROR(parse_text(path, bytes, *file.meta));
  } else if (!parse_binary(bytes, *file.meta)) {
    return no_graph(path, bytes, "not a MetaGraphDef");
  }
  return file;
}

Result<GraphFile> read_graph(const std::string& path, std::string_view bytes) {
  GraphFile file;
  file.path = path;
  file.meta = std::make_unique<MetaGraphDef>();
  ARGOSY_RETURN_IF_ERROR(parse_text(path, bytes, *file.meta->mutable_graph_def()));
  return file;
}

// Returns the text after leading blanks and comments.
std::string_view first_statement(std::string_view text) {
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\v\f"), text.size()));
    if (!text.starts_with('#')) return text;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// Returns the name of the first field of a message in text: "node" for "node { …", "versions" for "versions: …". Empty:
// the text is no message.
std::string_view first_field(std::string_view text) {
  text = first_statement(text);
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  const std::string_view name = text.substr(0, text.find_first_not_of(kLetters));
  const std::string_view rest = first_statement(text.substr(name.size()));
  return rest.starts_with('{') || rest.starts_with(':') || rest.starts_with('<') ? name : std::string_view();
}

// True if the bytes begin like a binary message: with control characters, from tags and lengths of fields.
bool is_binary(std::string_view bytes) {
  bytes = bytes.substr(0, 4096);
  return std::any_of(bytes.begin(), bytes.end(), [](char c) {
    return c == 0x7f || (static_cast<unsigned char>(c) < 0x20 && (c < '\t' || c > '\r'));
  });
}

// Returns the kind of a message in text, by its first field: no two of the messages have a field of the same name.
std::optional<GraphKind> kind_of_text(std::string_view text) {
  constexpr std::pair<std::string_view, GraphKind> kFields[] = {
      {"node", GraphKind::kGraphDef},
      {"versions", GraphKind::kGraphDef},
      {"version", GraphKind::kGraphDef},
      {"library", GraphKind::kGraphDef},
      {"debug_info", GraphKind::kGraphDef},
      {"meta_info_def", GraphKind::kMetaGraphDef},
      {"graph_def", GraphKind::kMetaGraphDef},
      {"saver_def", GraphKind::kMetaGraphDef},
      {"collection_def", GraphKind::kMetaGraphDef},
      {"signature_def", GraphKind::kMetaGraphDef},
      {"asset_file_def", GraphKind::kMetaGraphDef},
      {"object_graph_def", GraphKind::kMetaGraphDef},
      {"meta_graphs", GraphKind::kSavedModel},
      {"saved_model_schema_version", GraphKind::kSavedModel},
  };
  const std::string_view field = first_field(text);
  for (const auto& [name, kind] : kFields) {
    if (field == name) return kind;
  }
  return std::nullopt;
}

// Parses a file whose path says that it is text, but whose contents do not begin like a message. The parser's error
// says what is wrong. (An empty file is valid.)
Result<GraphFile> read_other_text(const std::string& path, std::string_view bytes) {
  ARGOSY_ASSIGN_OR_RETURN(GraphFile file, read_graph(path, bytes));
  if (file.meta->graph_def().ByteSizeLong() > 0 || first_statement(bytes).empty()) return file;
  return malformed(path, "text that begins with \"", first_field(bytes),
                   "\" is no GraphDef, MetaGraphDef or SavedModel");
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

bool may_be_graph(std::string_view head) { return is_binary(head) || kind_of_text(head).has_value(); }

Result<GraphFile> read_graph_bytes(const std::string& path, std::string_view bytes,
                                   const std::vector<std::string>& tags) {
  if (bytes.size() > INT_MAX) {
    return resource_exhausted(bytes.size(), " bytes exceed protobuf's 2 GiB").with_id("ARG-PROTO-002").with_where(path);
  }
  const Silence silence;
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const bool text = !is_binary(bytes) && (is_text_path(path) || kind_of_text(bytes));
  if (name.starts_with("saved_model.")) return read_model(path, bytes, text, tags);
  if (text) {
    const auto kind = kind_of_text(bytes);
    if (!kind) return read_other_text(path, bytes);
    if (*kind == GraphKind::kSavedModel) return read_model(path, bytes, true, tags);
    return *kind == GraphKind::kMetaGraphDef ? read_meta(path, bytes, true) : read_graph(path, bytes);
  }
  if (name.find(".meta") != std::string_view::npos) return read_meta(path, bytes, false);
  GraphFile file;
  file.path = path;
  file.meta = std::make_unique<MetaGraphDef>();
  if (parse_binary(bytes, *file.meta->mutable_graph_def()) && is_plausible(file.meta->graph_def())) return file;
  if (auto meta = read_meta(path, bytes, false); meta.ok() && is_plausible(*meta->meta)) return meta;
  SavedModel model;
  if (parse_binary(bytes, model) && is_plausible(model)) return read_model(path, bytes, false, tags);
  return no_graph(path, bytes, "no GraphDef, MetaGraphDef or SavedModel");
}

Result<GraphFile> read_graph_file(const std::string& path, const std::vector<std::string>& tags) {
  constexpr const char* kFiles = "a folder that tf.saved_model.save() wrote, or a .pb, .pbtxt or .meta file";
  std::string file = path;
  if (is_directory(path)) {
    file = path + "/saved_model.pb";
    if (!file_exists(file)) file = path + "/saved_model.pbtxt";
    if (!file_exists(file)) {
      return not_found("there is neither saved_model.pb nor saved_model.pbtxt in it")
          .with_id("ARG-FILE-001")
          .with_where(path)
          .with_hint(kFiles);
    }
  }
  Result<std::string> bytes = read_file(file, std::int64_t{INT_MAX});
  if (bytes.ok()) return read_graph_bytes(file, *bytes, tags);
  const bool missing = bytes.status().code() == Code::kNotFound;
  Status why = std::move(bytes).status().with_where(file);
  return missing ? std::move(why).with_hint(str_cat("check the path: ", kFiles)) : std::move(why);
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
