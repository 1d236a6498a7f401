// Kernels: the features of Examples and SequenceExamples as tensors. One kernel serves all six ops (examples.h).
#include "argosy/ops/parsing/example_run.h"

namespace argosy {

namespace {

class ParseExamples final : public Kernel {
 public:
  explicit ParseExamples(const KernelInit& init) : op_(init.op), attrs_(init.attrs) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ParseExamples>(init));
  }
  Status run(KernelContext& c) override {
    examples::ExampleRun run(c, op_, attrs_);
    ARGOSY_RETURN_IF_ERROR(run.read());
    if (!run.sequence()) return parse_context(run, "");
    ARGOSY_RETURN_IF_ERROR(parse_context(run, "context_"));
    return parse_steps(run, "feature_list_");
  }

 private:
  const OpDef& op_;  // lives as long as its registry, which outlives kernels
  const AttrMap attrs_;
};

}  // namespace

void add_kernels_cpu_examples(KernelRegistry& kernels) {
  for (const char* op : {"ParseExample", "ParseExampleV2", "ParseSingleExample", "ParseSequenceExample",
                         "ParseSequenceExampleV2", "ParseSingleSequenceExample"}) {
    kernels.add(op, "cpu", ParseExamples::make);
  }
}

}  // namespace argosy
