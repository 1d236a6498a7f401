// A program of your own against an installed argosy: builds a graph and reports an error the way all do.
#include <argosy/argosy.h>

#include <cstdio>

int main() {
  using namespace argosy;
  Graph graph;
  Value x = placeholder(graph, DType::kFloat32, {}, "x");
  Value y = identity(stop_gradient(x), "y");
  std::printf("%s gives %s\n", y.name().c_str(), dtype_name(y.dtype()).data());

  Result<DeviceName> device = DeviceName::parse("/gpu:one");
  if (device.ok() || !graph.status().ok() || y.node_name() != "y") return 1;
  std::fprintf(stderr, "as expected: %s\n", device.status().to_string().c_str());
}
