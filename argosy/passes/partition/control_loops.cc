#include "argosy/passes/partition/control_loops.h"

#include <algorithm>
#include <set>

namespace argosy {

bool is_cut(const PlacedStep& placed, NodeId from, NodeId to) {
  return placed.task(from) != placed.task(to) && !placed.is_everywhere(from);
}

namespace {

class ControlLoopBuilder {
 public:
  ControlLoopBuilder(PlacedStep& placed, LoopFrames& frames, const std::function<bool(int)>& is_foreign)
      : placed_(placed), frames_(frames), is_foreign_(is_foreign) {}

  Result<ControlLoops> run() {
    if (frames_.frames().size() == 1) return ControlLoops();
    find_wanted();
    // Of an inner loop: its control loop is entered by the one around it.
    for (int f = static_cast<int>(frames_.frames().size()) - 1; f > 0; --f) {
      const int parent = frame(f).parent;
      if (parent == LoopFrames::kRoot) continue;
      for (int task = 0; task < placed_.tasks(); ++task) {
        if (wanted_.contains({f, task})) wanted_.insert({parent, task});
      }
    }
    if (is_foreign_) ARGOSY_RETURN_IF_ERROR(check_kinds());
    for (const auto& [f, task] : wanted_) ARGOSY_RETURN_IF_ERROR(add(f, task));
    return std::move(loops_);
  }

 private:
  const LoopFrames::Frame& frame(int f) const { return frames_.frames()[static_cast<std::size_t>(f)]; }

  void find_wanted() {
    const Graph& graph = placed_.graph();
    for (std::int32_t i = 0; i < graph.size(); ++i) {
      const NodeId id{i};
      const Node& n = graph.node(id);
      const int task = placed_.task(id);
      for (const Endpoint e : n.inputs) note_edge(e.node, id);
      for (const NodeId c : n.controls) note_edge(c, id);
      const int f = frames_.of(id);
      if (f > 0) tasks_of_[f].insert(task);
    }
    for (const auto& [f, tasks] : tasks_of_) {
      // A loop of one task is its own, unless something of it crosses.
      const NodeId cond = frame(f).cond;
      for (const int task : tasks) {
        const bool has_predicate = cond.index >= 0 ? placed_.task(cond) == task : tasks.size() == 1;
        if (!has_predicate) wanted_.insert({f, task});
      }
    }
  }

  void note_edge(NodeId from, NodeId to) {
    if (!is_cut(placed_, from, to)) return;
    const int f = frames_.of_outputs(placed_.graph(), from);
    if (f > 0) wanted_.insert({f, placed_.task(to)});
  }

  // Values of a loop meet by the number of its frame. Tasks of TensorFlow 1.x number frames in another way.
  Status check_kinds() const {
    std::map<int, std::set<int>> sharing = tasks_of_;
    for (const auto& [f, task] : wanted_) sharing[f].insert(task);
    for (const auto& [f, tasks] : sharing) {
      const auto foreign = std::ranges::find_if(tasks, is_foreign_);
      const auto own = std::ranges::find_if_not(tasks, is_foreign_);
      if (foreign == tasks.end() || own == tasks.end()) continue;
      return unimplemented("the loop \"", frame(f).name, "\" runs on ", tasks.size(),
                           " tasks: ", placed_.task_name(*foreign), " numbers frames as TensorFlow before 2.5 does, ",
                           placed_.task_name(*own), " does not. Such tasks share no loop")
          .with_id("ARG-PART-004")
          .with_where(str_cat("loop \"", frame(f).name, "\""))
          .with_hint(str_cat("put the loop on one task: with tf.device(\"", placed_.task_name(*own),
                             "\"); or start these tasks with argosy serve"));
    }
    return ok_status();
  }

  Status no_predicate(int f) const {
    return invalid_argument("the loop \"", frame(f).name, "\" runs on several tasks and has ", frame(f).conds,
                            " LoopCond nodes: one must say when it ends")
        .with_id("ARG-PART-002")
        .with_hint("put the loop on one task");
  }

  // Parents come before their children: frames are numbered so.
  Status add(int f, int task) {
    Graph& graph = placed_.graph();
    const NodeId cond = frame(f).cond;
    if (cond.index < 0) return no_predicate(f);
    const int device = placed_.host_of(task);
    const int parent = frame(f).parent;
    const std::string name = str_cat("_control_loop/", frame(f).name, "/");
    const auto make = [&](const char* op, std::vector<Endpoint> inputs, AttrMap attrs, int in,
                          std::vector<NodeId> controls = {}) -> Result<NodeId> {
      ARGOSY_ASSIGN_OR_RETURN(const NodeId id, placed_.add({.name = name + op,
                                                            .op = op,
                                                            .inputs = std::move(inputs),
                                                            .controls = std::move(controls),
                                                            .attrs = std::move(attrs),
                                                            .device = placed_.device_name(device)},
                                                           device));
      frames_.add(id, in);
      return id;
    };
    std::vector<NodeId> around;
    if (parent != LoopFrames::kRoot) around.push_back(loops_.at({parent, task}));
    const bool everywhere = around.empty();
    ARGOSY_ASSIGN_OR_RETURN(const NodeId start,
                            make("Const", {}, {{"dtype", DType::kInt32}, {"value", Tensor::scalar(std::int32_t{0})}},
                                 everywhere ? LoopFrames::kNone : parent, std::move(around)));
    const AttrMap type = {{"T", DType::kInt32}};
    AttrMap of_enter = type;
    of_enter.set("frame_name", frame(f).name);
    of_enter.set("is_constant", false);
    of_enter.set("parallel_iterations", frame(f).parallel);
    ARGOSY_ASSIGN_OR_RETURN(const NodeId enter, make("Enter", {{start, 0}}, std::move(of_enter), parent));
    AttrMap of_merge = type;
    of_merge.set("N", std::int64_t{2});
    ARGOSY_ASSIGN_OR_RETURN(const NodeId merge, make("Merge", {{enter, 0}}, std::move(of_merge), f));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId choice, make("Switch", {{merge, 0}, {cond, 0}}, type, f));
    ARGOSY_ASSIGN_OR_RETURN(const NodeId next, make("NextIteration", {{choice, 1}}, type, f));
    graph.add_input(merge, {next, 0});
    graph.refine_shape({merge, 0}, PartialShape::scalar());
    loops_[{f, task}] = merge;
    return ok_status();
  }

  PlacedStep& placed_;
  LoopFrames& frames_;
  const std::function<bool(int)>& is_foreign_;
  std::map<int, std::set<int>> tasks_of_;  // by frame
  std::set<std::pair<int, int>> wanted_;   // (frame, task)
  ControlLoops loops_;
};

}  // namespace

Result<ControlLoops> add_control_loops(PlacedStep& placed, LoopFrames& frames,
                                       const std::function<bool(int)>& is_foreign) {
  return ControlLoopBuilder(placed, frames, is_foreign).run();
}

}  // namespace argosy
