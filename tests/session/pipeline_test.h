// For tests of the families dataset and iterator: a graph with one iterator, run to its end.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "argosy/ops/iterator/iterator.h"
#include "argosy/runtime/session/session.h"
#include "tests/session/support/test_session.h"

namespace argosy {

// All elements, each as the values of its components ("[1 2 3]", whatever the rank above 0; joined by a space), and how
// it ended.
struct Elements {
  std::vector<std::string> values;
  Status end;
};

inline std::string values_of(const Tensor& t) {
  const std::string text = t.to_string(1 << 20);  // "int64[2] {1, 2}"
  std::string values;
  for (const char c : text.substr(text.find('{') + 1)) {
    if (c != ',' && c != '}') values += c;
  }
  return t.shape().rank() == 0 ? values : "[" + values + "]";
}

inline Elements run_to_end(TestSession& session, const IteratorValue& iterator, int most = 10'000) {
  Elements all;
  if (iterator.initializer.valid()) {
    all.end = session.run_targets({iterator.initializer});
    if (!all.end.ok()) return all;
  }
  for (int i = 0; i < most; ++i) {
    auto element = session.run(iterator.next);
    if (!element.ok()) {
      all.end = element.status();
      break;
    }
    std::string text;
    for (const Tensor& t : *element) text += (text.empty() ? "" : " ") + values_of(t);
    all.values.push_back(std::move(text));
  }
  return all;
}

inline Elements elements_of(const std::function<InputPipeline(Graph&)>& make, int most = 10'000) {
  Graph graph;
  const IteratorValue iterator = initializable_iterator(make(graph));
  EXPECT_TRUE(graph.status().ok()) << graph.status().to_string();
  if (!graph.status().ok()) return {{}, graph.status()};
  TestSession session(graph);
  return run_to_end(session, iterator, most);
}

// The elements of a dataset that ends as it should.
inline std::vector<std::string> all_of(const std::function<InputPipeline(Graph&)>& make) {
  Elements all = elements_of(make);
  EXPECT_EQ(all.end.code(), Code::kOutOfRange) << all.end.to_string();
  EXPECT_EQ(all.end.message(), "End of sequence");
  return all.values;
}

inline std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

}  // namespace argosy
