#include "argosy/ops/summary_writer/summary_writer.h"

#include "argosy/op/definition/registry.h"
#include "argosy/op/definition/shape_context.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/ops/op_rows.h"
#include "argosy/ops/sharding_parts.h"

namespace argosy {

namespace {

std::vector<OpRow> rows() {
  return {
      {"CreateSummaryFileWriter",
       "Opens an event file in a folder.",
       {"writer: resource", "logdir: string", "max_queue: int32", "flush_millis: int32", "filename_suffix: string"},
       {},
       {},
       nullptr,
       {.opens_files = true}},
      {"CloseSummaryWriter", "Closes the writer's file.", {"writer: resource"}, {}},
      {"FlushSummaryWriter", "Hands what was written to the system.", {"writer: resource"}, {}},
      {"WriteSummary",
       "Writes a tensor, with what a plugin wants to know of it.",
       {"writer: resource", "step: int64", "tensor: T", "tag: string", "summary_metadata: string"},
       {},
       {"T: type"}},
      {"WriteScalarSummary",
       "Writes a value.",
       {"writer: resource", "step: int64", "tag: string", "value: T"},
       {},
       {"T: real"}},
      {"WriteHistogramSummary",
       "Writes how values are spread.",
       {"writer: resource", "step: int64", "tag: string", "values: T"},
       {},
       {"T: {real, bool} = float"}},
      {"WriteImageSummary",
       "Writes images.",
       {"writer: resource", "step: int64", "tag: string", "tensor: T", "bad_color: uint8"},
       {},
       {"max_images: int >= 1 = 3", "T: {uint8, double, float, half} = float"}},
      {"WriteAudioSummary",
       "Writes sounds.",
       {"writer: resource", "step: int64", "tag: string", "tensor: float", "sample_rate: float"},
       {},
       {"max_outputs: int >= 1 = 3"}},
      {"WriteGraphSummary", "Writes a serialised GraphDef.", {"writer: resource", "step: int64", "tensor: string"}, {}},
      {"WriteRawProtoSummary",
       "Writes a serialised Summary.",
       {"writer: resource", "step: int64", "tensor: string"},
       {}},
      {"ImportEvent", "Writes a serialised Event.", {"writer: resource", "event: string"}, {}},
  };
}

// Every input is a scalar but for what is written and the parts of images and sounds.
Status writes_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    const std::string& name = c.op().input_args[static_cast<std::size_t>(i)].name;
    const bool any = name == "values" || name == "bad_color" ||
                     (name == "tensor" && c.input_dtype(i) != DType::kString) ||
                     (name == "tensor" && c.op().name == "WriteSummary");
    if (!any) ARGOSY_RETURN_IF_ERROR(c.with_rank(i, 0).status());
  }
  return ok_status();
}

}  // namespace

static void add_summary_writer_ops(OpRegistry& ops) {
  OpSpec writer{.name = "SummaryWriter",
                .doc = "A writer of event files, by handle.",
                .inputs = {},
                .outputs = {"writer: resource"},
                .attrs = {"shared_name: string = ''", "container: string = ''"},
                .shape = scalar_output,
                .gradient = kNotDifferentiable,
                .cost = free_cost,
                .stateful = true,
                .cpu_only = true};
  ops.add(std::move(writer));
  add_rows(ops, rows(), {.shape = writes_shape, .cost = free_cost, .stateful = true, .cpu_only = true});
}

void define_summary_writer(OpRegistry& ops) {
  with_sharding(ops, add_summary_writer_ops, {}, "once: one writer writes the events");
}

Value summary_writer(Graph& graph, const std::string& shared_name) {
  return graph.add("SummaryWriter", {}, {{"shared_name", shared_name}});
}
Value create_summary_file_writer(Value writer, std::string_view folder) {
  if (!writer.valid()) return writer;
  Graph& g = writer.graph();
  return g.add("CreateSummaryFileWriter", {writer, constant(g, std::string(folder)), constant(g, 10),
                                           constant(g, 120000), constant(g, std::string(".v2"))});
}
Value write_scalar_summary(Value writer, Value step, std::string_view tag, Value scalar) {
  if (!writer.valid()) return writer;
  return writer.graph().add("WriteScalarSummary", {writer, step, constant(writer.graph(), std::string(tag)), scalar});
}
Value close_summary_writer(Value writer) {
  return writer.valid() ? writer.graph().add("CloseSummaryWriter", {writer}) : writer;
}

}  // namespace argosy
