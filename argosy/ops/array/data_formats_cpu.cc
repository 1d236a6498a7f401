#include <algorithm>

#include "argosy/ops/array/array_registration.h"

namespace argosy {

namespace {

class DataFormat final : public Kernel {
 public:
  DataFormat(std::string op, std::vector<int> to, std::string src, std::string dst)
      : op_(std::move(op)), to_(std::move(to)), src_(std::move(src)), dst_(std::move(dst)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const std::string& src = init.attrs.get_string("src_format");
    const std::string& dst = init.attrs.get_string("dst_format");
    ARGOSY_ASSIGN_OR_RETURN(std::vector<int> to, format_permutation(init.op.name, src, dst));
    return std::unique_ptr<Kernel>(std::make_unique<DataFormat>(init.op.name, std::move(to), src, dst));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    return dispatch<IndexTypes>(x.dtype(), op_, [&]<typename T>() -> Status {
      return op_ == "DataFormatDimMap" ? map<T>(c, x) : permute<T>(c, x);
    });
  }

 private:
  template <typename T>
  Status map(KernelContext& c, const Tensor& x) {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const auto n = static_cast<T>(to_.size());
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const T axis = x.data<T>()[i];
      y->data<T>()[i] = static_cast<T>(to_[static_cast<std::size_t>((axis % n + n) % n)]);
    }
    return ok_status();
  }

  template <typename T>
  Status permute(KernelContext& c, const Tensor& x) {
    const int rank = x.shape().rank();
    const auto all = static_cast<std::int64_t>(to_.size());
    if (rank < 1 || rank > 2 || (x.shape()[0] != all && x.shape()[0] != all - 2) || (rank == 2 && x.shape()[1] != 2)) {
      return invalid_argument(op_, ": the input must have ", all, " or ", all - 2, " elements, or pairs, not shape ",
                              x.shape());
    }
    // Of the spatial axes alone: their order among each other.
    std::string src = src_, dst = dst_;
    if (x.shape()[0] != all) {
      for (std::string* s : {&src, &dst}) std::erase_if(*s, [](char letter) { return letter == 'N' || letter == 'C'; });
      if (static_cast<std::int64_t>(src.size()) != all - 2 || static_cast<std::int64_t>(dst.size()) != all - 2) {
        return invalid_argument(op_, ": formats ", src_, " and ", dst_, " do not name N and C");
      }
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    const std::int64_t width = rank == 2 ? 2 : 1;
    for (std::size_t i = 0; i < src.size(); ++i) {
      const auto at = static_cast<std::int64_t>(dst.find(src[i]));
      std::copy_n(x.data<T>() + static_cast<std::int64_t>(i) * width, width, y->data<T>() + at * width);
    }
    return ok_status();
  }

  const std::string op_;
  const std::vector<int> to_;
  const std::string src_, dst_;
};

}  // namespace

void add_data_formats(KernelRegistry& kernels) {
  kernels.add("DataFormatDimMap", "cpu", DataFormat::make);
  kernels.add("DataFormatVecPermute", "cpu", DataFormat::make);
}

}  // namespace argosy
