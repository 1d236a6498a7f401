// What `--strategy` says, and the same bytes as the file of `--strategy @FILE`, of a model and of a graph.
#include "argosy/base/check.h"
#include "fuzz/input_file.h"
#include "tools/argosy/plan/plan_file.h"
#include "tools/argosy/plan/plan_graph_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace argosy;
  const std::string_view text = as_text(data, size);
  if (const auto spec = StrategySpec::parse(text); spec.ok()) {
    const auto again = StrategySpec::parse(spec->to_string());
    ARGOSY_CHECK(again.ok() && *again == *spec);
    for (const int devices : {1, 3, 1024}) (void)spec->check(devices);
  } else {
    ARGOSY_CHECK(spec.status().id() == "ARG-SHARD-001" && !spec.status().hint().empty());
  }
  cli::TrainChoices choices;
  choices.model = "mlp";
  choices.request.emulate = "2";
  const std::string path = input_file("plan", text);
  const auto saved = cli::load_strategy(path, choices, 64);
  if (saved.ok()) {
    ARGOSY_CHECK(!saved->strategy.automatic && saved->strategy.file.empty() && !saved->request.devices.empty());
  } else {
    ARGOSY_CHECK(saved.status().id().starts_with("ARG-SHARD-00") && !saved.status().message().empty());
  }
  const auto graph = cli::load_graph_strategy(path, choices.request, false);
  if (graph.ok()) {
    ARGOSY_CHECK(!graph->strategy.automatic && !graph->request.devices.empty() && !graph->step.targets.empty());
  } else {
    ARGOSY_CHECK(graph.status().id().starts_with("ARG-SHARD-00") && !graph.status().message().empty());
  }
  return 0;
}
