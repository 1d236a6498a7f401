// A graph that TensorFlow trained and froze, served without Python: requests from several threads, one session.
//
//   serve_frozen_graph examples/xor.pbtxt
#include <argosy/argosy.h>

#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

using namespace argosy;

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: serve_frozen_graph MODEL\n"), 2;
  Result<LoadedGraph> model = load_graph(argv[1]);
  if (!model.ok()) return std::fprintf(stderr, "%s\n", model.status().to_string().c_str()), 1;
  const Result<Value> x = model->value("x"), y = model->value("y");
  if (!x.ok() || !y.ok()) return std::fprintf(stderr, "%s\n", (x.ok() ? y : x).status().to_string().c_str()), 1;

  Session session(model->graph());
  // Compiled once; every thread may run it.
  const auto predict = session.prepare({*x}, {*y});
  if (!predict.ok()) return std::fprintf(stderr, "%s\n", predict.status().to_string().c_str()), 1;

  std::vector<int> wrong(4, 0);
  const auto serve = [&](int client) {
    const float a = static_cast<float>(client / 2), b = static_cast<float>(client % 2);
    for (int request = 0; request < 100; ++request) {
      const Tensor question = Tensor::of<float>({1, 2}, {a, b});
      Tensor answer;
      const Status served = (*predict)->run({&question, 1}, {&answer, 1});
      if (!served.ok() || std::abs(answer.data<float>()[0] - std::abs(a - b)) > 0.02f) ++wrong[client];
      if (request == 0 && served.ok()) std::printf("%g xor %g = %.3f\n", a, b, answer.data<float>()[0]);
    }
  };
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) clients.emplace_back(serve, client);
  for (std::thread& client : clients) client.join();
  return wrong == std::vector<int>(4, 0) ? 0 : 1;
}
