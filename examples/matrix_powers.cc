// A¹⁰ + B¹⁰, each power on a device of its own, the sum on the CPU.
//
//   A ─► gpu:0: A·A·…·A ─┐
//                        ├─► cpu:0: +
//   B ─► gpu:1: B·B·…·B ─┘
#include <argosy/argosy.h>

#include <cmath>
#include <cstdio>

using namespace argosy;

Value matpow(Value m, int n) { return n <= 1 ? m : matmul(m, matpow(m, n - 1)); }

int main() {
  const Tensor a = Tensor::of<float>({2, 2}, {0.5f, 0.5f, 0, 1});
  const Tensor b = Tensor::of<float>({2, 2}, {1, 0, 0.25f, 0.5f});

  Graph graph;
  Value x = placeholder(graph, DType::kFloat32, {2, 2}, "A"), y = placeholder(graph, DType::kFloat32, {2, 2}, "B");
  Value x10, y10, sum;
  {
    auto on = graph.device("/gpu:0");
    x10 = matpow(x, 10);
  }
  {
    auto on = graph.device("/gpu:1");
    y10 = matpow(y, 10);
  }
  {
    auto on = graph.device("/cpu:0");
    sum = x10 + y10;
  }

  // No GPUs here? Two emulated ones behave the same.
  Session session(graph, {.devices = {.emulate = "2"}, .log_device_placement = true});
  const auto out = session.run({{x, a}, {y, b}}, {sum});
  if (!out.ok()) return std::fprintf(stderr, "%s\n", out.status().to_string().c_str()), 1;
  std::printf("%s\n", out->at(0).to_string().c_str());
  return std::abs(out->at(0).data<float>()[0] - (0.0009765625f + 1)) < 1e-5f ? 0 : 1;
}
