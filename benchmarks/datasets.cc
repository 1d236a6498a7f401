// Elements a second of an input pipeline in a GraphDef: bench_datasets GRAPH SECONDS INIT FETCH
// peers/datasets writes the graphs, runs them in TensorFlow too, in turn, and compares.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "argosy/runtime/session/session.h"
#include "argosy/tf/model/load_graph.h"

namespace {

using namespace argosy;

Status run(int argc, char** argv) {
  if (argc != 5) return invalid_argument("bench_datasets GRAPH SECONDS INIT FETCH");
  ARGOSY_ASSIGN_OR_RETURN(LoadedGraph graph, load_graph(argv[1]));
  ARGOSY_ASSIGN_OR_RETURN(const Value init, graph.value(argv[3]));
  ARGOSY_ASSIGN_OR_RETURN(const Value fetch, graph.value(argv[4]));
  Session session(graph.graph());
  ARGOSY_RETURN_IF_ERROR(session.run_targets({init.control()}));
  // The element itself stays there: only that it came is fetched.
  ARGOSY_ASSIGN_OR_RETURN(const auto next, session.prepare({}, {}, {fetch.control()}));
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point t) {
    return std::chrono::duration<double>(Clock::now() - t).count();
  };
  for (int i = 0; i < 20; ++i) ARGOSY_RETURN_IF_ERROR(next->run({}, {}));
  const auto start = Clock::now();
  const double seconds = std::atof(argv[2]);
  long runs = 0;
  while (runs % 8 != 0 || seconds_since(start) < seconds) {
    ARGOSY_RETURN_IF_ERROR(next->run({}, {}));
    ++runs;
  }
  std::printf("%.3f\n", static_cast<double>(runs) / seconds_since(start));
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}
