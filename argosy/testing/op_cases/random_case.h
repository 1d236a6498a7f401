// Random cases: random attributes, dtypes, shapes and values for any op, from sensible to hostile, the same for the
// same seed. Also runs a kernel on them with limited memory.
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

// Empty when the op has attributes that cannot be drawn (functions, unless given). `fixed` sets attributes.
std::optional<RandomCase> random_case(const OpDef& op, std::uint64_t seed, const AttrMap& fixed = {});

// Host memory that refuses an allocation above `limit` bytes.
class LimitedAllocator final : public Allocator {
 public:
  explicit LimitedAllocator(std::size_t limit) : limit_(limit) {}
  Result<Buffer> allocate(std::size_t bytes) override;
  MemoryStats stats() const override { return {.limit_bytes = limit_}; }

 private:
  std::size_t limit_;
};

// The outputs of one run. `planned`: for each output the memory to write to, as a step's memory plan gives it, or none.
// UNIMPLEMENTED: no kernel accepts the case.
Result<std::vector<Tensor>> run_kernel(const RandomCase& c, const KernelRegistry& kernels, bool reference,
                                       const std::vector<Tensor>& planned = {});

// Calls the shape function, with every `hidden`-th input size and integer unknown (0: none), or all inputs unknown
// (kAll). An input that it refuses never becomes a node.
inline constexpr int kAll = -1;
struct Inferred {
  Status status;
  std::vector<PartialShape> shapes;
  std::vector<std::optional<PartialInts>> ints;
};
Inferred infer(const RandomCase& c, int hidden);

}  // namespace argosy
