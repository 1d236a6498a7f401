#include "tools/argosy/graph/graph_source.h"

#include <algorithm>
#include <cstdio>

#include "argosy/base/system/file.h"
#include "argosy/graph/text.h"
#include "argosy/ops/ops.h"
#include "argosy/tf/graph/graph_file.h"

namespace argosy::cli {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
constexpr std::int64_t kHeadBytes = 4096;

Result<std::string> read_stdin() {
  std::string text;
  char block[1 << 16];
  while (const std::size_t got = std::fread(block, 1, sizeof block, stdin)) {
    text.append(block, got);
    if (static_cast<std::int64_t>(text.size()) > kMostBytes) {
      return resource_exhausted("standard input has more than ", kMostBytes, " bytes").with_id("ARG-FILE-003");
    }
  }
  return text;
}

}  // namespace

bool is_saved_model(const std::string& path) {
  if (path.ends_with("/saved_model.pb") || path.ends_with("/saved_model.pbtxt")) return true;
  return file_exists(path + "/saved_model.pb") || file_exists(path + "/saved_model.pbtxt");
}

bool is_tensorflow(const std::string& path) {
  if (path == "-") return false;
  if (is_saved_model(path)) return true;
  for (const char* ending : {".pb", ".pbtxt", ".pb.txt", ".prototxt", ".meta"}) {
    if (path.ends_with(ending)) return true;
  }
  return false;
}

bool holds_tensorflow(const std::string& path) {
  if (path == "-" || is_tensorflow(path)) return path != "-";
  const Result<File> file = File::open(path);
  const Result<std::int64_t> size = file.ok() ? file->size() : file.status();
  if (!size.ok()) return false;
  std::string head(static_cast<std::size_t>(std::clamp<std::int64_t>(*size, 0, kHeadBytes)), '\0');
  return file->read_at(0, head.data(), head.size()).ok() && tf::may_be_graph(head);
}

Result<Graph> load_text(const std::string& path) {
  Result<std::string> text = path == "-" ? read_stdin() : read_file(path, kMostBytes);
  if (!text.ok()) return std::move(text).status().with_where(path).with_hint("argosy graph show FILE, or - for stdin");
  Result<Graph> graph = parse_text(*text, builtin_ops());
  if (graph.ok()) return graph;
  if (path == "-" && tf::may_be_graph(*text)) {
    return std::move(graph).status().with_hint("give a graph of TensorFlow as a file: argosy graph show FILE");
  }
  return std::move(graph).status().with_where(path).with_hint(
      "correct that line; argosy graph --help shows how the text form looks");
}

Result<GraphSource> GraphSource::open(const std::string& path, const std::vector<std::string>& tags) {
  GraphSource source;
  if (holds_tensorflow(path)) {
    auto model = load_graph(path, {.tags = tags});
    if (!model.ok()) {
      return std::move(model).status().with_hint(str_cat("argosy graph dot ", path, " shows it as it is"));
    }
    source.model_ = *std::move(model);
    return source;
  }
  ARGOSY_ASSIGN_OR_RETURN(Graph graph, load_text(path));
  source.text_ = std::make_unique<Graph>(std::move(graph));
  return source;
}

}  // namespace argosy::cli
