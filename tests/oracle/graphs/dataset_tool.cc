// The C++ side of the comparison of input pipelines with TensorFlow: loads a GraphDef and takes elements of an
// iterator, one run after the other in one session, until it ends. datasets.py runs the same graph in TensorFlow.
//
//   dataset_tool GRAPH STEPS INIT FETCH...
//
// INIT: the node that initializes the iterator, or "-". A line per run: a JSON list of [dtype, shape, values], or of
// [code, message]; no more lines after OUT_OF_RANGE.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "argosy/runtime/session/session.h"
#include "argosy/tf/model/load_graph.h"

namespace {

using namespace argosy;
using Json = nlohmann::json;

std::string hex(const std::string& bytes) {
  std::string text;
  char digits[3];
  for (const char c : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
    text += digits;
  }
  return text;
}

Json to_json(const Tensor& t) {
  Json values = Json::array();
  if (t.dtype() == DType::kString) {
    for (const std::string& s : t.values<std::string>()) values.push_back(hex(s));
  } else if (is_plain(t.dtype())) {
    values.push_back(hex(std::string(t.raw_as<char>(), t.bytes())));
  }
  return {dtype_name(t.dtype()), t.shape().sizes(), values};
}

Status run(int argc, char** argv) {
  if (argc < 5) return invalid_argument("dataset_tool GRAPH STEPS INIT FETCH...");
  ARGOSY_ASSIGN_OR_RETURN(LoadedGraph graph, load_graph(argv[1]));
  std::vector<Value> fetches;
  for (int i = 4; i < argc; ++i) {
    ARGOSY_ASSIGN_OR_RETURN(const Value v, graph.value(argv[i]));
    fetches.push_back(v);
  }
  std::vector<Value> init;
  if (std::string(argv[3]) != "-") {
    ARGOSY_ASSIGN_OR_RETURN(const Value v, graph.value(argv[3]));
    init.push_back(v.control());
  }
  Session session(graph.graph());
  if (!init.empty()) {
    const Status status = session.run_targets(init);
    if (!status.ok()) {
      std::printf("%s\n", Json{code_name(status.code()), status.to_string()}.dump().c_str());
      return ok_status();
    }
  }
  for (int step = 0; step < std::atoi(argv[2]); ++step) {
    const auto element = session.run(fetches);
    if (element.ok()) {
      Json list = Json::array();
      for (const Tensor& t : *element) list.push_back(to_json(t));
      std::printf("%s\n", list.dump().c_str());
      continue;
    }
    std::printf("%s\n", Json{code_name(element.status().code()), element.status().to_string()}.dump().c_str());
    if (element.status().code() == Code::kOutOfRange) break;
  }
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return 1;
}
