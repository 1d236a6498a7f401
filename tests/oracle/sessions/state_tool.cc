// The C++ side of the comparison of stateful ops with TensorFlow (state.py): reads a graph in text form, a line "---",
// and commands; prints a line of JSON for each result.
//
//   run x:0 ^y         one step: fetches and targets
//   start 1 x:0        the same on a thread, told by
//   join 1
//   within 200 x:0     a step with a deadline, in milliseconds
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "argosy/graph/text.h"
#include "argosy/ops/ops.h"
#include "argosy/runtime/session/session.h"

namespace {

using namespace argosy;

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string json(const Tensor& t) {
  std::string text = str_cat("{\"dtype\": ", static_cast<int>(t.dtype()), ", \"shape\": ", t.shape().to_string());
  if (t.dtype() == DType::kString) {
    text += ", \"strings\": [";
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      text += str_cat(i > 0 ? ", " : "", "\"", hex(t.data<std::string>()[i]), "\"");
    }
    return text + "]}";
  }
  const std::size_t bytes = is_plain(t.dtype()) ? t.bytes() : 0;
  return text + str_cat(", \"hex\": \"", hex({static_cast<const char*>(t.raw()), bytes}), "\"}");
}

// One step as the command line after its verb says it.
struct Step {
  std::vector<Value> fetches, targets;
  RunOptions options;
};

Result<Step> read_step(Graph& graph, std::istringstream& words) {
  Step step;
  for (std::string word; words >> word;) {
    const bool target = word[0] == '^';
    ARGOSY_ASSIGN_OR_RETURN(const Value v, graph.value(target ? word.substr(1) : word));
    (target ? step.targets : step.fetches).push_back(v);
  }
  return step;
}

std::string run(Session& session, const Step& step) {
  const auto out = session.run({}, step.fetches, step.targets, step.options);
  if (!out.ok()) {
    return str_cat("{\"error\": ", static_cast<int>(out.status().code()), ", \"message\": \"",
                   hex(out.status().to_string()), "\"}");
  }
  std::string text = "{\"values\": [";
  for (std::size_t i = 0; i < out->size(); ++i) text += (i > 0 ? ", " : "") + json((*out)[i]);
  return text + "]}";
}

int serve() {
  const std::string all((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  const std::size_t cut = all.find("\n---\n");
  if (cut == std::string::npos) return 2;
  auto graph = parse_text(std::string_view(all).substr(0, cut + 1), builtin_ops());
  if (!graph.ok()) {
    std::fprintf(stderr, "%s\n", graph.status().to_string().c_str());
    return 1;
  }
  Session session(*graph, {});
  std::map<std::string, std::pair<std::thread, std::string>> running;
  std::istringstream commands(all.substr(cut + 5));
  for (std::string line; std::getline(commands, line);) {
    std::istringstream words(line);
    std::string verb, argument;
    words >> verb;
    if (verb != "run") words >> argument;
    if (verb == "join") {
      auto& [thread, answer] = running[argument];
      thread.join();
      std::printf("%s\n", answer.c_str());
      continue;
    }
    auto step = read_step(*graph, words);
    if (!step.ok()) {
      std::fprintf(stderr, "%s: %s\n", line.c_str(), step.status().to_string().c_str());
      return 1;
    }
    if (verb == "within") step->options.timeout = std::chrono::milliseconds(std::stoi(argument));
    if (verb == "start") {
      auto& [thread, answer] = running[argument];
      thread = std::thread([&session, &answer = answer, step = *step] { answer = run(session, step); });
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it waits by now
      continue;
    }
    std::printf("%s\n", run(session, *step).c_str());
  }
  return 0;
}

}  // namespace

int main() { return serve(); }
