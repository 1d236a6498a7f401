#include <algorithm>

#include "argosy/base/mutex.h"
#include "argosy/formats/events/events.h"
#include "argosy/formats/events/summary.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/attr_kernel.h"

namespace argosy {

namespace {

// What the handle names. Its file comes and goes.
class SummaryFile final : public Resource {
 public:
  explicit SummaryFile(std::string name) : name_(std::move(name)) {}
  std::string describe() const override { return str_cat("summary writer '", name_, "'"); }

  // A second file is not opened.
  Status open(const std::string& folder, const tf::EventWriterOptions& options) {
    MutexLock lock(mutex_);
    if (file_ != nullptr) return ok_status();
    ARGOSY_ASSIGN_OR_RETURN(file_, tf::EventWriter::open(folder, options));
    return ok_status();
  }
  // Null: there was none.
  std::shared_ptr<tf::EventWriter> close() {
    MutexLock lock(mutex_);
    return std::exchange(file_, nullptr);
  }
  Result<std::shared_ptr<tf::EventWriter>> file() const {
    MutexLock lock(mutex_);
    if (file_ == nullptr) {
      return not_found("Resource ", name_,
                       " (SummaryWriterInterface) does not exist: no file was opened, or it was closed")
          .with_hint("run CreateSummaryFileWriter first");
    }
    return file_;
  }

 private:
  const std::string name_;
  mutable Mutex mutex_;
  std::shared_ptr<tf::EventWriter> file_ ARGOSY_GUARDED_BY(mutex_);
};

class MakeWriter final : public Kernel {
 public:
  explicit MakeWriter(const KernelInit& init) : named_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<MakeWriter>(init));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto file, named_.find_or_make<SummaryFile>(c.resources(), [&] {
      return std::make_shared<SummaryFile>(named_.name());
    }));
    c.set_output(0, named_.handle(std::move(file)));
    return ok_status();
  }

 private:
  NamedResource named_;
};

template <typename T>
Result<T> scalar_input(const KernelContext& c, int i, std::string_view what) {
  const Tensor& t = c.input(i);
  if (t.shape().rank() != 0) return invalid_argument(what, " must be scalar, not of shape ", t.shape());
  return *t.data<T>();
}

Result<std::shared_ptr<tf::EventWriter>> file_of(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto writer, c.resource<SummaryFile>(0));
  return writer->file();
}

Status create(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto writer, c.resource<SummaryFile>(0));
  ARGOSY_ASSIGN_OR_RETURN(std::string folder, scalar_input<std::string>(c, 1, "logdir"));
  ARGOSY_RETURN_IF_ERROR(scalar_input<std::int32_t>(c, 2, "max_queue").status());
  ARGOSY_ASSIGN_OR_RETURN(const std::int32_t millis, scalar_input<std::int32_t>(c, 3, "flush_millis"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string suffix, scalar_input<std::string>(c, 4, "filename_suffix"));
  // A part of the file's name, and of nothing else: the folder is what the policy has allowed.
  if (suffix.find('/') != std::string::npos || suffix.find('\0') != std::string::npos)
    return invalid_argument("filename_suffix \"", suffix, "\" must not contain '/' or zero bytes");
  ARGOSY_ASSIGN_OR_RETURN(folder, allowed_file(c, folder));
  return writer->open(folder, {.suffix = suffix, .flush_seconds = std::max(millis, 0) * 1e-3});
}

Status close(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto writer, c.resource<SummaryFile>(0));
  const auto file = writer->close();
  return file != nullptr ? file->flush() : writer->file().status();
}

Status flush(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto file, file_of(c));
  return file->flush();
}

// Writes what `made` gives as a summary of the step of input 1.
Status write(KernelContext& c, Result<std::string> made) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t step, scalar_input<std::int64_t>(c, 1, "step"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, std::move(made));
  ARGOSY_ASSIGN_OR_RETURN(const auto file, file_of(c));
  return file->summary(step, bytes);
}

Status tensor(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string tag, scalar_input<std::string>(c, 3, "tag"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string metadata, scalar_input<std::string>(c, 4, "summary_metadata"));
  return write(c, tf::tensor_summary(tag, c.input(2), metadata));
}

Status scalar(KernelContext& c) {
  ARGOSY_RETURN_IF_ERROR(scalar_input<std::string>(c, 2, "tag").status());
  if (c.input(3).shape().rank() != 0)
    return invalid_argument("value must be scalar, not of shape ", c.input(3).shape());
  return write(c, tf::scalar_summary(c.input(2), c.input(3)));
}

Status histogram(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string tag, scalar_input<std::string>(c, 2, "tag"));
  return write(c, tf::histogram_summary(tag, c.input(3), tag));
}

Status image(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string tag, scalar_input<std::string>(c, 2, "tag"));
  return write(c, tf::image_summary(tag, c.input(3), attrs.get_int("max_images"), c.input(4)));
}

Status audio(KernelContext& c, const AttrMap& attrs) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string tag, scalar_input<std::string>(c, 2, "tag"));
  ARGOSY_ASSIGN_OR_RETURN(const float rate, scalar_input<float>(c, 4, "sample_rate"));
  return write(c, tf::audio_summary(tag, c.input(3), rate, attrs.get_int("max_outputs")));
}

Status raw_summary(KernelContext& c) { return write(c, scalar_input<std::string>(c, 2, "tensor")); }

Status graph(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::int64_t step, scalar_input<std::int64_t>(c, 1, "step"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, scalar_input<std::string>(c, 2, "tensor"));
  ARGOSY_ASSIGN_OR_RETURN(const auto file, file_of(c));
  return file->graph_def(step, bytes);
}

Status import_event(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const std::string bytes, scalar_input<std::string>(c, 1, "event"));
  ARGOSY_ASSIGN_OR_RETURN(const auto file, file_of(c));
  return file->event(bytes);
}

}  // namespace

void add_kernels_cpu_summary_writer(KernelRegistry& kernels) {
  kernels.add("SummaryWriter", "cpu", MakeWriter::make);
  kernels.add("CreateSummaryFileWriter", "cpu", create);
  kernels.add("CloseSummaryWriter", "cpu", close);
  kernels.add("FlushSummaryWriter", "cpu", flush);
  kernels.add("WriteSummary", "cpu", tensor);
  kernels.add("WriteScalarSummary", "cpu", scalar);
  kernels.add("WriteHistogramSummary", "cpu", histogram);
  kernels.add("WriteImageSummary", "cpu", AttrKernel<image>::make);
  kernels.add("WriteAudioSummary", "cpu", AttrKernel<audio>::make);
  kernels.add("WriteGraphSummary", "cpu", graph);
  kernels.add("WriteRawProtoSummary", "cpu", raw_summary);
  kernels.add("ImportEvent", "cpu", import_event);
}

}  // namespace argosy
