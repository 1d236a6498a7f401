// A loop in dataflow form, as TensorFlow's tf.while_loop writes it.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "argosy/ops/constant/constant.h"
#include "argosy/ops/elementwise/elementwise.h"

namespace argosy {

// A loop of three iterations that carries one value.
struct DataflowLoop {
  Value merged, left, inside, out;

  DataflowLoop(Graph& g, const Value& start, const std::function<Value(Value carried)>& body,
               const char* name = "loop") {
    const AttrMap frame = {{"frame_name", name}};
    const auto carry = [&](const Value& from) {
      const Value in = g.add("Enter", {from}, frame);
      return g.add("Merge", {in, in});
    };
    const Value time = carry(constant(g, 0)), limit = enter(g, constant(g, 3), name);
    merged = carry(start);
    const Value goes_on = g.add("LoopCond", {less(time, limit)});
    const Value again = g.add("Switch", {time, goes_on}).output(1);
    const Value both = g.add("Switch", {merged, goes_on});
    left = both.output(0);
    inside = both.output(1);
    out = g.add("Exit", {left});
    close(g, time, again + enter(g, constant(g, 1), name));
    close(g, merged, body(inside));
  }
  // A value from outside the loop, available in every iteration.
  static Value enter(Graph& g, const Value& from, const char* name = "loop") {
    return g.add("Enter", {from}, {{"frame_name", name}, {"is_constant", true}});
  }
  static void close(Graph& g, const Value& merge, const Value& next) {
    EXPECT_TRUE(next.valid()) << g.status().to_string();
    g.set_input(merge.node(), 1, g.add("NextIteration", {next}).endpoint());
  }
};

}  // namespace argosy
