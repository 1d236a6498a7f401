// Einsum as matrix products: each operand is brought into the order batch, rows, columns (its diagonals read, axes of
// its own summed), multiplied batch by batch, and the product put into the output's order.
#include <algorithm>
#include <complex>
#include <map>

#include "argosy/base/parallel.h"
#include "argosy/op/kernel.h"
#include "argosy/ops/einsum/equation.h"
#include "argosy/ops/matmul/gemm.h"

namespace argosy {

namespace {

using Ints = std::vector<std::int64_t>;
using Types =
    TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::complex<float>, std::complex<double>>;

// An axis of a loop over an operand: how far apart its elements are.
struct Axis {
  int label = 0;
  std::int64_t size = 1;
  std::int64_t stride = 0;
};
using Axes = std::vector<Axis>;

std::int64_t product(const Axes& axes) {
  std::int64_t n = 1;
  for (const Axis& a : axes) n *= a.size;
  return n;
}

// Calls fn(offset, i) for the elements of the axes in row-major order.
template <typename Fn>
void walk(const Axes& axes, Fn&& fn) {
  const std::int64_t n = product(axes);
  if (n == 0) return;
  Ints at(axes.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    fn(offset, i);
    for (std::size_t k = axes.size(); k-- > 0;) {
      offset += axes[k].stride;
      if (++at[k] < axes[k].size) break;
      offset -= axes[k].stride * axes[k].size;
      at[k] = 0;
    }
  }
}

bool row_major(const Axes& axes) {
  std::int64_t stride = 1;
  for (std::size_t k = axes.size(); k-- > 0;) {
    if (axes[k].size != 1 && axes[k].stride != stride) return false;
    stride *= axes[k].size;
  }
  return true;
}

bool has(const std::vector<int>& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// One operand: an axis per label, diagonals by adding strides up; broadcast axes of size 1 stand still.
Result<Axes> axes_of(const Shape& shape, const std::vector<int>& labels, int input,
                     std::map<int, std::int64_t>& sizes) {
  Axes axes;
  const std::vector<std::int64_t> strides = shape.strides();
  for (int k = 0; k < shape.rank(); ++k) {
    const int label = labels[static_cast<std::size_t>(k)];
    const auto [known, fresh] = sizes.emplace(label, shape[k]);
    if (!fresh && known->second != shape[k]) {
      if (label < einsum_parts::kFirstBroadcast || (known->second != 1 && shape[k] != 1)) {
        return invalid_argument("Einsum: expected size ", known->second, " at axis ", k, " of input ", input,
                                " of shape ", shape);
      }
      if (known->second == 1) known->second = shape[k];
    }
    const auto same = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.label == label; });
    if (same == axes.end()) {
      axes.push_back({label, shape[k], strides[static_cast<std::size_t>(k)]});
    } else {
      same->stride += strides[static_cast<std::size_t>(k)];
    }
  }
  return axes;
}

// Elements in memory of their own, or the input's where they lie right already.
template <typename T>
struct Matrices {
  const T* data = nullptr;
  Buffer memory;
};

// The operand in the order of `outer`, each element summed over `inner`.
template <typename T>
Result<Matrices<T>> arrange(KernelContext& c, const T* from, const Axes& outer, const Axes& inner) {
  if (inner.empty() && row_major(outer)) return Matrices<T>{from, {}};
  Matrices<T> m;
  ARGOSY_ASSIGN_OR_RETURN(m.memory, c.scratch(static_cast<std::size_t>(product(outer)) * sizeof(T)));
  T* const to = reinterpret_cast<T*>(m.memory.data());
  m.data = to;
  using Sum = typename internal::Accumulator<T>::type;
  walk(outer, [&](std::int64_t offset, std::int64_t i) {
    if (inner.empty()) {
      to[i] = from[offset];
      return;
    }
    Sum sum{};
    walk(inner, [&](std::int64_t more, std::int64_t) { sum += static_cast<Sum>(from[offset + more]); });
    to[i] = static_cast<T>(sum);
  });
  return m;
}

Axes joined(Axes a, const Axes& b, const Axes& c = {}) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

class Einsum final : public Kernel {
 public:
  Einsum(std::string equation, bool plain) : equation_(std::move(equation)), plain_(plain) {}
  template <bool kPlain>
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Einsum>(init.attrs.get_string("equation"), kPlain));
  }

  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const einsum_parts::Equation equation, einsum_parts::parse(equation_, c.num_inputs()));
    std::vector<int> ranks;
    for (int i = 0; i < c.num_inputs(); ++i) ranks.push_back(c.input(i).shape().rank());
    ARGOSY_ASSIGN_OR_RETURN(const einsum_parts::Labels labels, einsum_parts::label_axes(equation, ranks));
    Call call;
    for (int i = 0; i < c.num_inputs(); ++i) {
      ARGOSY_ASSIGN_OR_RETURN(call.operands[i],
                              axes_of(c.input(i).shape(), labels.inputs[static_cast<std::size_t>(i)], i, call.sizes));
    }
    call.labels = &labels;
    Ints sizes;
    for (const int label : labels.output) sizes.push_back(call.sizes.at(label));
    ARGOSY_ASSIGN_OR_RETURN(const Shape shape, Shape::make(sizes));
    return dispatch<Types>(c.input(0).dtype(), "Einsum", [&]<typename T>() -> Status {
      ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
      if (y->elements() == 0) return ok_status();
      return multiply<T>(c, call, *y);
    });
  }

 private:
  struct Call {
    const einsum_parts::Labels* labels = nullptr;
    std::map<int, std::int64_t> sizes;
    Axes operands[2];
  };

  template <typename T>
  Status multiply(KernelContext& c, const Call& call, const Tensor& y) {
    const std::vector<int>& output = call.labels->output;
    const bool two = c.num_inputs() == 2;
    const auto in = [](const Axes& axes, int label) {
      return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.label == label; });
    };
    // Batch and free axes in the output's order, so that it needs no putting in order where that can be.
    Axes batch[2], free[2], shared[2], own[2];
    std::vector<int> seen;
    for (const int label : output) {
      if (has(seen, label)) continue;
      seen.push_back(label);
      const bool both = two && in(call.operands[0], label) && in(call.operands[1], label);
      for (int i = 0; i < c.num_inputs(); ++i) {
        for (const Axis& a : call.operands[i]) {
          if (a.label == label) (both ? batch : free)[i].push_back(a);
        }
      }
    }
    for (int i = 0; i < c.num_inputs(); ++i) {
      for (const Axis& a : call.operands[i]) {
        if (has(output, a.label)) continue;
        const bool both = two && in(call.operands[1 - i], a.label);
        if (!both) own[i].push_back(a);
        if (both && i == 0) shared[0].push_back(a);
      }
    }
    for (const Axis& a : shared[0]) {
      for (const Axis& b : call.operands[1]) {
        if (b.label == a.label) shared[1].push_back(b);
      }
    }
    Axes product_axes;
    for (const Axis& a : batch[0]) product_axes.push_back({a.label, call.sizes.at(a.label), 0});
    product_axes = joined(product_axes, free[0], free[1]);
    const T* const x0 = c.input(0).data<T>();
    ARGOSY_ASSIGN_OR_RETURN(const auto a, arrange(c, x0, joined(batch[0], free[0], shared[0]), own[0]));
    if (!two) return place(c, a.data, product_axes, output, y);
    const T* const x1 = c.input(1).data<T>();
    // The second operand either way round, whichever it lies in already.
    const Axes turned = joined(batch[1], free[1], shared[1]);
    const bool transposed = own[1].empty() && row_major(turned);
    ARGOSY_ASSIGN_OR_RETURN(const auto b,
                            arrange(c, x1, transposed ? turned : joined(batch[1], shared[1], free[1]), own[1]));
    const Gemm g{.transpose_b = transposed, .m = product(free[0]), .n = product(free[1]), .k = product(shared[0])};
    const bool in_order = row_major(target_axes(product_axes, output, y.shape()));
    T* to = y.data<T>();
    Buffer memory;
    if (!in_order) {
      ARGOSY_ASSIGN_OR_RETURN(memory, c.scratch(static_cast<std::size_t>(product(product_axes)) * sizeof(T)));
      to = reinterpret_cast<T*>(memory.data());
    }
    ARGOSY_RETURN_IF_ERROR(products(c, g, batch, call, a.data, b.data, to));
    return in_order ? ok_status() : place(c, to, product_axes, output, y);
  }

  // Every pair of the batch; axes of size 1 go with all.
  template <typename T>
  Status products(KernelContext& c, const Gemm& g, const Axes* batch, const Call& call, const T* a, const T* b, T* to) {
    Axes at[2];
    for (int i = 0; i < 2; ++i) {
      std::int64_t stride = i == 0 ? g.m * g.k : g.k * g.n;
      at[i] = batch[i];
      for (std::size_t k = at[i].size(); k-- > 0;) {
        at[i][k].stride = at[i][k].size == 1 ? 0 : stride;
        stride *= at[i][k].size;
        at[i][k].size = call.sizes.at(at[i][k].label);
      }
    }
    Ints second;
    walk(at[1], [&](std::int64_t offset, std::int64_t) { second.push_back(offset); });
    Status status;
    walk(at[0], [&](std::int64_t offset, std::int64_t i) {
      if (!status.ok()) return;
      status = one(c, g, a + offset, b + second[static_cast<std::size_t>(i)], to + i * g.m * g.n);
    });
    return status;
  }

  template <typename T>
  Status one(KernelContext& c, const Gemm& g, const T* a, const T* b, T* to) {
    if constexpr (is_floating(dtype_of<T>())) {
      if (!plain_ && g.k > 0) return gemm(c, programs_, g, a, b, nullptr, FusedOps{}, to);
    }
    const std::int64_t grain = std::max<std::int64_t>(1, 20000 / (g.n * g.k + 1));
    parallel_for(g.m, grain,
                 [&](std::int64_t begin, std::int64_t end) { gemm_rows<T, T, T>(g, a, b, to, begin, end); });
    return ok_status();
  }

  // The product's axes with their strides in the output; a letter named twice there runs along the diagonal.
  static Axes target_axes(Axes axes, const std::vector<int>& output, const Shape& shape) {
    const std::vector<std::int64_t> strides = shape.strides();
    for (Axis& a : axes) {
      a.stride = 0;
      for (std::size_t k = 0; k < output.size(); ++k) {
        if (output[k] == a.label) a.stride += strides[k];
      }
    }
    return axes;
  }

  template <typename T>
  static Status place(KernelContext&, const T* from, const Axes& axes, const std::vector<int>& output,
                      const Tensor& y) {
    T* const to = y.data<T>();
    const Axes target = target_axes(axes, output, y.shape());
    if (product(axes) != y.elements()) std::fill_n(to, y.elements(), T{});  // beside the diagonal
    walk(target, [&](std::int64_t offset, std::int64_t i) { to[offset] = from[i]; });
    return ok_status();
  }

  const std::string equation_;
  const bool plain_;
  MatMulPrograms programs_{onednn::make_matmul};
};

}  // namespace

void add_kernels_cpu_einsum(KernelRegistry& kernels) {
  kernels.add("Einsum", "cpu", Einsum::make<false>);
  kernels.add("Einsum", "cpu", Einsum::make<true>);
}

}  // namespace argosy
