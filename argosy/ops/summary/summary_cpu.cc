#include "argosy/formats/events/summary.h"
#include "argosy/op/kernel/kernel.h"

namespace argosy {

namespace {

Status give(KernelContext& c, Result<std::string> summary) {
  ARGOSY_ASSIGN_OR_RETURN(std::string bytes, std::move(summary));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::string>() = std::move(bytes);
  return ok_status();
}

// Input 0, a scalar string.
Result<std::string> tag_input(const KernelContext& c) {
  const Tensor& t = c.input(0);
  if (t.dtype() != DType::kString || t.shape().rank() != 0) {
    return invalid_argument("tag must be scalar, not of shape ", t.shape());
  }
  return *t.data<std::string>();
}

Status scalar(KernelContext& c) {
  if (c.input(0).dtype() != DType::kString) return invalid_argument("tags must be strings");
  return give(c, tf::scalar_summary(c.input(0), c.input(1)));
}

Status histogram(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string tag, tag_input(c));
  return give(c, tf::histogram_summary(tag, c.input(1), c.node()));
}

class Image final : public Kernel {
 public:
  explicit Image(const AttrMap& attrs) : most_(attrs.get_int("max_images")), bad_(attrs.get<Tensor>("bad_color")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Image>(init.attrs));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::string tag, tag_input(c));
    return give(c, tf::image_summary(tag, c.input(1), most_, bad_));
  }

 private:
  const std::int64_t most_;
  const Tensor bad_;
};

class Audio final : public Kernel {
 public:
  Audio(std::int64_t most, float rate) : most_(most), rate_(rate) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<Audio>(init.attrs.get_int("max_outputs"), init.attrs.get_or("sample_rate", 0.0f)));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::string tag, tag_input(c));
    float rate = rate_;
    if (c.num_inputs() > 2) {
      if (c.input(2).dtype() != DType::kFloat32 || c.input(2).elements() != 1) {
        return invalid_argument("sample_rate must be one float, not ", dtype_name(c.input(2).dtype()),
                                c.input(2).shape());
      }
      rate = *c.input(2).data<float>();
    }
    if (c.input(1).dtype() != DType::kFloat32) return invalid_argument("sounds must be float");
    return give(c, tf::audio_summary(tag, c.input(1), rate, most_));
  }

 private:
  const std::int64_t most_;
  const float rate_;
};

Status merge(KernelContext& c) {
  std::vector<std::string> all;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).dtype() != DType::kString) return invalid_argument("input ", i, " is no summary");
    const auto some = c.input(i).values<std::string>();
    all.insert(all.end(), some.begin(), some.end());
  }
  return give(c, tf::merged_summary(all));
}

Status tensor(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string tag, tag_input(c));
  const Tensor& metadata = c.input(2);
  if (metadata.dtype() != DType::kString || metadata.shape().rank() != 0) {
    return invalid_argument("serialized_summary_metadata must be scalar, not of shape ", metadata.shape());
  }
  return give(c, tf::tensor_summary(tag, c.input(1), *metadata.data<std::string>()));
}

Status tensor_of_node(KernelContext& c) { return give(c, tf::node_tensor_summary(c.node(), c.input(0))); }

}  // namespace

void add_kernels_cpu_summary(KernelRegistry& kernels) {
  kernels.add("ScalarSummary", "cpu", scalar);
  kernels.add("HistogramSummary", "cpu", histogram);
  kernels.add("ImageSummary", "cpu", Image::make);
  kernels.add("AudioSummary", "cpu", Audio::make);
  kernels.add("AudioSummaryV2", "cpu", Audio::make);
  kernels.add("MergeSummary", "cpu", merge);
  kernels.add("TensorSummaryV2", "cpu", tensor);
  kernels.add("TensorSummary", "cpu", tensor_of_node);
}

}  // namespace argosy
