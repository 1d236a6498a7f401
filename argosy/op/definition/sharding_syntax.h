// ShardingText: the parsed form of OpSpec::sharding. sharding_text.h has the notation. Internal to
// argosy/op/definition.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "argosy/op/definition/sharding_rule.h"

namespace argosy {

// One dimension, or any number of them.
struct TextDim {
  enum class Kind : char {
    kFactors,  // "i", "(b t)"
    kRest,     // "i..": any number
    kFree      // "1": belongs to no factor
  };
  Kind kind = Kind::kFree;
  std::vector<std::string> names = {};  // names of its factors, outer first; kRest: the letter
};

// One argument of the op.
struct TextOperand {
  OperandRule::Kind kind = OperandRule::Kind::kOpaque;
  int of = -1;                     // kSizes: the output argument
  bool list = false;               // a list of tensors, all alike
  std::vector<TextDim> dims = {};  // kDims
};

// A factor as clauses name it: "k", or "i.." for all factors of a letter.
struct TextFactor {
  std::string name;
  bool rest = false;
};

struct ShardingText {
  ShardingRule::Kind kind = ShardingRule::Kind::kFactors;
  std::string why = {};                                // kWhole, kOnce
  std::vector<TextOperand> inputs = {}, outputs = {};  // by argument
  std::vector<std::pair<TextFactor, FactorRole>> roles = {};
  std::optional<Linear> linear = {};                          // unset: OpDef::linear
  std::vector<std::vector<int>> groups = {};                  // linear groups of arguments, if the text numbers them
  std::vector<int> monotone = {}, unread = {}, updates = {};  // by argument
  std::vector<TextFactor> local = {};
  std::vector<std::pair<std::string, int>> flips = {};  // attribute, input argument
  std::string layout = {};                              // attribute
  bool draws = false;
  bool broadcasts = false;
};

// INVALID_ARGUMENT says what is wrong, and where.
Result<ShardingText> parse_sharding_text(std::string_view text);

// The text of ops that are elementwise and have no sharding text: every operand is "i..".
ShardingText elementwise_sharding(const OpDef& op);

// Returns the rule of one node: fills in its shapes, attributes and lists.
Result<ShardingRule> instantiate(const ShardingText& text, const ShapeContext& c);

}  // namespace argosy
