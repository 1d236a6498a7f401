#include "argosy/ops/norm/norm_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Statistics are kept for the gradient; a third reserve space is the kernel's own scratch.
bool has_scratch(int operands) { return operands > 5; }

}  // namespace

Result<ShardingRule> batch_norm_sharding(const ShapeContext& c) {
  const std::string scratch = has_scratch(c.num_outputs()) ? ", ." : "";
  if (!c.attrs().get_bool("is_training")) {
    // Of an empty shard, what goes by the name of statistics is nothing that others have.
    return sharding_rule_from_text(
        str_cat("n s.. c, c, c, c, c -> n s.. c, ., ., ., .", scratch, "; layout data_format"), c);
  }
  // Mean and variance may be empty in training.
  const std::string running = c.input(3).rank() == 1 && c.input(3)[0] == 0 ? "., ." : "c, c";
  return sharding_rule_from_text(str_cat("n s.. c, c, c, ", running, " -> n s.. c, c, c, c, c", scratch,
                                         "; whole n s..; local n s..; layout data_format"),
                                 c);
}

Result<ShardingRule> batch_norm_grad_sharding(const ShapeContext& c) {
  const bool training = c.attrs().get_bool("is_training");
  return sharding_rule_from_text(
      str_cat("n s.. c, n s.. c, c, c, c", has_scratch(c.num_inputs()) ? ", scratch" : "", " -> n s.. c, c, c, ., .",
              training ? "; whole n s..; local n s.." : "; sum n s..", "; linear 0; layout data_format"),
      c);
}

}  // namespace argosy
