// Helpers of benchmarks on real GPUs: their links, what a GPU's products cost, sums over GPUs.
#pragma once

#include "argosy/device/link_facts.h"
#include "tools/argosy/bench/bench.h"

namespace argosy::cli {

// Whether the first device of the request is a real GPU.
Result<bool> names_real_gpus(const DeviceRequest& request);

// The emulated GPUs of a benchmark without real ones: what --emulate says (at least `least` of them), else `count`.
// INVALID_ARGUMENT where --devices names something else.
Result<std::string> emulated_gpus(const DeviceRequest& request, int least, int count);

// The links between the machine's GPUs, measured now.
GpuLinks links_of_gpus(const DeviceRequest& request);
// The measured rate from one device to another, in bytes per second: GPUs, or the CPU for the host's memory. nullopt:
// both are devices of one physical GPU, or the link was not measured.
std::optional<double> link_limit(const GpuLinks& links, const DeviceSpec& from, const DeviceSpec& to);

// GFLOP/s of products of n x n matrices on one GPU, without overhead: from the difference in time between a longer and
// a shorter chain of them. `dtype`: float32 or bfloat16.
Result<double> gpu_matmul_rate(const DeviceRequest& request, const DeviceSpec& gpu, std::int64_t n,
                               DType dtype = DType::kFloat32);

// All-reduce of 64 KiB to `most_kib` over the GPUs chosen (the first `ranks` of them; 0: all).
Result<BenchResult> bench_gpu_sums(const DeviceRequest& request, int ranks, std::size_t most_kib, Console& console);

}  // namespace argosy::cli
