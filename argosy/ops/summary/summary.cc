#include "argosy/ops/summary/summary.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

AttrMap named(std::int64_t most) { return {{"max_images", most}}; }

std::vector<OpRow> rows() {
  const std::vector<std::string> output = {"summary: string"};
  return {
      {"ScalarSummary", "A value per tag.", {"tags: string", "values: T"}, output, {"T: real"}},
      {"HistogramSummary", "How the values are spread.", {"tag: string", "values: T"}, output, {"T: real = float"}},
      {"AudioSummaryV2",
       "Sounds.",
       {"tag: string", "tensor: float", "sample_rate: float"},
       output,
       {"max_outputs: int >= 1 = 3"}},
      {"AudioSummary",
       "Sounds.",
       {"tag: string", "tensor: float"},
       output,
       {"sample_rate: float", "max_outputs: int >= 1 = 3"}},
      {"MergeSummary", "The values of several summaries.", {"inputs: N * string"}, output, {"N: int >= 1"}},
      {"TensorSummaryV2",
       "A tensor, with what a plugin wants to know of it.",
       {"tag: string", "tensor: T", "serialized_summary_metadata: string"},
       output,
       {"T: type"}},
      {"TensorSummary",
       "A tensor, told by the node's name.",
       {"tensor: T"},
       output,
       {"T: type", "description: string = ''", "labels: list(string) = []", "display_name: string = ''"},
       scalar_output,
       {.stateful = true}},
  };
}

}  // namespace

static void add_summary_ops(OpRegistry& ops) {
  // The value of TensorSummary has the node's name in it: it is stateful.
  add_rows(ops, rows(), {.shape = scalar_output, .cost = free_cost, .cpu_only = true});
  OpSpec image{.name = "ImageSummary",
               .doc = "Images.",
               .inputs = {"tag: string", "tensor: T"},
               .outputs = {"summary: string"},
               .attrs = {"max_images: int >= 1 = 3", "T: {uint8, float, half, double} = float",
                         "bad_color: tensor = uint8 {255, 0, 0, 255}"},
               .shape = scalar_output,
               .gradient = kNotDifferentiable,
               .cost = free_cost,
               .cpu_only = true};
  ops.add(std::move(image));
}

void define_summary(OpRegistry& ops) { with_sharding(ops, add_summary_ops, {}, "whole: a summary is of all elements"); }

Value scalar_summary(std::string_view tag, Value scalar) {
  if (!scalar.valid()) return {};
  return scalar.graph().add("ScalarSummary", {constant(scalar.graph(), std::string(tag)), scalar});
}
Value histogram_summary(std::string_view tag, Value values) {
  if (!values.valid()) return {};
  return values.graph().add("HistogramSummary", {constant(values.graph(), std::string(tag)), values});
}
Value image_summary(std::string_view tag, Value images, int most) {
  if (!images.valid()) return {};
  return images.graph().add("ImageSummary", {constant(images.graph(), std::string(tag)), images}, named(most));
}
Value audio_summary(std::string_view tag, Value sounds, Value sample_rate, int most) {
  if (!sounds.valid()) return {};
  return sounds.graph().add("AudioSummaryV2", {constant(sounds.graph(), std::string(tag)), sounds, sample_rate},
                            {{"max_outputs", most}});
}
Value merge_summaries(const std::vector<Value>& summaries) {
  if (summaries.empty() || !summaries[0].valid()) return {};
  return summaries[0].graph().add("MergeSummary", summaries);
}

}  // namespace argosy
