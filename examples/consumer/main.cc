// A program of your own against an installed argosy: y = x * x on whatever there is to compute on.
#include <argosy/argosy.h>

#include <cstdio>

int main() {
  using namespace argosy;
  Graph graph;
  Value x = placeholder(graph, DType::kFloat32, {2, 2}, "x");
  Value y = matmul(x, x);
  std::fputs(to_text(graph).c_str(), stdout);

  Session session(graph);
  Result<std::vector<Tensor>> out = session.run({{x, Tensor::of<float>({2, 2}, {1, 1, 0, 1})}}, {y});
  if (!out.ok()) {
    std::fprintf(stderr, "%s\n", out.status().to_string().c_str());
    return 1;
  }
  std::printf("%s\n", out->front().to_string().c_str());
  return out->front().data<float>()[1] == 2 ? 0 : 1;
}
