// Helpers of tests of partition(): graph text in, graph text out for each task. "@A", "@B", "@C" are the CPUs of three
// tasks, and "@G" is a GPU of the first. Task A is the master.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "argosy/passes/partition/partition.h"
#include "argosy/testing/expect_rewrite.h"

namespace argosy {

// A loop of task A whose body is on task B. Its result is `out`.
inline constexpr char kLoopOnTwoTasks[] = R"(
    zero = Const [dtype=float, value=float[] {0}] @A
    limit = Const [dtype=float, value=float[] {3}] @A
    in = Enter(zero) [frame_name="loop"] @A
    top = Enter(limit) [frame_name="loop", is_constant=true] @A
    m = Merge(in, next) @A
    less = Less(m, top) @A
    cond = LoopCond(less) @A
    s = Switch(m, cond) @A
    body = Exp(s:1) @B
    next = NextIteration(body) @A
    out = Exit(s) @A)";

inline const std::vector<std::string> kDevices = {
    "/job:a/replica:0/task:0/device:CPU:0", "/job:b/replica:0/task:0/device:CPU:0",
    "/job:b/replica:0/task:1/device:CPU:0", "/job:a/replica:0/task:0/device:GPU:0"};
inline constexpr std::string_view kShort = "ABCG";

inline std::string with_long_names(std::string text) {
  for (std::size_t d = 0; d < kDevices.size(); ++d) {
    for (const auto& [from, to] : {std::pair(str_cat("@", kShort[d]), str_cat("@", kDevices[d])),
                                   std::pair(str_cat("\"", kShort[d], "\""), str_cat("\"", kDevices[d], "\""))}) {
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    }
  }
  return text;
}

inline DevicePlacement placed(const StepGraph& step) {
  DevicePlacement p{.device = {}, .reason = {}, .reasons = {""}, .device_name = kDevices};
  for (const Node& n : step.graph.nodes()) {
    const auto at = std::find(kDevices.begin(), kDevices.end(), n.device);
    p.device.push_back(at == kDevices.end() ? 0 : static_cast<int>(at - kDevices.begin()));
    p.reason.push_back(0);
  }
  return p;
}

inline Result<std::vector<Partition>> cut(const std::string& text, PartitionStats* stats = nullptr) {
  StepGraph step = parse_step(with_long_names(text));
  const DevicePlacement placement = placed(step);
  return partition(std::move(step), placement, {.own_device = kDevices[0]}, stats);
}

// Checks the partitions of `in`: `out` maps each task ('A') to the expected text.
inline void expect_parts(const std::string& in, const std::map<char, std::string>& out) {
  const auto parts = cut(in);
  ASSERT_TRUE(parts.ok()) << parts.status().to_string();
  EXPECT_EQ(parts->size(), out.size());
  for (const Partition& part : *parts) {
    char name = '?';
    for (std::size_t d = 0; d < 3; ++d) {
      if (task_of_device(kDevices[d]) == part.task) name = kShort[d];
    }
    const auto wanted = out.find(name);
    ASSERT_NE(wanted, out.end()) << part.task;
    const std::string text = wanted->second.empty() ? "-> " : step_text(parse_step(with_long_names(wanted->second)));
    EXPECT_EQ(step_text(part.step), text) << "task " << name;
  }
}

inline std::string ends(const std::string& edge, char from, char to, bool dead) {
  return str_cat("tensor_name=\"", edge, "\", send_device=\"", from, "\", send_device_incarnation=0, recv_device=\"",
                 to, "\"", dead ? "" : ", _never_dead=true", "]");
}
// A line of the expected text: one end of a transfer. `dead`: the value may be dead.
inline std::string send(const std::string& edge, const std::string& value, char from, char to, bool dead = false) {
  return str_cat(edge, "/send = _Send(", value, ") [", ends(edge, from, to, dead), " @", from, "\n");
}
inline std::string recv(const std::string& edge, const std::string& type, char from, char to, bool dead = false,
                        const std::string& controls = "") {
  return str_cat(edge, "/recv = _Recv(", controls, ") [tensor_type=", type, ", ", ends(edge, from, to, dead), " @", to,
                 "\n");
}

}  // namespace argosy
