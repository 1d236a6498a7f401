#include "argosy/planner/planner.h"

#include <algorithm>
#include <optional>

#include "argosy/base/clock.h"
#include "argosy/base/threads/parallel.h"
#include "argosy/planner/candidates.h"
#include "argosy/planner/machine_rates.h"
#include "argosy/planner/model_subject.h"
#include "argosy/planner/probe.h"
#include "argosy/planner/runners_up.h"
#include "argosy/planner/step_simulator.h"
#include "argosy/train/report/interleaved_rates.h"
#include "argosy/train/report/memory_check.h"
#include "argosy/train/report/step_cost.h"

namespace argosy {

namespace {

// A candidate that was compiled.
struct Evaluated {
  Candidate candidate;
  std::unique_ptr<CompiledCandidate> program;
  Tried tried;
};

class Planner {
 public:
  Planner(PlanSubject& subject, const PlanRequest& request, const PlanOptions& how)
      : subject_(subject),
        request_(request),
        how_(how),
        batch_(subject.batch()),
        devices_(request.devices),
        device_set_(request.device_set) {}

  Result<Plan> run() {
    if (!request_.strategy.file.empty()) {
      return invalid_argument("the strategy's file was not read").with_id("ARG-SHARD-001");
    }
    std::optional<Candidate> given;
    if (!request_.strategy.automatic) {
      ARGOSY_ASSIGN_OR_RETURN(given, candidate_of(request_.strategy, devices_));
    }
    CoreUseMeter cores;
    const std::int64_t began = now_nanos();
    ARGOSY_ASSIGN_OR_RETURN(probes_, Probes::run({.subject = subject_, .devices = devices_}, how_.probe_seconds));
    if (request_.rates != nullptr) {
      rates_ = *request_.rates;
    } else {
      ARGOSY_ASSIGN_OR_RETURN(rates_, MachineRates::measure(device_set_, devices_));
    }
    disturbed_ = disturbed(cores.read(), available_cores(), seconds_since(began));
    ARGOSY_RETURN_IF_ERROR(try_all(given));
    const std::optional<std::size_t> chosen = given ? std::optional<std::size_t>(0) : fastest();
    if (!chosen || !all_[*chosen].tried.impossible.empty()) return does_not_fit(chosen.value_or(largest()));
    return plan_of(all_[*chosen]);
  }

 private:
  // Tries the given candidate, then the plain ones, then others while there is time. Candidates with micro-batches are
  // tried only if nothing else fits.
  Status try_all(const std::optional<Candidate>& given) {
    const std::int64_t began = now_nanos();
    if (given) ARGOSY_RETURN_IF_ERROR(try_one(*given));
    for (const Candidate& c : others()) {
      if (given && c.strategy == given->strategy) continue;
      const bool plain = c.strategy.accumulate == 1 && c.strategy.zero == 0;
      if (c.strategy.accumulate > 1 && fastest()) continue;
      if (!plain && fastest() && seconds_since(began) > how_.search_seconds) {
        ++not_tried_;
        continue;
      }
      // One that this model or these options rule out does not keep the others from being chosen.
      const Status status = try_one(c);
      if (status.ok()) continue;
      Tried refused{.strategy = c.strategy,
                    .devices = static_cast<int>(c.devices.size()),
                    .predicted = {},
                    .bytes = 0,
                    .impossible = str_cat("is refused: ", status.message())};
      all_.push_back({.candidate = c, .program = nullptr, .tried = std::move(refused)});
    }
    // Not even one device: the error is the model's own.
    const bool none = std::all_of(all_.begin(), all_.end(), [](const Evaluated& e) { return e.program == nullptr; });
    return none ? try_one(candidates(devices_, batch_).front()) : ok_status();
  }

  // Returns all candidates; with `all_or_one`, only the plain ones on one device and on all.
  std::vector<Candidate> others() const {
    std::vector<Candidate> all = candidates(devices_, batch_);
    if (!request_.all_or_one) return all;
    std::erase_if(all, [&](const Candidate& c) {
      const bool extent = c.devices.size() == 1 || c.devices.size() == devices_.size();
      return !extent || c.strategy.accumulate > 1 || c.strategy.zero > 0;
    });
    return all;
  }

  Status try_one(const Candidate& c) {
    Evaluated e{.candidate = c, .program = nullptr, .tried = {}};
    e.tried.strategy = c.strategy;
    e.tried.devices = static_cast<int>(c.devices.size());
    ARGOSY_ASSIGN_OR_RETURN(e.program, subject_.compile(c, device_set_));
    ARGOSY_ASSIGN_OR_RETURN(const auto step, e.program->look());
    for (const MemoryForecast& f : step->info.forecast) note_memory(f, e.tried);
    if (e.tried.impossible.empty()) {
      ARGOSY_ASSIGN_OR_RETURN(e.tried.predicted, predict(*step, e.tried.devices, c.devices[0]));
    }
    all_.push_back(std::move(e));
    return ok_status();
  }

  void note_memory(const MemoryForecast& f, Tried& tried) const {
    const int d = device_set_->find(f.device);
    if (d < 0) return;
    const DeviceSpec& spec = device_set_->device(d).spec();
    if (spec.is_gpu() || device_set_->num_gpus() == 0) tried.bytes = std::max(tried.bytes, f.total_bytes());
    const std::uint64_t limit = usable_bytes(spec);
    if (limit == 0 || f.total_bytes() <= limit) return;
    tried.impossible = str_cat("does not fit: ", spec.said_name(), " needs ", format_bytes(f.total_bytes()),
                               " and may take ", format_bytes(limit));
  }

  Result<Prediction> predict(const Step& step, int devices, const DeviceSpec& first) const {
    const double slowdown = probes_.slowdown(devices);
    SimulatorOptions how{.kernel =
                             [&](const Node& n, const Graph& graph, int device) {
                               const Probed& probed = probes_.of(step.device_set->device(device).spec());
                               return slowdown * probed.ops.seconds(n.name, n.op->name, node_cost(graph, n));
                             },
                         .rates = &rates_,
                         .cores = available_cores()};
    ARGOSY_ASSIGN_OR_RETURN(const SimulatedStep all, simulate_step(step, how));
    how.free_collectives = true;
    ARGOSY_ASSIGN_OR_RETURN(const SimulatedStep no_collectives, simulate_step(step, how));
    how.free_collectives = false;
    how.free_copies = true;
    ARGOSY_ASSIGN_OR_RETURN(const SimulatedStep no_copies, simulate_step(step, how));
    Prediction p{.step_seconds = all.seconds + probes_.of(first).overhead + rates_.start_seconds(devices),
                 .spread = probes_.spread(),
                 .exposed_collectives = std::max(0.0, all.seconds - no_collectives.seconds),
                 .exposed_copies = std::max(0.0, all.seconds - no_copies.seconds),
                 .collectives = all.collective_seconds,
                 .compute = *std::max_element(all.busy_seconds.begin(), all.busy_seconds.end())};
    p.input = std::max(0.0, probes_.input_seconds() - p.step_seconds);
    p.step_seconds += p.input;
    p.samples_per_second = static_cast<double>(batch_) / p.step_seconds;
    return p;
  }

  // Returns the position of the candidate to choose; nullopt: none fits.
  std::optional<std::size_t> fastest() const {
    std::vector<Tried> tried;
    for (const Evaluated& e : all_) tried.push_back(e.tried);
    return fastest_that_fits(tried);
  }

  // Returns the position of the first candidate on all devices without micro-batches.
  std::size_t largest() const {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const Evaluated& e) {
      return e.candidate.devices.size() == devices_.size() && e.candidate.strategy.accumulate == 1;
    });
    return static_cast<std::size_t>(found - all_.begin());
  }

  Status does_not_fit(std::size_t position) const {
    Status status = all_[position].program != nullptr ? all_[position].program->check_memory() : ok_status();
    if (status.ok()) {
      status = resource_exhausted("batch ", batch_, " cannot be trained: ", all_[position].tried.impossible)
                   .with_id("ARG-MEM-002");
    }
    const auto other = fastest();
    if (!other) return status;
    return Status(status.code(), status.message())
        .with_id(std::string(status.id()))
        .with_hint(str_cat("--strategy auto (it takes ", all_[*other].tried.strategy.to_string(), ", which fits)"));
  }

  Result<Plan> plan_of(Evaluated& chosen) const {
    const DataParallel* const parallel = chosen.program->parallel();
    Plan plan{.strategy = chosen.candidate.strategy,
              .devices = chosen.candidate.devices,
              .devices_asked = static_cast<int>(devices_.size()),
              .batch = batch_,
              .replication = parallel != nullptr ? parallel->summary() : std::string(),
              .predicted = chosen.tried.predicted,
              .collectives = {},
              .whole = parallel != nullptr ? parallel->whole() : std::vector<PlannedWhole>(),
              .asked = {},
              .notes = parallel != nullptr ? parallel->notes() : std::vector<ReplicationNote>(),
              .memory = {},
              .alternatives = {},
              .not_tried = not_tried_};
    plan.predicted.disturbed = disturbed_;
    for (const std::string& node : how_.nodes) {
      ARGOSY_ASSIGN_OR_RETURN(PlannedNode told, chosen.program->planned(node));
      plan.asked.push_back(std::move(told));
    }
    const auto travels = parallel != nullptr ? parallel->collectives() : std::vector<PlannedCollective>();
    for (const PlannedCollective& c : travels) {
      PlannedTransfer transfer{c};
      const Travel travel = c.op == "reduce-scatter" ? Travel::kReduceScatter
                            : c.op == "all-gather"   ? Travel::kAllGather
                                                     : Travel::kAllReduce;
      if (c.bytes >= 0) {
        transfer.seconds = rates_.collective_seconds(travel, chosen.tried.devices, static_cast<double>(c.bytes));
      }
      plan.collectives.push_back(std::move(transfer));
    }
    ARGOSY_ASSIGN_OR_RETURN(const auto forecasts, chosen.program->forecast());
    for (const MemoryForecast& f : forecasts) {
      const int d = device_set_->find(f.device);
      plan.memory.push_back({.device = f.device.to_string(),
                             .bytes = f.total_bytes(),
                             .variables = f.variable_bytes,
                             .limit = d < 0 ? 0 : usable_bytes(device_set_->device(d).spec()),
                             .exact = f.exact});
    }
    std::vector<Tried> tried;
    for (const Evaluated& e : all_) tried.push_back(e.tried);
    plan.alternatives = runners_up(tried, chosen.tried);
    return plan;
  }

  PlanSubject& subject_;
  const PlanRequest& request_;
  const PlanOptions& how_;
  const std::int64_t batch_;
  const std::vector<DeviceSpec>& devices_;
  const std::shared_ptr<DeviceSet> device_set_;
  Probes probes_;
  MachineRates rates_;
  std::vector<Evaluated> all_;
  int not_tried_ = 0;
  std::string disturbed_;
};

}  // namespace

Result<Plan> make_plan(PlanSubject& subject, const PlanRequest& request, const PlanOptions& how) {
  return Planner(subject, request, how).run();
}

Result<Plan> make_plan(const ModelBuilder& model, const TrainerOptions& options, const data::Dataset& data,
                       const PlanOptions& how) {
  ModelSubject subject(model, options, data);
  PlanRequest request{.strategy = options.strategy};
  ARGOSY_ASSIGN_OR_RETURN(request.devices, chosen_devices(options.devices));
  ARGOSY_ASSIGN_OR_RETURN(request.device_set, DeviceSet::make(options.devices));
  return make_plan(subject, request, how);
}

DeviceRequest request_of(const Plan& plan, const DeviceRequest& asked) {
  DeviceRequest request = asked;
  request.devices.clear();
  for (const DeviceSpec& spec : plan.devices) {
    request.devices += (request.devices.empty() ? "" : ",") + spec.request_name();
  }
  return request;
}

}  // namespace argosy
