// make_plan: the fastest strategy that fits, or the plan of a given one.
//
//   candidates ──► compile each ──► memory (certificate) ──► fits? ──► simulate ──► the fastest
//                                                 ▲                       ▲
//                            caps of the devices ─┘      probes, rates ───┘   measured on these devices
//
// Same devices, same measurements, same plan. Of two that are about as fast the simpler one is taken.
#pragma once

#include "argosy/data/dataset.h"
#include "argosy/planner/machine_rates.h"
#include "argosy/planner/plan.h"
#include "argosy/planner/plan_subject.h"
#include "argosy/train/loop/trainer.h"

namespace argosy {

// What a plan may take, and what else it is asked for.
struct PlanOptions {
  double probe_seconds = 0.45;          // for steps of the model on single devices
  double search_seconds = 0.35;         // for candidates beyond the plain ones
  std::vector<std::string> nodes = {};  // of the model: to be explained in Plan::asked
};

// Of whom, and for what.
struct PlanRequest {
  std::vector<DeviceSpec> devices = {};             // that a plan may use
  std::shared_ptr<DeviceSet> device_set = nullptr;  // that they are in
  // `automatic` chooses among all candidates, else this one's plan is made and the others are its alternatives.
  StrategySpec strategy = {};
  bool all_or_one = false;              // no candidate but the plain ones of all devices, and of one
  const MachineRates* rates = nullptr;  // of these devices, where they are known; null: they are measured
};

// The errors are those below, and the subject's.
Result<Plan> make_plan(PlanSubject& subject, const PlanRequest& request, const PlanOptions& how = {});

// `options`: as for a training; strategy.automatic chooses among all candidates, else the strategy's plan is made and
// the others are its alternatives. `data`: examples for the probing steps; it also bounds the batch.
//
// INVALID_ARGUMENT ARG-SHARD-002: the strategy is for other devices. RESOURCE_EXHAUSTED ARG-MEM-002: it does
// not fit, or nothing does. NOT_FOUND ARG-SHARD-005: no such node. Further errors are those of Trainer::make().
Result<Plan> make_plan(const ModelBuilder& model, const TrainerOptions& options, const data::Dataset& data,
                       const PlanOptions& how = {});

// The request for the plan's devices alone: what to train with.
DeviceRequest request_of(const Plan& plan, const DeviceRequest& asked);

}  // namespace argosy
