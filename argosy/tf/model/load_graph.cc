#include "argosy/tf/model/load_graph.h"

#include <algorithm>
#include <set>

#include "argosy/base/system/file.h"
#include "argosy/formats/proto/meta_graph.pb.h"
#include "argosy/runtime/session/session.h"
#include "argosy/tf/graph/graph_file.h"
#include "argosy/tf/graph/imported_graph.h"
#include "argosy/tf/model/signatures.h"
#include "argosy/tf/model/unrestored.h"

namespace argosy {

namespace {

using tensorflow::MetaGraphDef;

constexpr std::string_view kInitSignature = "__saved_model_init_op";

// What the model wants run before anything else: by TensorFlow 2 a signature, by TensorFlow 1 a collection.
std::vector<std::string> init_ops_of(const MetaGraphDef& meta) {
  const auto signature = meta.signature_def().find(std::string(kInitSignature));
  if (signature != meta.signature_def().end()) {
    std::vector<std::string> names;
    for (const auto& [key, info] : signature->second.outputs()) names.push_back(info.name());
    return names;
  }
  for (const char* collection : {"saved_model_main_op", "legacy_init_op"}) {
    const auto found = meta.collection_def().find(collection);
    if (found == meta.collection_def().end()) continue;
    const auto& nodes = found->second.node_list().value();
    return {nodes.begin(), nodes.end()};
  }
  return {};
}

// Asset files as (value to feed, file name).
std::vector<std::pair<std::string, std::string>> assets_of(const MetaGraphDef& meta) {
  std::vector<std::pair<std::string, std::string>> assets;
  for (const auto& asset : meta.asset_file_def()) assets.emplace_back(asset.tensor_info().name(), asset.filename());
  if (!assets.empty()) return assets;
  const auto found = meta.collection_def().find("saved_model_assets");
  if (found == meta.collection_def().end()) return assets;
  for (const auto& any : found->second.any_list().value()) {
    tensorflow::AssetFileDef asset;
    if (asset.ParseFromString(any.value())) assets.emplace_back(asset.tensor_info().name(), asset.filename());
  }
  return assets;
}

}  // namespace

class LoadedGraph::Impl {
 public:
  static Result<std::unique_ptr<Impl>> make(tf::GraphFile file) {
    auto impl = std::make_unique<Impl>();
    MetaGraphDef& meta = *file.meta;
    for (const auto& node : meta.graph_def().node()) {
      impl->node_names_.push_back(node.name());
      impl->node_ops_.push_back(node.op());
    }
    impl->signatures_ = signatures_of(meta);
    impl->ends_ = ends_of(meta.graph_def());
    impl->init_ops_ = init_ops_of(meta);
    impl->assets_ = assets_of(meta);
    impl->restore_op_ = meta.saver_def().restore_op_name();
    impl->filename_ = meta.saver_def().filename_tensor_name();
    impl->folder_ = file.folder;
    impl->path_ = file.path;
    impl->is_saved_model_ = file.kind == tf::GraphKind::kSavedModel;
    if (impl->is_saved_model_) impl->unrestored_ = unrestored_of(meta, impl->init_ops_);
    Status added = impl->imported_.extend(std::move(*meta.mutable_graph_def()));
    if (!added.ok()) return std::move(added).with_where(file.path);
    return impl;
  }

  Result<Value> value(std::string_view name) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string node, node_name(name));
    return imported_.value(node);
  }
  Result<Value> value_to_feed(std::string_view name) {
    ARGOSY_ASSIGN_OR_RETURN(const std::string node, node_name(name));
    return imported_.value_to_feed(node);
  }

  // What a signature calls by this name, or the name itself.
  Result<std::string> node_name(std::string_view name) const {
    if (imported_.has(name)) return std::string(name);
    const ModelSignature* preferred = signature(signature_.empty() ? "serving_default" : signature_);
    if (preferred != nullptr) {
      if (const std::string found = name_in(*preferred, name); !found.empty()) return found;
    }
    std::set<std::string> found;
    std::vector<std::string> where;
    for (const ModelSignature& s : signatures_) {
      const std::string one = signature_.empty() ? name_in(s, name) : std::string();
      if (one.empty()) continue;
      found.insert(one);
      where.push_back(s.name);
    }
    if (found.empty()) return std::string(name);
    if (found.size() == 1) return *found.begin();
    return invalid_argument("\"", name, "\" is another value in each of the signatures ", str_join(where))
        .with_id("ARG-IMPORT-015")
        .with_where(path_)
        .with_hint(str_cat("--signature ", where.front()));
  }

  static std::string name_in(const ModelSignature& signature, std::string_view name) {
    for (const auto* names : {&signature.inputs, &signature.outputs}) {
      const auto found = names->find(std::string(name));
      if (found != names->end()) return found->second;
    }
    return {};
  }

  const ModelSignature* signature(std::string_view name) const {
    for (const ModelSignature& s : signatures_) {
      if (s.name == name) return &s;
    }
    return nullptr;
  }

  Status use_signature(std::string_view name) {
    if (signature(name) == nullptr) {
      std::vector<std::string> names;
      for (const ModelSignature& s : signatures_) names.push_back(s.name);
      return not_found("there is no signature \"", name, "\"; there ", names.size() == 1 ? "is " : "are ",
                       names.empty() ? "none" : str_join(names))
          .with_id("ARG-IMPORT-015")
          .with_where(path_)
          .with_hint(names.empty() ? std::string("feed and fetch by the names of nodes")
                                   : str_cat("--signature ", names.front()));
    }
    signature_ = name;
    return ok_status();
  }
  const ModelSignature& ends() const { return ends_; }

  Status restore(Session& session, std::string checkpoint) {
    if (checkpoint.empty() && is_saved_model_ && file_exists(tf_index(folder_ + "/variables/variables"))) {
      checkpoint = folder_ + "/variables/variables";
    }
    Feeds feeds;
    for (const auto& [name, file] : assets_) {
      ARGOSY_ASSIGN_OR_RETURN(const Value value, grown(session, name));
      feeds.emplace_back(value, Tensor::scalar(folder_ + "/assets/" + file));
    }
    if (!checkpoint.empty()) {
      if (restore_op_.empty()) {
        return failed_precondition("the graph does not say how it is restored: there is no SaverDef in it")
            .with_id("ARG-IMPORT-014")
            .with_where(path_);
      }
      if (!file_exists(tf_index(checkpoint))) {
        return not_found("there is no checkpoint ", tf_index(checkpoint)).with_id("ARG-CKPT-001").with_where(path_);
      }
      Feeds restoring = feeds;
      ARGOSY_ASSIGN_OR_RETURN(const Value filename, grown(session, filename_));
      restoring.emplace_back(filename, Tensor::scalar(checkpoint));
      ARGOSY_RETURN_IF_ERROR(run(session, restoring, restore_op_));
    } else if (has_variables()) {
      return failed_precondition("the model has variables, and no checkpoint to read them from")
          .with_id("ARG-IMPORT-014")
          .with_where(path_)
          .with_hint("give the prefix of a checkpoint of this model");
    }
    for (const std::string& op : init_ops_) ARGOSY_RETURN_IF_ERROR(run(session, feeds, op));
    return ok_status();
  }

  bool has_variables() const { return !restore_op_.empty() && !(is_saved_model_ && !has_index()); }

  Graph& graph() { return imported_.graph(); }
  const std::vector<std::string>& node_names() const { return node_names_; }
  const std::vector<std::string>& node_ops() const { return node_ops_; }
  const std::vector<std::string>& unrestored() const { return unrestored_; }
  const std::vector<ModelSignature>& signatures() const { return signatures_; }

 private:
  static std::string tf_index(const std::string& prefix) { return prefix + ".index"; }
  bool has_index() const { return file_exists(tf_index(folder_ + "/variables/variables")); }

  Result<Value> grown(Session& session, const std::string& name) {
    Value value;
    ARGOSY_RETURN_IF_ERROR(session.mutate_graph([&]() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(value, imported_.value(name));
      return ok_status();
    }));
    return value;
  }

  Status run(Session& session, const Feeds& feeds, const std::string& op) {
    ARGOSY_ASSIGN_OR_RETURN(const Value target, grown(session, op));
    return session.run(feeds, {}, {target.control()}).status();
  }

  tf::ImportedGraph imported_;
  std::vector<std::string> node_names_, node_ops_, unrestored_;
  std::vector<ModelSignature> signatures_;
  ModelSignature ends_;
  std::string signature_;  // that names are of; empty: none was chosen
  std::vector<std::string> init_ops_;
  std::vector<std::pair<std::string, std::string>> assets_;
  std::string restore_op_, filename_, folder_, path_;
  bool is_saved_model_ = false;
};

LoadedGraph::LoadedGraph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoadedGraph::LoadedGraph(LoadedGraph&&) noexcept = default;
LoadedGraph& LoadedGraph::operator=(LoadedGraph&&) noexcept = default;
LoadedGraph::~LoadedGraph() = default;

Graph& LoadedGraph::graph() { return impl_->graph(); }
Result<Value> LoadedGraph::value(std::string_view name) { return impl_->value(name); }
Result<Value> LoadedGraph::value_to_feed(std::string_view name) { return impl_->value_to_feed(name); }
const std::vector<std::string>& LoadedGraph::node_names() const { return impl_->node_names(); }
const std::vector<std::string>& LoadedGraph::node_ops() const { return impl_->node_ops(); }
const std::vector<std::string>& LoadedGraph::unrestored() const { return impl_->unrestored(); }
const std::vector<ModelSignature>& LoadedGraph::signatures() const { return impl_->signatures(); }
const ModelSignature* LoadedGraph::signature(std::string_view name) const { return impl_->signature(name); }
Status LoadedGraph::use_signature(std::string_view name) { return impl_->use_signature(name); }
const ModelSignature& LoadedGraph::ends() const { return impl_->ends(); }
bool LoadedGraph::has_variables() const { return impl_->has_variables(); }
Status LoadedGraph::restore(Session& session, const std::string& checkpoint) {
  return impl_->restore(session, checkpoint);
}

Result<LoadedGraph> load_graph(const std::string& path, const LoadOptions& options) {
  ARGOSY_ASSIGN_OR_RETURN(tf::GraphFile file, tf::read_graph_file(path, options.tags));
  ARGOSY_ASSIGN_OR_RETURN(auto impl, LoadedGraph::Impl::make(std::move(file)));
  return LoadedGraph(std::move(impl));
}

}  // namespace argosy
