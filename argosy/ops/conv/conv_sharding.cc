#include "argosy/ops/conv/conv_sharding.h"

#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

bool channels_first(const ShapeContext& c) { return c.attrs().get_string("data_format").starts_with("NC"); }

std::int64_t channels(const ShapeContext& c, const PartialShape& images) {
  return images.rank() < 3 ? -1 : images[channels_first(c) ? 1 : images.rank() - 1];
}

// True if there are groups. A filter then has a part of the channels, numbered from 0 in each group, so channels may
// not be sharded.
bool has_groups(const PartialShape& filter, std::int64_t channels) {
  return filter.rank() < 3 || channels < 0 || filter[filter.rank() - 2] != channels;
}

// Returns the text of operand `input`, the sizes of images of this rank. Sizes without the batch hold nothing that is
// sharded. Empty: the number of sizes is unknown.
std::string sizes(const ShapeContext& c, int input, int rank) {
  const PartialShape& given = c.input(input);
  if (given.rank() != 1 || given[0] < 0) return "";
  return given[0] == rank ? "size(0)" : ".";
}

ShardingRule unknown_sizes() { return whole_because("how many sizes it is given is not known"); }

}  // namespace

Result<ShardingRule> conv_sharding(const ShapeContext& c) {
  const bool groups = has_groups(c.input(1), channels(c, c.input(0)));
  return sharding_rule_from_text(
      str_cat("n s.. c, k.. ", groups ? "q" : "c", " o -> n t.. o; halo s..; whole k.. t..; ",
              groups ? "whole c q o" : "sum c", "; linear each; layout data_format"),
      c);
}

Result<ShardingRule> conv_backprop_input_sharding(const ShapeContext& c) {
  const std::string given = sizes(c, 0, c.output(0).rank());
  if (given.empty()) return unknown_sizes();
  const bool groups = has_groups(c.input(1), channels(c, c.output(0)));
  return sharding_rule_from_text(
      str_cat(given, ", k.. ", groups ? "q" : "c", " o, n t.. o -> n s.. c; halo t..; whole k.. s..; ",
              groups ? "whole c q o" : "sum o", "; linear 1 | 2; layout data_format"),
      c);
}

Result<ShardingRule> conv_backprop_filter_sharding(const ShapeContext& c) {
  const bool groups = has_groups(c.output(0), channels(c, c.input(0)));
  return sharding_rule_from_text(
      str_cat("n s.. c, size(0), n t.. o -> k.. ", groups ? "q" : "c", " o; sum n; halo s.. t..; whole k..",
              groups ? "; whole c q o" : "", "; linear 0 | 2; layout data_format"),
      c);
}

Result<ShardingRule> depthwise_backprop_input_sharding(const ShapeContext& c) {
  const std::string given = sizes(c, 0, c.output(0).rank());
  if (given.empty()) return unknown_sizes();
  return sharding_rule_from_text(given +
                                     ", k.. c m, n t.. (c m) -> n s.. c; sum m; halo t..; whole k.. s..; linear 1 | 2; "
                                     "layout data_format",
                                 c);
}

}  // namespace argosy
