// The C++ side of the comparison with TensorBoard: writes a known run, or prints an event file for a script to compare.
//   event_tool write FOLDER     event_tool dump FILE
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "argosy/op/definition/shape_context.h"
#include "argosy/tf/graph/graph_event.h"

namespace {

using argosy::DType;
using argosy::Status;
using argosy::Tensor;
using namespace argosy::tf;

// Two of TensorFlow's ops, as far as a picture of a graph needs them.
argosy::OpRegistry two_ops() {
  argosy::OpRegistry ops;
  ops.add({.name = "Placeholder",
           .doc = "",
           .outputs = {"output: dtype"},
           .attrs = {"dtype: type", "shape: shape"},
           .shape = argosy::unknown_output,
           .gradient = argosy::kNotDifferentiable});
  ops.add({.name = "Neg",
           .doc = "",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = {"T: type"},
           .shape = argosy::same_as_input,
           .gradient = argosy::kNotDifferentiable});
  return ops;
}

Status write_toy_graph(EventWriter& writer) {
  const argosy::OpRegistry ops = two_ops();
  argosy::Graph graph(ops);
  const auto on = graph.device("/device:GPU:1");
  const argosy::Value x =
      graph.add("Placeholder", {}, {{"dtype", DType::kFloat32}, {"shape", argosy::PartialShape{-1, 3}}}, "x");
  graph.add("Neg", {x}, {}, "minus_x");
  ARGOSY_RETURN_IF_ERROR(graph.status());
  return write_graph(writer, graph);
}

Status write(const std::string& folder) {
  ARGOSY_ASSIGN_OR_RETURN(auto writer, EventWriter::open(folder));
  ARGOSY_RETURN_IF_ERROR(write_toy_graph(*writer));
  Tensor weights = Tensor::zeros(DType::kFloat32, {10'000});
  for (int step = 0; step < 50; ++step) {
    ARGOSY_RETURN_IF_ERROR(writer->scalar("loss", step, 1.0 / (1 + step)));
    for (int i = 0; i < 10'000; ++i)
      weights.data<float>()[i] = std::sin(static_cast<float>(i)) * static_cast<float>(step);
    ARGOSY_RETURN_IF_ERROR(writer->histogram("weights", step, weights));
  }
  Tensor images = Tensor::zeros(DType::kFloat32, {2, 8, 12, 3});
  for (std::int64_t i = 0; i < images.elements(); ++i) images.data<float>()[i] = static_cast<float>(i % 29) - 3;
  ARGOSY_RETURN_IF_ERROR(writer->image("samples", 7, images, 2));
  ARGOSY_RETURN_IF_ERROR(writer->text("notes", 1, "a *note*"));
  ARGOSY_RETURN_IF_ERROR(
      writer->hyper_parameters("group", {{"lr", 0.125}, {"adam", true}, {"model", std::string("mlp")}}));
  return writer->flush();
}

Status dump(const std::string& path) {
  ARGOSY_ASSIGN_OR_RETURN(EventReader reader, EventReader::open(path));
  for (;;) {
    ARGOSY_ASSIGN_OR_RETURN(const auto event, reader.next());
    if (!event) return argosy::ok_status();
    if (!event->graph_def.empty()) std::printf("graph %zu\n", event->graph_def.size());
    for (const EventValue& v : event->values) {
      std::printf("%s %lld ", v.tag.c_str(), static_cast<long long>(event->step));
      if (const auto* number = std::get_if<float>(&v.value)) std::printf("scalar %.9g\n", static_cast<double>(*number));
      if (const auto* h = std::get_if<Histogram>(&v.value))
        std::printf("histogram %g %g %g\n", h->count, h->min, h->max);
      if (const auto* i = std::get_if<EventImage>(&v.value)) {
        std::printf("image %lld %lld %d\n", static_cast<long long>(i->height), static_cast<long long>(i->width),
                    i->channels);
      }
      if (const auto* t = std::get_if<Tensor>(&v.value)) {
        std::printf("tensor %s %s\n", v.plugin.c_str(),
                    t->dtype() == DType::kString ? "strings" : t->to_string(1).c_str());
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  Status status = argosy::invalid_argument("usage: event_tool write FOLDER | dump FILE");
  if (args.size() == 2 && args[0] == "write") status = write(args[1]);
  if (args.size() == 2 && args[0] == "dump") status = dump(args[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
