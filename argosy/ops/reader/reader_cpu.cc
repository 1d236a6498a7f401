#include "argosy/op/kernel/file_policy.h"
#include "argosy/op/kernel/step_context.h"
#include "argosy/op/state/named_resource.h"
#include "argosy/ops/list/tensor_list.h"
#include "argosy/ops/reader/reader_state.h"

namespace argosy {

namespace {

class Handle final : public Kernel {
 public:
  explicit Handle(const KernelInit& init) : op_(init.op.name), attrs_(init.attrs), place_(init) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_RETURN_IF_ERROR(record_format(init.op.name, init.attrs).status());
    return std::unique_ptr<Kernel>(std::make_unique<Handle>(init));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(auto format, record_format(op_, attrs_));
    ARGOSY_ASSIGN_OR_RETURN(auto reader, place_.find_or_make<Reader>(c.resources(), [&] {
      return std::make_shared<Reader>(std::move(format));
    }));
    c.set_output(0, place_.handle(std::move(reader)));
    return ok_status();
  }

 private:
  const std::string op_;
  const AttrMap attrs_;
  NamedResource place_;
};

template <bool kMany>
class Read final : public AsyncKernel {
 public:
  static Result<std::unique_ptr<Kernel>> make(const KernelInit&) {
    return std::unique_ptr<Kernel>(std::make_unique<Read>());
  }
  void run_async(KernelContext& c, Done done) override {
    const auto reader = c.resource<Reader>(0);
    if (!reader.ok()) return done(reader.status());
    const auto names = c.resource<QueueState>(1);
    if (!names.ok()) return done(names.status());
    std::int64_t most = 1;
    if (kMany) {
      const auto n = scalar_input(c.input(2), "num_records");
      if (!n.ok()) return done(n.status());
      if (*n <= 0) return done(invalid_argument("num_records must be positive, got ", *n));
      most = *n;
    }
    const QueueState::Caller caller{.cancellation = c.step() != nullptr ? &c.step()->cancellation() : nullptr,
                                    .memory = &c.allocator()};
    (*reader)->read({.names = *names,
                     .caller = caller,
                     .resolve = [&c](const std::string& name) { return allowed_file(c, name); },
                     .most = most,
                     .done =
                         [&c, done = std::move(done)](Status status, std::vector<Record> records) {
                           if (status.ok()) status = give(c, std::move(records));
                           done(std::move(status));
                         }});
  }

 private:
  static Status give(KernelContext& c, std::vector<Record> records) {
    const Shape shape = kMany ? Shape{static_cast<std::int64_t>(records.size())} : Shape{};
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const keys, c.output(0, shape));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const values, c.output(1, shape));
    for (std::size_t i = 0; i < records.size(); ++i) {
      keys->data<std::string>()[i] = std::move(records[i].first);
      values->data<std::string>()[i] = std::move(records[i].second);
    }
    return ok_status();
  }
};

template <std::int64_t (Reader::*kCount)()>
Status count(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto reader, c.resource<Reader>(0));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::int64_t>() = ((*reader).*kCount)();
  return ok_status();
}

Status state(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto reader, c.resource<Reader>(0));
  ARGOSY_ASSIGN_OR_RETURN(std::string bytes, reader->state());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::string>() = std::move(bytes);
  return ok_status();
}

Status restore(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto reader, c.resource<Reader>(0));
  if (c.input(1).dtype() != DType::kString || c.input(1).shape().rank() != 0) {
    return invalid_argument("Reader state must be scalar, but had shape: ", c.input(1).shape());
  }
  return reader->restore(*c.input(1).data<std::string>());
}

Status reset(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(const auto reader, c.resource<Reader>(0));
  reader->reset();
  return ok_status();
}

}  // namespace

void add_record_input(KernelRegistry& kernels);  // record_input_cpu.cc

void add_kernels_cpu_reader(KernelRegistry& kernels) {
  add_record_input(kernels);
  for (const char* v : {"", "V2"}) {
    for (const char* op :
         {"TextLineReader", "WholeFileReader", "FixedLengthRecordReader", "TFRecordReader", "IdentityReader"}) {
      kernels.add(str_cat(op, v), "cpu", Handle::make);
    }
    kernels.add(str_cat("ReaderRead", v), "cpu", Read<false>::make);
    kernels.add(str_cat("ReaderReadUpTo", v), "cpu", Read<true>::make);
    kernels.add(str_cat("ReaderNumRecordsProduced", v), "cpu", count<&Reader::records>);
    kernels.add(str_cat("ReaderNumWorkUnitsCompleted", v), "cpu", count<&Reader::files>);
    kernels.add(str_cat("ReaderSerializeState", v), "cpu", state);
    kernels.add(str_cat("ReaderRestoreState", v), "cpu", restore);
    kernels.add(str_cat("ReaderReset", v), "cpu", reset);
  }
}

}  // namespace argosy
