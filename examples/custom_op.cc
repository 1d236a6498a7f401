// An op of one's own, with its shape, its gradient and its kernel: Softclip(x) = x / (1 + |x|).
#include <argosy/argosy.h>

#include <cmath>
#include <cstdio>

using namespace argosy;

// y = x / (1 + |x|)  =>  dx = dy / (1 + |x|)², written with public ops and so differentiable again.
std::vector<Value> softclip_gradient(GradContext& g) {
  const Value bound = abs(g.x()) + 1.0;
  return {g.dy() / (bound * bound)};
}

Status softclip(KernelContext& c) {
  const Tensor& x = c.input(0);
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape(), {0}));
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const float v = x.data<float>()[i];
    y->data<float>()[i] = v / (1 + std::abs(v));
  }
  return ok_status();
}

int main() {
  OpRegistry ops = copy_builtin_ops();
  ops.add({.name = "Softclip",
           .doc = "x / (1 + |x|)",
           .inputs = {"x: T"},
           .outputs = {"y: T"},
           .attrs = {"T: {float}"},
           .shape = same_as_input,
           .gradient = softclip_gradient,
           .elementwise = true,
           .in_place = {{0, 0}}});
  KernelRegistry kernels = cpu_kernels();
  kernels.add("Softclip", "cpu", softclip);

  Graph graph(ops);
  const Value x = placeholder(graph, DType::kFloat32, {-1}, "x");
  const Value y = graph.add("Softclip", {x});
  const std::vector<Value> dx = gradients(graph, {y}, {x});
  Session session(graph, {.kernels = &kernels});
  const auto out = session.run({{x, Tensor::vector<float>({-3, 0, 1})}}, {y, dx[0]});
  if (!out.ok()) return std::fprintf(stderr, "%s\n", out.status().to_string().c_str()), 1;
  std::printf("y  = %s\ndx = %s\n", out->at(0).to_string().c_str(), out->at(1).to_string().c_str());
  return out->at(0).data<float>()[0] == -0.75f && out->at(1).data<float>()[2] == 0.25f ? 0 : 1;
}
