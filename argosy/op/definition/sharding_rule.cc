#include "argosy/op/definition/sharding_rule.h"

#include "argosy/op/definition/shape_context.h"
#include "argosy/op/definition/sharding_syntax.h"
#include "argosy/op/definition/sharding_text.h"

namespace argosy {

ShardingText elementwise_sharding(const OpDef& op) {
  const auto operand = [](const ArgDef& arg) {
    return TextOperand{.kind = OperandRule::Kind::kDims,
                       .list = !arg.number_attr.empty() || !arg.type_list_attr.empty(),
                       .dims = {{.kind = TextDim::Kind::kRest, .names = {"i"}}}};
  };
  ShardingText text{.broadcasts = true};
  for (const ArgDef& arg : op.input_args) text.inputs.push_back(operand(arg));
  for (const ArgDef& arg : op.output_args) text.outputs.push_back(operand(arg));
  return text;
}

bool has_sharding_rule(const OpDef& op) {
  return op.sharding_rule != nullptr || !op.sharding.empty() || op.elementwise;
}

Result<ShardingRule> sharding_rule(const ShapeContext& c) {
  const OpDef& op = c.op();
  const auto whole = [](std::string why) {
    return ShardingRule{.kind = ShardingRule::Kind::kWhole, .why = std::move(why)};
  };
  if (op.sharding_rule != nullptr) {
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (!c.input(i).has_rank()) return whole(str_cat("the rank of input ", i, " is not known"));
    }
    for (int i = 0; i < c.num_outputs(); ++i) {
      if (!c.output(i).has_rank()) return whole(str_cat("the rank of output ", i, " is not known"));
    }
    return op.sharding_rule(c);
  }
  if (!op.sharding.empty()) return sharding_rule_from_text(op.sharding, c);
  if (op.elementwise) return instantiate(elementwise_sharding(op), c);
  return whole(str_cat("no rule says how ", op.name, " is sharded"));
}

namespace {

std::string text_of(const OperandRule& o, const std::vector<Factor>& factors, bool input) {
  switch (o.kind) {
    case OperandRule::Kind::kOpaque: return ".";
    case OperandRule::Kind::kSizes: return str_cat("size(", o.of, ")");
    case OperandRule::Kind::kShapeOnly: return "shape";
    case OperandRule::Kind::kScratch: return input ? "scratch" : ".";
    case OperandRule::Kind::kEqual: return "=";
    case OperandRule::Kind::kDims: break;
  }
  std::string text;
  for (const FactorsOfDim& dim : o.dims) {
    std::string names;
    for (const std::int8_t f : dim) names += (names.empty() ? "" : " ") + factors[static_cast<std::size_t>(f)].name;
    if (dim.size() > 1) names = "(" + names + ")";
    text += (text.empty() ? "" : " ") + (dim.empty() ? "1" : names);
  }
  return text.empty() ? "-" : text;
}

const char* word_for(FactorRole role) {
  switch (role) {
    case FactorRole::kPass: return "";
    case FactorRole::kEqual: return "equal";
    case FactorRole::kSum: return "sum";
    case FactorRole::kMean: return "mean";
    case FactorRole::kMax: return "max";
    case FactorRole::kMin: return "min";
    case FactorRole::kWhole: return "whole";
    case FactorRole::kHalo: return "halo";
    case FactorRole::kRows: return "rows";
  }
  return "";
}

std::string list(const std::vector<int>& numbers) {
  std::string text;
  for (const int n : numbers) text += str_cat(" ", n);
  return text;
}

}  // namespace

std::string to_string(const ShardingRule& rule) {
  if (rule.kind == ShardingRule::Kind::kWhole) return rule.why.empty() ? "whole" : "whole: " + rule.why;
  if (rule.kind == ShardingRule::Kind::kOnce) return rule.why.empty() ? "once" : "once: " + rule.why;
  std::string text;
  for (const OperandRule& o : rule.inputs) text += (text.empty() ? "" : ", ") + text_of(o, rule.factors, true);
  text += text.empty() ? "->" : " ->";
  for (std::size_t k = 0; k < rule.outputs.size(); ++k) {
    text += (k > 0 ? ", " : " ") + text_of(rule.outputs[k], rule.factors, false);
  }
  for (const FactorRole role : {FactorRole::kEqual, FactorRole::kSum, FactorRole::kMean, FactorRole::kMax,
                                FactorRole::kMin, FactorRole::kWhole, FactorRole::kHalo, FactorRole::kRows}) {
    std::string names;
    for (const Factor& f : rule.factors) {
      if (f.role == role) names += " " + f.name;
    }
    if (!names.empty()) text += str_cat("; ", word_for(role), names);
  }
  std::string groups;
  for (const auto& group : rule.linear) groups += (groups.empty() ? "" : " |") + list(group);
  if (!groups.empty()) text += "; linear" + groups;
  if (!rule.monotone.empty()) text += "; monotone" + list(rule.monotone);
  if (!rule.unread.empty()) text += "; unread" + list(rule.unread);
  if (!rule.updates.empty()) text += "; updates" + list(rule.updates);
  if (!rule.may_be_local.empty()) {
    text += "; local";
    for (const std::int8_t f : rule.may_be_local) text += " " + rule.factors[static_cast<std::size_t>(f)].name;
  }
  if (rule.draws) text += "; draws";
  return text;
}

}  // namespace argosy
