#include <array>

#include "argosy/base/parallel.h"
#include "argosy/ops/array/parts.h"
#include "argosy/ops/array/windows.h"

namespace argosy {

namespace {

using Sizes = std::vector<std::int64_t>;

// Images are volumes one plane deep.
class ExtractPatches final : public Kernel {
 public:
  explicit ExtractPatches(const KernelInit& init)
      : op_(init.op.name),
        sizes_(init.attrs.get<Sizes>("ksizes")),
        strides_(init.attrs.get<Sizes>("strides")),
        rates_(init.attrs.get_or("rates", Sizes{1, 1, 1, 1, 1})),
        same_(init.attrs.get_string("padding") == "SAME") {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<ExtractPatches>(init));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const int axes = op_ == "ExtractVolumePatches" ? 3 : 2;
    if (x.shape().rank() != axes + 2) {
      return invalid_argument(op_, ": input must be ", axes + 2, "-dimensional, not ", x.shape());
    }
    std::array<Windows, 3> w;
    std::vector<std::int64_t> output = {x.shape()[0]};
    std::int64_t depth = x.shape().back();
    w[0] = {.size = 1};
    w[0].place(false);
    for (int i = 0; i < axes; ++i) {
      const auto k = static_cast<std::size_t>(i + 1);
      for (const Sizes* v : {&sizes_, &strides_, &rates_}) {
        if (static_cast<int>(v->size()) < axes + 2 || v->front() != 1 || v->back() != 1 || (*v)[k] < 1 ||
            (*v)[k] > (std::int64_t{1} << 31)) {
          return invalid_argument(op_, ": ksizes, strides and rates must be [1, n, …, 1] with n from 1 on");
        }
      }
      Windows& window = w[static_cast<std::size_t>(3 - axes + i)];
      window = {.size = x.shape()[i + 1], .window = sizes_[k], .stride = strides_[k], .rate = rates_[k]};
      window.place(same_);
      output.push_back(window.count);
      if (__builtin_mul_overflow(depth, window.window, &depth)) {
        return invalid_argument(op_, ": patches of so many elements do not exist");
      }
    }
    output.push_back(depth);
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(output));
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    if (y->elements() == 0) return ok_status();
    return dispatch_size(x.dtype(), op_, [&]<typename T>() {
      const std::int64_t per_batch = w[0].count * w[1].count * w[2].count;
      parallel_for(x.shape()[0] * per_batch, std::max<std::int64_t>(1, 16384 / depth),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) patch<T>(x, w, i, y->raw_as<T>() + i * depth);
                   });
      return ok_status();
    });
  }

 private:
  template <typename T>
  static void patch(const Tensor& x, const std::array<Windows, 3>& w, std::int64_t i, T* to) {
    const std::int64_t channels = x.shape().back();
    const std::int64_t at[3] = {i / w[2].count / w[1].count % w[0].count, i / w[2].count % w[1].count, i % w[2].count};
    const std::int64_t batch = i / w[2].count / w[1].count / w[0].count;
    const T* const from = x.raw_as<T>() + batch * w[0].size * w[1].size * w[2].size * channels;
    for (std::int64_t a = 0; a < w[0].window; ++a) {
      const std::int64_t p = w[0].at(at[0], a);
      for (std::int64_t b = 0; b < w[1].window; ++b) {
        const std::int64_t q = w[1].at(at[1], b);
        for (std::int64_t k = 0; k < w[2].window; ++k, to += channels) {
          const std::int64_t r = w[2].at(at[2], k);
          const bool inside = p >= 0 && p < w[0].size && q >= 0 && q < w[1].size && r >= 0 && r < w[2].size;
          if (inside) {
            std::copy_n(from + ((p * w[1].size + q) * w[2].size + r) * channels, channels, to);
          } else {
            std::fill_n(to, channels, T{});
          }
        }
      }
    }
  }

  const std::string op_;
  const Sizes sizes_, strides_, rates_;
  const bool same_;
};

}  // namespace

void add_array_patches(KernelRegistry& kernels) {
  kernels.add("ExtractImagePatches", "cpu", ExtractPatches::make);
  kernels.add("ExtractVolumePatches", "cpu", ExtractPatches::make);
}

}  // namespace argosy
