// make_plan: the fastest strategy that fits, or the plan of a given one.
//
//   candidates ──► compile each ──► memory (certificate) ──► fits? ──► simulate ──► the fastest
//                                                 ▲                       ▲
//                            caps of the devices ─┘      probes, rates ───┘   measured on these devices
//
// The plan is a function of the devices and the measurements. Of two strategies within 2 % of each other, it takes the
// simpler one.
#pragma once

#include "argosy/data/dataset.h"
#include "argosy/planner/machine_rates.h"
#include "argosy/planner/plan.h"
#include "argosy/planner/plan_subject.h"
#include "argosy/train/loop/trainer.h"

namespace argosy {

// The time that planning may take, and nodes to be explained.
struct PlanOptions {
  double probe_seconds = 0.45;          // for trial steps on single devices
  double search_seconds = 0.35;         // for candidates; after it, only plain ones are tried if one fits
  std::vector<std::string> nodes = {};  // nodes of the model that Plan::asked explains
};

// The devices and the strategy of a plan.
struct PlanRequest {
  std::vector<DeviceSpec> devices = {};             // the devices that the plan may use
  std::shared_ptr<DeviceSet> device_set = nullptr;  // the set that has them
  // `automatic`: the planner chooses among all candidates. Else the plan is for this strategy, and candidates are its
  // alternatives.
  StrategySpec strategy = {};
  bool all_or_one = false;              // only two candidates: plain data parallelism on all devices, and on one
  const MachineRates* rates = nullptr;  // of these devices; null: they are measured
};

// Makes the plan. Errors are those of the other overload, and the subject's.
Result<Plan> make_plan(PlanSubject& subject, const PlanRequest& request, const PlanOptions& how = {});

// Makes the plan of a training with these `options`; options.strategy is used as PlanRequest::strategy is. `data`:
// examples for the trial steps; it also bounds the batch.
//
// INVALID_ARGUMENT ARG-SHARD-002: the strategy is for other devices. RESOURCE_EXHAUSTED ARG-MEM-002: it does
// not fit, or nothing does. NOT_FOUND ARG-SHARD-005: no such node. Further errors are those of Trainer::make().
Result<Plan> make_plan(const ModelBuilder& model, const TrainerOptions& options, const data::Dataset& data,
                       const PlanOptions& how = {});

// Returns `asked`, restricted to the plan's devices: the request to train with.
DeviceRequest request_of(const Plan& plan, const DeviceRequest& asked);

}  // namespace argosy
