#include "argosy/planner/step_simulator.h"

#include <algorithm>
#include <map>

#include "argosy/comm/shared_memory/host_places.h"
#include "argosy/op/definition/op_def.h"

namespace argosy {

namespace {

constexpr double kForwardSeconds = 5e-8;  // of what the executor does itself
constexpr double kNothing = 1e-12;        // seconds: rounding of sums

// A collective of the step: its members, and the time that it takes once all have started.
struct Round {
  std::vector<std::int32_t> members;  // instructions
  int started = 0;
  double seconds = 0;       // alone on the machine
  double work = 0;          // the part of them that takes cores; the rest waits for links
  double left = 0;          // of the work
  bool on_streams = false;  // beside the devices' own work; else the last member's device does it
  double earliest = 0;      // its end, once it runs
  enum class State : char { kWaits, kQueued, kRuns, kDone } state = State::kWaits;
};

// The state of a device at the simulated time.
struct Walk {
  std::size_t at = 0;         // position in the device's order
  std::int32_t running = -1;  // instruction; -1: waits, or is done
  std::int32_t round = -1;    // the collective that it works on
  double left = 0;            // seconds of work at full speed
  double busy = 0;
};

class Simulation {
 public:
  Simulation(const Step& step, const SimulatorOptions& options) : step_(step), options_(options) {}

  Result<SimulatedStep> run() {
    if (step_.needs_dataflow) return failed_precondition("the order of the step follows its data: it is not simulated");
    const Graph& graph = step_.info.graph->graph;
    find_durations(graph);
    find_rounds(graph);
    walks_.resize(step_.plan.order.size());
    done_.assign(step_.instructions.size(), 0);
    while (advance()) {
    }
    if (!finished()) return internal_error("the simulated step waits for itself");
    SimulatedStep result{.seconds = now_, .busy_seconds = {}, .collective_seconds = 0};
    for (const Walk& walk : walks_) result.busy_seconds.push_back(walk.busy);
    for (const Round& round : rounds_) result.collective_seconds += round.seconds;
    return result;
  }

 private:
  const DeviceSpec& spec(std::size_t d) const { return step_.device_set->device(static_cast<int>(d)).spec(); }
  bool shares_cores(std::size_t d) const { return spec(d).kind != DeviceKind::kCuda; }

  void find_durations(const Graph& graph) {
    durations_.assign(step_.instructions.size(), 0);
    round_of_.assign(step_.instructions.size(), -1);
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      const Instruction& instruction = step_.instructions[i];
      if (instruction.role == Role::kCopy) {
        durations_[i] = copy_seconds(step_.slots[static_cast<std::size_t>(instruction.first_output)]);
      } else if (instruction.role != Role::kKernel) {
        durations_[i] = kForwardSeconds;
      } else if (const auto id = graph.find(step_.info.nodes[static_cast<std::size_t>(instruction.node)].name); id) {
        const Node& n = graph.node(*id);
        if (!n.op->collective) durations_[i] = options_.kernel(n, graph, instruction.device);
      }
    }
  }

  double copy_seconds(const SlotSpec& slot) const {
    if (options_.rates == nullptr || options_.free_copies) return 0;
    return options_.rates->copy_seconds(static_cast<double>(slot.bytes));
  }

  // Finds the collectives: the instructions of one group. The kind of a collective follows from the sizes of its inputs
  // and outputs.
  void find_rounds(const Graph& graph) {
    std::map<std::string, std::int32_t> by_group;
    for (std::size_t i = 0; i < step_.instructions.size(); ++i) {
      const Instruction& instruction = step_.instructions[i];
      if (instruction.role != Role::kKernel) continue;
      const auto id = graph.find(step_.info.nodes[static_cast<std::size_t>(instruction.node)].name);
      if (!id || !graph.node(*id).op->collective) continue;
      const std::string group = graph.node(*id).attrs.get_string("group");
      const auto [found, added] = by_group.emplace(group, static_cast<std::int32_t>(rounds_.size()));
      if (added) rounds_.emplace_back();
      rounds_[static_cast<std::size_t>(found->second)].members.push_back(static_cast<std::int32_t>(i));
      round_of_[i] = found->second;
    }
    for (Round& round : rounds_) time_round(graph, round);
  }

  static double bytes_of(const PartialShape& shape, DType dtype) {
    double elements = 1;
    for (int i = 0; i < shape.rank(); ++i) elements *= static_cast<double>(std::max<std::int64_t>(shape[i], 1));
    return elements * static_cast<double>(element_bytes(dtype));
  }

  void time_round(const Graph& graph, Round& round) {
    if (options_.rates == nullptr || options_.free_collectives) return;
    double in = 0, out = 0;  // of one member
    int cores = 0;
    double link = 0;
    const auto first = static_cast<std::size_t>(step_.instructions[static_cast<std::size_t>(round.members[0])].node);
    const Node& n = graph.node(*graph.find(step_.info.nodes[first].name));
    for (const Endpoint e : n.inputs) in += bytes_of(graph.shape(e), graph.dtype(e));
    for (std::size_t k = 0; k < n.output_shapes.size(); ++k) out += bytes_of(n.output_shapes[k], n.output_dtypes[k]);
    for (const std::int32_t i : round.members) {
      const auto d = static_cast<std::size_t>(step_.instructions[static_cast<std::size_t>(i)].device);
      cores += spec(d).cores;
      if (spec(d).link_bytes_per_second > 0) link = spec(d).link_bytes_per_second;
    }
    const Travel travel = out < in / 1.5   ? Travel::kReduceScatter
                          : out > in * 1.5 ? Travel::kAllGather
                                           : Travel::kAllReduce;
    const double bytes = std::max(in, out);
    const int members = static_cast<int>(round.members.size());
    round.seconds = options_.rates->collective_seconds(travel, members, bytes);
    round.work = options_.rates->collective_work_seconds(travel, members, bytes);
    const HostPlaces places{
        .cores = cores, .link_bytes_per_second = link, .own_devices = true, .bytes = static_cast<std::size_t>(bytes)};
    const auto d = static_cast<std::size_t>(step_.instructions[static_cast<std::size_t>(round.members[0])].device);
    round.on_streams = !shares_cores(d) || places.worth_streams();
  }

  bool waits_are_over(std::int32_t i) const {
    const std::vector<std::int32_t>& waits = step_.meta[static_cast<std::size_t>(i)].waits;
    return std::all_of(waits.begin(), waits.end(), [&](std::int32_t p) { return done_[static_cast<std::size_t>(p)]; });
  }

  // Starts the next instructions of device d that have nothing to wait for. A member of a collective takes no time of
  // its own.
  void start(std::size_t d) {
    Walk& walk = walks_[d];
    const auto& order = step_.plan.order[d];
    while (walk.running < 0 && walk.at < order.size() && waits_are_over(order[walk.at])) {
      const std::int32_t i = order[walk.at];
      const std::int32_t r = round_of_[static_cast<std::size_t>(i)];
      if (r < 0) {
        walk.running = i;
        walk.left = durations_[static_cast<std::size_t>(i)];
        walk.busy += walk.left;
        return;
      }
      Round& round = rounds_[static_cast<std::size_t>(r)];
      ++walk.at;
      if (++round.started < static_cast<int>(round.members.size())) continue;
      round.left = round.work;
      if (round.on_streams || round.seconds == 0) {
        round.state = Round::State::kQueued;
        queue_.push_back(r);
        continue;
      }
      round.state = Round::State::kRuns;
      walk.running = i;
      walk.round = r;
      walk.left = round.seconds;
      return;
    }
  }

  // Runs the collectives on the communication streams, one after another. True if one has begun or ended.
  bool run_queue() {
    bool any = false;
    while (next_in_queue_ < queue_.size()) {
      Round& round = rounds_[static_cast<std::size_t>(queue_[next_in_queue_])];
      if (round.state == Round::State::kQueued) {
        round.state = Round::State::kRuns;
        round.earliest = now_ + round.seconds;  // links are paced from its start
        any = true;
      }
      if (round.left > kNothing || round.earliest > now_ + kNothing) break;
      end(round);
      ++next_in_queue_;
      any = true;
    }
    return any;
  }

  void end(Round& round) {
    round.state = Round::State::kDone;
    for (const std::int32_t i : round.members) done_[static_cast<std::size_t>(i)] = 1;
  }

  Round* running_round() {
    return next_in_queue_ < queue_.size() ? &rounds_[static_cast<std::size_t>(queue_[next_in_queue_])] : nullptr;
  }

  // Advances the time to the next end of an instruction or a collective. False: nothing runs any more.
  bool advance() {
    for (bool again = true; again;) {  // ends at this very time let others start
      again = false;
      for (std::size_t d = 0; d < walks_.size(); ++d) {
        const std::size_t before = walks_[d].at;
        start(d);
        again = again || walks_[d].at != before;
      }
      again = run_queue() || again;
    }
    double demand = 0;
    for (std::size_t d = 1; d < walks_.size(); ++d) {
      if (walks_[d].running >= 0 && shares_cores(d)) demand += spec(d).cores * spec(d).speed;
    }
    Round* const round = running_round();
    if (round != nullptr && round->left > 0) {
      demand += std::min(static_cast<double>(round->members.size()), static_cast<double>(options_.cores));
    }
    const double rate = std::min(1.0, options_.cores / std::max(demand, 1e-9));
    double step = -1;
    const auto consider = [&](double seconds) { step = step < 0 ? seconds : std::min(step, seconds); };
    for (std::size_t d = 0; d < walks_.size(); ++d) {
      if (walks_[d].running >= 0) consider(walks_[d].left / (shares_cores(d) ? rate : 1));
    }
    if (round != nullptr) consider(round->left > kNothing ? round->left / rate : round->earliest - now_);
    if (step < 0) return false;
    now_ += step;
    if (round != nullptr && round->left > 0) round->left -= step * rate;
    for (std::size_t d = 0; d < walks_.size(); ++d) step_walk(walks_[d], step * (shares_cores(d) ? rate : 1));
    return true;
  }

  void step_walk(Walk& walk, double seconds) {
    if (walk.running < 0) return;
    walk.left -= seconds;
    if (walk.left > kNothing) return;
    if (walk.round < 0) {
      done_[static_cast<std::size_t>(walk.running)] = 1;
      ++walk.at;
    } else {
      end(rounds_[static_cast<std::size_t>(walk.round)]);  // `at` is past it already
    }
    walk.running = walk.round = -1;
  }

  bool finished() const {
    for (std::size_t d = 0; d < walks_.size(); ++d) {
      if (walks_[d].at < step_.plan.order[d].size()) return false;
    }
    return true;
  }

  const Step& step_;
  const SimulatorOptions& options_;
  std::vector<double> durations_;       // by instruction
  std::vector<std::int32_t> round_of_;  // by instruction; -1: no collective
  std::vector<Round> rounds_;
  std::vector<Walk> walks_;          // by device
  std::vector<char> done_;           // by instruction
  std::vector<std::int32_t> queue_;  // rounds on streams, in starting order
  std::size_t next_in_queue_ = 0;
  double now_ = 0;
};

}  // namespace

Result<SimulatedStep> simulate_step(const Step& step, const SimulatorOptions& options) {
  return Simulation(step, options).run();
}

}  // namespace argosy
