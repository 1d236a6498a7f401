#include "argosy/op/definition/stored_element.h"

#include "argosy/op/definition/sharding_syntax.h"

namespace argosy {

std::optional<StoredElement> stored_element(const OpDef& op) {
  if (op.input_args.size() < 2 || op.sharding.empty()) return std::nullopt;
  const DType first = op.input_args[0].dtype;
  if (op.stateful ? first != DType::kResource : first != DType::kVariant) return std::nullopt;
  const auto text = parse_sharding_text(op.sharding);
  if (!text.ok() || text->kind != ShardingRule::Kind::kFactors || !text->updates.empty()) return std::nullopt;
  const auto& element = text->inputs[0].dims;
  if (element.size() != 1 || element[0].kind != TextDim::Kind::kRest) return std::nullopt;
  for (std::size_t i = 1; i < text->inputs.size(); ++i) {
    const auto& dims = text->inputs[i].dims;
    if (dims.empty() || dims.back().kind != TextDim::Kind::kRest || dims.back().names != element[0].names) continue;
    return StoredElement{static_cast<int>(i), static_cast<int>(dims.size()) - 1};
  }
  return std::nullopt;
}

}  // namespace argosy
