// One model over two devices by hand, with a decision on the CPU: layers, their gradients and their updates stay where
// the scope says; the CPU looks at the loss and, only while it is high, works out a larger learning rate.
//
//   gpu:0  x -> dense ----------+            gradients come back the same way
//   gpu:1                       +-> dense -> loss
//   cpu:0                                     +-> loss > 0.5 ?  rate = 0.5 : rate = 0.1
#include <argosy/argosy.h>

#include <cstdio>

using namespace argosy;

int main() {
  Graph graph;
  Layers net(graph, {.seed = 1});
  const Value x = net.input("x", DType::kFloat32, {4}), target = net.input("target", DType::kFloat32, {1});
  Value hidden, loss, rate;
  {
    const auto on = graph.device("/gpu:0");
    hidden = net.dense(x, 32, {.activation = [](Value v) { return tanh(v); }});
  }
  {
    const auto on = graph.device("/gpu:1");
    loss = mean_squared_error(net.dense(hidden, 1), target);
  }
  {
    const auto on = graph.device("/cpu:0");
    // Only one side of a switch runs.
    const auto [low, high] = switch_value(loss, greater(loss, 0.5));
    rate = merge({zeros_like(low) + 0.02, minimum(high, 0.05)}, "rate");
  }
  std::vector<Value> weights, updates;
  for (const VariableNode& v : net.trainable()) weights.push_back(v.ref);
  const std::vector<Value> slopes = gradients(graph, {loss}, weights);
  std::vector<Value> initializers;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const VariableNode& v = net.trainable()[i];
    const auto with = graph.colocate_with(v.ref);
    updates.push_back(apply_gradient_descent(v, rate, slopes[i]));
    initializers.push_back(v.initializer);
  }
  const Value step = group(graph, updates, "step"), init = group(graph, initializers, "init");

  Session session(graph, {.devices = {.devices = "2", .emulate = "2"}});
  Status status = session.run_targets({init});
  float first = 0, last = 0;
  for (int i = 0; status.ok() && i < 200; ++i) {
    Tensor inputs = Tensor::zeros(DType::kFloat32, {16, 4}), targets = Tensor::zeros(DType::kFloat32, {16, 1});
    for (int k = 0; k < 64; ++k) inputs.data<float>()[k] = static_cast<float>((k * 7 + i * 3) % 11) / 5.5f - 1;
    for (int k = 0; k < 16; ++k) targets.data<float>()[k] = 2 * inputs.data<float>()[4 * k] - 1;
    const auto out = session.run({{x, inputs}, {target, targets}}, {loss, rate}, {step});
    status = out.status();
    if (!status.ok()) break;
    last = *(*out)[0].data<float>();
    if (i == 0) first = last;
    if (i % 50 == 0) std::printf("step %3d  loss %.4f  rate %.2f\n", i, last, *(*out)[1].data<float>());
  }
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.to_string().c_str()), 1;
  const auto where = session.placement({{x, {16, 4}}, {target, {16, 1}}}, {loss}, {step});
  if (where.ok()) std::printf("%s", where->summary().c_str());
  return last < first / 4 ? 0 : 1;
}
