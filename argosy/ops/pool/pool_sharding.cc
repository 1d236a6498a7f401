#include "argosy/ops/pool/pool_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

// Elements of one window along dimension `d`; none: not known.
std::optional<std::int64_t> window(const ShapeContext& c, int d) {
  if (const auto* ksize = c.attrs().find_as<std::vector<std::int64_t>>("ksize")) {
    const auto at = static_cast<std::size_t>(d);
    return at < ksize->size() ? std::optional((*ksize)[at]) : std::nullopt;
  }
  return c.int_at(c.num_inputs() - 2, d);  // the inputs ksize and strides
}

Result<ShardingRule> pooled(const ShapeContext& c, const PartialShape& images, std::string text, bool layout = true) {
  const bool first = layout && c.attrs().get_string("data_format").starts_with("NC");
  if (window(c, 0) != 1) return whole_because("its windows span several images");
  if (window(c, first ? 1 : images.rank() - 1) != 1) text += "; whole c";
  if (layout) text += "; layout data_format";
  return sharding_rule_from_text(text, c);
}

std::string given(const ShapeContext& c, int windows) { return c.num_inputs() > windows ? ", ., ." : ""; }

}  // namespace

Result<ShardingRule> max_pool_sharding(const ShapeContext& c) {
  return pooled(c, c.input(0), "n s.. c" + given(c, 1) + " -> n t.. c; halo s..; whole t..");
}
Result<ShardingRule> avg_pool_sharding(const ShapeContext& c) {
  return pooled(c, c.input(0), "n s.. c -> n t.. c; halo s..; whole t..; linear 0");
}
Result<ShardingRule> max_pool_grad_sharding(const ShapeContext& c) {
  return pooled(c, c.input(0),
                "n s.. c, n t.. c, n t.. c" + given(c, 3) + " -> n s.. c; halo s..; whole t..; linear 2");
}
Result<ShardingRule> max_pool_grad_grad_sharding(const ShapeContext& c) {
  return pooled(c, c.input(0),
                "n s.. c, n t.. c, n s.. c" + given(c, 3) + " -> n t.. c; halo s..; whole t..; linear 2");
}
Result<ShardingRule> avg_pool_grad_sharding(const ShapeContext& c) {
  return pooled(c, c.output(0), "size(0), n t.. c -> n s.. c; halo t..; whole s..; linear 1");
}

Result<ShardingRule> max_pool_with_argmax_sharding(const ShapeContext& c) {
  const bool all = c.attrs().get_bool("include_batch_in_index");
  return pooled(c, c.input(0), str_cat("n s.. c -> n t.. c, n t.. c; whole s.. t.. c", all ? " n" : ""), false);
}
Result<ShardingRule> max_pool_grad_with_argmax_sharding(const ShapeContext& c) {
  const bool all = c.attrs().get_bool("include_batch_in_index");
  return pooled(c, c.input(0),
                str_cat("n s.. c, n t.. c, n t.. c -> n s.. c; whole s.. t.. c", all ? " n" : "", "; linear 1"), false);
}

}  // namespace argosy
