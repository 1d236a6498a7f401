#include "argosy/train/loop/ensemble.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "argosy/base/clock.h"
#include "argosy/base/threads/core_use.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/data/loader.h"
#include "argosy/ops/constant/constant.h"
#include "argosy/runtime/session/session.h"
#include "argosy/train/loop/compiled_model.h"
#include "argosy/train/report/memory_check.h"

namespace argosy {

namespace {

// All models in one graph. Every model has its own placeholders, fed with the same tensors.
struct Fleet {
  struct Member {
    std::string scope;
    DeviceSpec device;
    Model model;
    TrainStep train;
    std::vector<Layers::Input> inputs;
    std::vector<VariableNode> variables;
  };
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::vector<Member> members;
  Value initializer;
};

Result<Fleet> build(const EnsembleOptions& options, const std::vector<DeviceSpec>& devices) {
  Fleet fleet;
  Graph& graph = *fleet.graph;
  std::vector<Value> initializers;
  for (std::size_t k = 0; k < options.models.size(); ++k) {
    Fleet::Member member{.scope = str_cat("model_", k), .device = devices[k % devices.size()]};
    const auto scope = graph.name_scope(member.scope);
    const auto on = graph.device(member.device.name.to_string());
    const VariableNode step = variable(graph, Tensor::scalar(std::int64_t{0}), "global_step");
    Layers net(graph, {.seed = options.seed, .dtype = options.dtype, .compute = options.compute, .step = step.read});
    member.model = options.models[k](net);
    if (!member.model.loss.valid()) {
      ARGOSY_RETURN_IF_ERROR(graph.status());
      return invalid_argument("model ", k, " of the ensemble has no loss");
    }
    MinimizeOptions minimize = options.minimize;
    for (const Value& update : net.updates()) minimize.updates.push_back(update);
    minimize.global_step = step;
    member.train = options.optimizer.minimize(member.model.loss, net.trainable(), minimize);
    member.inputs = net.inputs();
    member.variables = net.variables();
    member.variables.insert(member.variables.end(), member.train.slots.begin(), member.train.slots.end());
    for (const VariableNode& v : member.variables) initializers.push_back(v.initializer);
    fleet.members.push_back(std::move(member));
  }
  fleet.initializer = group(graph, initializers, "init");
  ARGOSY_RETURN_IF_ERROR(graph.status());
  return fleet;
}

struct Outcome {
  std::vector<std::vector<double>> losses;  // by member
  std::vector<Tensor> variables;            // of all members
  std::vector<double> metrics;
  double seconds = 0;           // of the steps after the first, or of the only one
  std::vector<double> by_step;  // of each of these, all members together
  CoreUse use;                  // of the cores, during training
  double trained = 0;           // seconds of that
  std::vector<std::pair<std::string, std::uint64_t>> peak_bytes, planned_bytes;
  std::string placement;
};

class Runner {
 public:
  Runner(const EnsembleOptions& options, const Fleet& fleet) : options_(options), fleet_(fleet) {}

  Result<Outcome> run(const data::Dataset& train, const data::Dataset* test, bool side_by_side) {
    Session session(*fleet_.graph, {.devices = options_.devices, .reproducible = options_.reproducible});
    ARGOSY_RETURN_IF_ERROR(Status(session.status()));
    Outcome outcome;
    outcome.losses.resize(fleet_.members.size());
    if (side_by_side) ARGOSY_RETURN_IF_ERROR(foresee(session, outcome));
    ARGOSY_RETURN_IF_ERROR(session.run_targets({fleet_.initializer}));
    ARGOSY_ASSIGN_OR_RETURN(auto calls, prepare(session, side_by_side));
    CoreUseMeter cores;
    const std::int64_t began = now_nanos();
    // One after another: all training of the first model, then of the second.
    for (std::size_t c = 0; c < calls.size(); ++c) {
      ARGOSY_RETURN_IF_ERROR(train_some(train, *calls[c], calls.size() == 1 ? 0 : c, outcome,
                                        static_cast<double>(c) / static_cast<double>(calls.size()), calls.size()));
    }
    outcome.trained = seconds_since(began);
    outcome.use = cores.read();
    const DeviceSet& device_set = session.device_set();
    for (int d = 0; d < device_set.size(); ++d) {
      outcome.peak_bytes.emplace_back(device_set.device(d).spec().name.short_string(),
                                      device_set.device(d).allocator().stats().peak_bytes);
    }
    std::vector<Value> reads;
    for (const Fleet::Member& m : fleet_.members) {
      for (const VariableNode& v : m.variables) reads.push_back(v.read);
    }
    ARGOSY_ASSIGN_OR_RETURN(outcome.variables, session.run(reads));
    if (test != nullptr) ARGOSY_RETURN_IF_ERROR(evaluate(session, *test, outcome));
    return outcome;
  }

 private:
  using Call = std::unique_ptr<Session::Callable>;

  std::vector<Value> placeholders(std::size_t first, std::size_t end) const {
    std::vector<Value> all;
    for (std::size_t k = first; k < end; ++k) {
      for (const Layers::Input& input : fleet_.members[k].inputs) all.push_back(input.placeholder);
    }
    return all;
  }

  Result<std::vector<Call>> prepare(Session& session, bool side_by_side) const {
    std::vector<Call> calls;
    const std::size_t all = fleet_.members.size(), width = side_by_side ? all : 1;
    for (std::size_t first = 0; first < all; first += width) {
      std::vector<Value> fetches, targets;
      for (std::size_t k = first; k < first + width; ++k) {
        fetches.push_back(fleet_.members[k].model.loss);
        targets.push_back(fleet_.members[k].train.run);
      }
      ARGOSY_ASSIGN_OR_RETURN(Call call, session.prepare(placeholders(first, first + width), fetches, targets));
      calls.push_back(std::move(call));
    }
    return calls;
  }

  std::vector<std::pair<Value, Shape>> feed_shapes(std::int64_t batch) const {
    std::vector<std::pair<Value, Shape>> shapes;
    for (const Value& placeholder : placeholders(0, fleet_.members.size())) {
      std::vector<std::int64_t> sizes = placeholder.shape().sizes();
      sizes[0] = batch;
      shapes.emplace_back(placeholder, Shape(std::span<const std::int64_t>(sizes)));
    }
    return shapes;
  }

  // Checks that a step of all models fits, and fills in its memory and its placement.
  Status foresee(Session& session, Outcome& outcome) const {
    std::vector<Value> losses, targets;
    for (const Fleet::Member& m : fleet_.members) {
      losses.push_back(m.model.loss);
      targets.push_back(m.train.run);
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto first_values, session.forecast({}, {}, {fleet_.initializer}));
    const auto forecast = [&](std::int64_t batch) -> Result<std::vector<MemoryForecast>> {
      ARGOSY_ASSIGN_OR_RETURN(auto step, session.forecast(feed_shapes(batch), losses, targets));
      return larger_by_device(std::move(step), first_values);
    };
    ARGOSY_RETURN_IF_ERROR(check_memory(session.device_set(), forecast, options_.batch));
    ARGOSY_ASSIGN_OR_RETURN(const auto forecasts, forecast(options_.batch));
    for (const MemoryForecast& f : forecasts)
      outcome.planned_bytes.emplace_back(f.device.short_string(), f.total_bytes());
    if (!options_.log_device_placement) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(const PlacementReport placement,
                            session.placement(feed_shapes(options_.batch), losses, targets));
    outcome.placement = placement.summary();
    return ok_status();
  }

  // Returns, for each placeholder of these models, the component of a batch that feeds it.
  Result<std::vector<std::size_t>> components(const data::Dataset& data, std::size_t first, std::size_t models) const {
    std::vector<std::size_t> all;
    for (std::size_t k = first; k < first + models; ++k) {
      ARGOSY_ASSIGN_OR_RETURN(const auto some, match_inputs(fleet_.members[k].inputs, data));
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  // The same tensors for every model.
  static std::vector<Tensor> feeds(const data::Batch& batch, const std::vector<std::size_t>& components) {
    std::vector<Tensor> feeds;
    for (const std::size_t c : components) feeds.push_back(batch.tensors[c]);
    return feeds;
  }

  Status train_some(const data::Dataset& train, Session::Callable& call, std::size_t first, Outcome& outcome,
                    double done, std::size_t calls) const {
    const std::size_t models = calls == 1 ? fleet_.members.size() : 1;
    ARGOSY_ASSIGN_OR_RETURN(
        const auto loader,
        data::Loader::open(train, {.batch = options_.batch, .seed = options_.seed, .threads = options_.input_threads}));
    ARGOSY_ASSIGN_OR_RETURN(const auto fed, components(train, first, models));
    std::vector<Tensor> losses(models);
    outcome.by_step.resize(static_cast<std::size_t>(std::max<std::int64_t>(options_.steps - 1, 0)));
    const std::int64_t first_timed = options_.steps > 1 ? 1 : 0;  // the first step compiles
    for (std::int64_t step = 0; step < options_.steps; ++step) {
      ARGOSY_ASSIGN_OR_RETURN(const data::Batch batch, loader->next());
      const std::int64_t began = now_nanos();
      ARGOSY_RETURN_IF_ERROR(call.run(feeds(batch, fed), losses));
      const double seconds = seconds_since(began);
      if (step >= first_timed) outcome.seconds += seconds;
      if (step > 0) outcome.by_step[static_cast<std::size_t>(step - 1)] += seconds;
      for (std::size_t k = 0; k < models; ++k) {
        ARGOSY_ASSIGN_OR_RETURN(const double loss, scalar_value(losses[k]));
        outcome.losses[first + k].push_back(loss);
      }
      const auto all = static_cast<double>(options_.steps);
      const double part = done + static_cast<double>(step + 1) / all / static_cast<double>(calls);
      if (options_.progress && !options_.progress(static_cast<std::int64_t>(part * all), options_.steps)) {
        return cancelled("the ensemble's training was interrupted");
      }
    }
    return ok_status();
  }

  Status evaluate(Session& session, const data::Dataset& test, Outcome& outcome) const {
    std::vector<Value> fetches;
    for (const Fleet::Member& m : fleet_.members) {
      if (m.model.metrics.empty()) return ok_status();
      fetches.push_back(m.model.metrics[0].total);
      fetches.push_back(m.model.metrics[0].weight);
    }
    ARGOSY_ASSIGN_OR_RETURN(const Call call, session.prepare(placeholders(0, fleet_.members.size()), fetches));
    const std::int64_t batch = std::min<std::int64_t>(test.size(), 1000);
    ARGOSY_ASSIGN_OR_RETURN(const auto loader,
                            data::Loader::open(test, {.batch = batch, .shuffle = false, .epochs = 1}));
    ARGOSY_ASSIGN_OR_RETURN(const auto fed, components(test, 0, fleet_.members.size()));
    std::vector<MetricState> states(fleet_.members.size());
    for (;;) {
      auto next = loader->next();
      if (!next.ok() && next.status().code() == Code::kOutOfRange) break;
      ARGOSY_RETURN_IF_ERROR(next.status());
      std::vector<Tensor> values(fetches.size());
      ARGOSY_RETURN_IF_ERROR(call->run(feeds(*next, fed), values));
      for (std::size_t k = 0; k < states.size(); ++k) {
        ARGOSY_ASSIGN_OR_RETURN(const double total, scalar_value(values[2 * k]));
        ARGOSY_ASSIGN_OR_RETURN(const double weight, scalar_value(values[2 * k + 1]));
        states[k].add(total, weight);
      }
    }
    for (const MetricState& s : states) outcome.metrics.push_back(s.value());
    return ok_status();
  }

  const EnsembleOptions& options_;
  const Fleet& fleet_;
};

bool same(const Outcome& a, const Outcome& b) {
  if (a.losses != b.losses || a.variables.size() != b.variables.size()) return false;
  for (std::size_t i = 0; i < a.variables.size(); ++i) {
    const Tensor &x = a.variables[i], &y = b.variables[i];
    if (x.dtype() != y.dtype() || x.shape() != y.shape() || std::memcmp(x.raw(), y.raw(), x.bytes()) != 0) return false;
  }
  return true;
}

// Returns the samples per second of consecutive intervals with equally many steps.
std::vector<double> stretches(const std::vector<double>& by_step, double samples_a_step) {
  constexpr std::size_t kStretches = 5;
  const std::size_t each = by_step.size() / kStretches;
  std::vector<double> rates;
  for (std::size_t s = 0; each > 0 && s < kStretches; ++s) {
    double seconds = 0;
    for (std::size_t i = s * each; i < (s + 1) * each; ++i) seconds += by_step[i];
    rates.push_back(seconds > 0 ? samples_a_step * static_cast<double>(each) / seconds : 0);
  }
  return rates;
}

Comparison speed_of(const EnsembleOptions& options, const Outcome& together, const Outcome& one_by_one,
                    std::size_t devices) {
  const std::size_t models = options.models.size();
  const double samples = static_cast<double>(options.batch) * static_cast<double>(models);
  InterleavedRates measured{.one = stretches(one_by_one.by_step, samples),
                            .many = stretches(together.by_step, samples),
                            .use = together.use.others > one_by_one.use.others ? together.use : one_by_one.use,
                            .cores = static_cast<double>(available_cores()),
                            .seconds = std::max(together.trained, one_by_one.trained)};
  return compare(measured, static_cast<double>(std::min(models, devices)), "one after another", "side by side");
}

}  // namespace

double EnsembleReport::speedup() const {
  return speed.not_measured.empty() ? speed.speedup.middle : std::numeric_limits<double>::quiet_NaN();
}

Result<EnsembleReport> train_ensemble(const EnsembleOptions& options, const data::Dataset& train,
                                      const data::Dataset* test) {
  if (options.models.empty()) return invalid_argument("an ensemble needs at least one model");
  EnsembleReport report;
  ARGOSY_ASSIGN_OR_RETURN(report.devices, chosen_devices(options.devices));
  ARGOSY_ASSIGN_OR_RETURN(const Fleet fleet, build(options, report.devices));
  Runner runner(options, fleet);
  ARGOSY_ASSIGN_OR_RETURN(const Outcome together, runner.run(train, test, true));
  ARGOSY_ASSIGN_OR_RETURN(const Outcome one_by_one, runner.run(train, nullptr, false));
  report.peak_bytes = together.peak_bytes;
  report.planned_bytes = together.planned_bytes;
  report.placement = together.placement;
  report.side_by_side_seconds = together.seconds;
  if (together.seconds > 0) {
    const auto examples = static_cast<double>(options.batch * std::max<std::int64_t>(options.steps - 1, 1));
    report.samples_per_second = examples * static_cast<double>(options.models.size()) / together.seconds;
  }
  report.one_after_another_seconds = one_by_one.seconds;
  report.speed = speed_of(options, together, one_by_one, report.devices.size());
  report.identical = same(together, one_by_one);
  for (std::size_t k = 0; k < fleet.members.size(); ++k) {
    const Fleet::Member& m = fleet.members[k];
    EnsembleReport::Member member{
        .scope = m.scope, .device = m.device.name.short_string(), .losses = together.losses[k]};
    for (const VariableNode& v : m.variables) {
      member.variables.emplace_back(v.ref.node_name().substr(m.scope.size() + 1));
    }
    if (k < together.metrics.size()) member.accuracy = together.metrics[k];
    report.members.push_back(std::move(member));
  }
  return report;
}

}  // namespace argosy
