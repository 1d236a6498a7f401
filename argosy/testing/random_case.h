// Cases nobody thought of: random attributes, dtypes, shapes and values for any op, from sensible to hostile, the same
// for the same seed; and a way to run a kernel on them with memory that runs out.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "argosy/op/kernel/kernel.h"

namespace argosy {

struct RandomCase {
  const OpDef* op = nullptr;
  AttrMap attrs;               // complete where complete_attrs() would accept them
  std::vector<Tensor> inputs;  // references and resources: handles of variables
  std::string describe() const;
};

// Empty when the op cannot be asked this way (functions as attributes, unless given). Attributes in `fixed` are taken
// from there.
std::optional<RandomCase> random_case(const OpDef& op, std::uint64_t seed, const AttrMap& fixed = {});

// Host memory that refuses more than `limit` bytes at a time.
class LimitedAllocator final : public Allocator {
 public:
  explicit LimitedAllocator(std::size_t limit) : limit_(limit) {}
  Result<Buffer> allocate(std::size_t bytes) override;
  MemoryStats stats() const override { return {.limit_bytes = limit_}; }

 private:
  std::size_t limit_;
};

// The outputs of one run. `planned`: per output the memory to write to, as a step's memory plan gives it; or none.
// UNIMPLEMENTED where no kernel takes the case.
Result<std::vector<Tensor>> run_kernel(const RandomCase& c, const KernelRegistry& kernels, bool reference,
                                       const std::vector<Tensor>& planned = {});

// What the shape function says, with every `hidden`-th input size and integer (0: none) unknown to it, or all of the
// inputs (kAll): what it refuses then never becomes a node.
inline constexpr int kAll = -1;
struct Inferred {
  Status status;
  std::vector<PartialShape> shapes;
  std::vector<std::optional<PartialInts>> ints;
};
Inferred infer(const RandomCase& c, int hidden);

}  // namespace argosy
