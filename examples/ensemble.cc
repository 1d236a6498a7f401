// Three networks with the same names, each in a scope and on a device of its own, trained side by side and one after
// another: the same results, in less time.
#include <argosy/argosy.h>

#include <cstdio>

using namespace argosy;

int main() {
  const auto train = data::open_dataset("synthetic", {.image_size = 28, .channels = 1, .examples = 2000});
  if (!train.ok()) return std::fprintf(stderr, "%s\n", train.status().to_string().c_str()), 1;
  EnsembleOptions options{.devices = {.devices = "3", .emulate = "3"}, .batch = 64, .steps = 30};
  for (const int last : {32, 64, 128}) options.models.push_back(models::mlp({}, 128, last));
  const auto report = train_ensemble(options, **train);
  if (!report.ok()) return std::fprintf(stderr, "%s\n", report.status().to_string().c_str()), 1;
  for (const auto& member : report->members) {
    std::printf("%s on %s: loss %.3f -> %.3f, variables %s, %s, …\n", member.scope.c_str(), member.device.c_str(),
                member.losses.front(), member.losses.back(), member.variables[0].c_str(), member.variables[1].c_str());
  }
  std::printf("side by side %.2f s, one after another %.2f s: %.2fx; results %s\n", report->side_by_side_seconds,
              report->one_after_another_seconds, report->speedup(), report->identical ? "identical" : "DIFFERENT");
  return report->identical ? 0 : 1;
}
