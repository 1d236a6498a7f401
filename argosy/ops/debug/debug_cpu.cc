#include <atomic>
#include <chrono>
#include <cstdio>

#include "argosy/base/log.h"
#include "argosy/op/state/session_op_state.h"
#include "argosy/ops/debug/first_values.h"

namespace argosy {

namespace {

class Assert final : public Kernel {
 public:
  explicit Assert(std::int64_t summarize) : summarize_(summarize) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Assert>(init.attrs.get_int("summarize")));
  }
  Status run(KernelContext& c) override {
    const Tensor& condition = c.input(0);
    if (condition.dtype() != DType::kBool || condition.shape().rank() != 0) {
      return invalid_argument("condition must be a bool scalar, not ", dtype_name(condition.dtype()),
                              condition.shape());
    }
    if (*condition.data<bool>()) return ok_status();
    std::string text = "assertion failed:";
    for (int i = 1; i < c.num_inputs(); ++i) text += str_cat(" [", first_values(c.input(i), summarize_), "]");
    return invalid_argument(text).with_id("ARG-ASSERT-001");
  }

 private:
  const std::int64_t summarize_;
};

struct Printed final : Resource {
  std::string describe() const override { return "lines printed"; }
  std::atomic<std::int64_t> lines{0};
};

class Print final : public Kernel {
 public:
  Print(const KernelInit& init, std::shared_ptr<Printed> printed)
      : message_(init.attrs.get_string("message")),
        first_n_(init.attrs.get_int("first_n")),
        summarize_(init.attrs.get_int("summarize")),
        printed_(std::move(printed)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(auto printed, session_op_state<Printed>(init, [] { return std::make_shared<Printed>(); }));
    return std::unique_ptr<Kernel>(std::make_unique<Print>(init, std::move(printed)));
  }
  Status run(KernelContext& c) override {
    if (first_n_ < 0 || printed_->lines.fetch_add(1) < first_n_) {
      std::string text = message_;
      for (int i = 1; i < c.num_inputs(); ++i) text += str_cat("[", first_values(c.input(i), summarize_), "]");
      text += "\n";
      std::fwrite(text.data(), 1, text.size(), stderr);
    }
    c.set_output(0, c.input(0));
    return ok_status();
  }

 private:
  const std::string message_;
  const std::int64_t first_n_, summarize_;
  const std::shared_ptr<Printed> printed_;
};

class PrintText final : public Kernel {
 public:
  PrintText(std::string stream, std::string end) : stream_(std::move(stream)), end_(std::move(end)) {}
  // TensorFlow's "file://…" is refused: a graph does not choose which files of this machine are written.
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& stream = init.attrs.get_string("output_stream");
    for (const char* known : {"stderr", "stdout", "log(info)", "log(warning)", "log(error)"}) {
      if (stream == known) {
        return std::unique_ptr<Kernel>(std::make_unique<PrintText>(stream, init.attrs.get_string("end")));
      }
    }
    return invalid_argument("PrintV2: there is no output stream \"", stream,
                            "\": stderr, stdout, log(info), log(warning) and log(error) there are");
  }
  Status run(KernelContext& c) override {
    if (c.input(0).shape().rank() != 0) {
      return invalid_argument("PrintV2: the text must be a scalar, not of shape ", c.input(0).shape());
    }
    const std::string& text = *c.input(0).data<std::string>();
    if (stream_ == "log(info)") {
      ARGOSY_LOG(kInfo, text);
    } else if (stream_ == "log(warning)") {
      ARGOSY_LOG(kWarning, text);
    } else if (stream_ == "log(error)") {
      ARGOSY_LOG(kError, text);
    } else {
      const std::string line = text + end_;
      std::FILE* const to = stream_ == "stdout" ? stdout : stderr;
      std::fwrite(line.data(), 1, line.size(), to);
      std::fflush(to);
    }
    return ok_status();
  }

 private:
  const std::string stream_, end_;
};

Status timestamp(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  *y->data<double>() = std::chrono::duration<double>(now).count();
  return ok_status();
}

}  // namespace

void add_kernels_cpu_debug(KernelRegistry& kernels) {
  kernels.add("Assert", "cpu", Assert::make);
  kernels.add("Print", "cpu", Print::make);
  kernels.add("PrintV2", "cpu", PrintText::make);
  kernels.add("Timestamp", "cpu", timestamp);
}

}  // namespace argosy
