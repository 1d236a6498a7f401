#include "argosy/tf/model/signatures.h"

#include <algorithm>
#include <set>

#include "argosy/formats/proto/meta_graph.pb.h"
#include "argosy/formats/proto/tensor_proto.h"

namespace argosy {

namespace {

constexpr std::size_t kShown = 12;  // of a signature's inputs or outputs, in a line

PartialShape shape_of(const tensorflow::TensorShapeProto& proto) {
  auto shape = tf::from_proto(proto);
  return shape.ok() ? *std::move(shape) : PartialShape::unknown();
}

void add(const std::string& key, const tensorflow::TensorInfo& info, ModelSignature& signature,
         std::map<std::string, std::string>& names) {
  names.emplace(key, info.name());
  signature.types[info.name()] = {static_cast<DType>(info.dtype()), shape_of(info.tensor_shape())};
}

std::string_view node_of(std::string_view input) {
  return input.substr(input.starts_with('^') ? 1 : 0, input.find(':'));
}

std::string list(const ModelSignature& signature, const std::map<std::string, std::string>& names) {
  std::vector<std::string> parts;
  for (const auto& [key, name] : names) {
    if (parts.size() < kShown) parts.push_back(str_cat(key, signature.type_text(name)));
  }
  if (names.size() > parts.size()) parts.push_back(str_cat(names.size() - parts.size(), " more"));
  return parts.empty() ? "nothing" : str_join(parts);
}

}  // namespace

std::vector<ModelSignature> signatures_of(const tensorflow::MetaGraphDef& meta) {
  std::vector<ModelSignature> all;
  for (const auto& [name, def] : meta.signature_def()) {
    if (name.starts_with("__saved_model_")) continue;
    ModelSignature signature{.name = name, .method = def.method_name()};
    for (const auto& [key, info] : def.inputs()) add(key, info, signature, signature.inputs);
    for (const auto& [key, info] : def.outputs()) add(key, info, signature, signature.outputs);
    all.push_back(std::move(signature));
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return all;
}

ModelSignature ends_of(const tensorflow::GraphDef& graph) {
  ModelSignature ends;
  std::set<std::string_view> read;
  for (const auto& node : graph.node()) {
    for (const std::string& input : node.input()) read.insert(node_of(input));
  }
  for (const auto& node : graph.node()) {
    if (node.op() == "Placeholder" || node.op() == "PlaceholderWithDefault") {
      ends.inputs.emplace(node.name(), node.name() + ":0");
      const auto dtype = node.attr().find("dtype"), shape = node.attr().find("shape");
      ends.types[node.name() + ":0"] = {
          dtype == node.attr().end() ? DType::kInvalid : static_cast<DType>(dtype->second.type()),
          shape == node.attr().end() ? PartialShape::unknown() : shape_of(shape->second.shape())};
    } else if (!read.contains(node.name()) && node.op() != "NoOp" && node.op() != "Const" && node.op() != "Assert" &&
               !node.op().starts_with("Assign") && node.op() != "VarHandleOp") {
      ends.outputs.emplace(node.name(), node.name() + ":0");
    }
  }
  return ends;
}

std::string ModelSignature::type_text(const std::string& tensor) const {
  const auto found = types.find(tensor);
  if (found == types.end() || found->second.dtype == DType::kInvalid) return "";
  return str_cat(" ", dtype_name(found->second.dtype), found->second.shape.to_string());
}

std::string ModelSignature::to_string() const {
  return str_cat(name.empty() ? std::string("the graph") : str_cat("signature ", name), ": feed ", list(*this, inputs),
                 "; fetch ", list(*this, outputs));
}

}  // namespace argosy
