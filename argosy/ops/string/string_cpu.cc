#include <algorithm>
#include <cstdio>

#include "argosy/base/threads/interrupt.h"
#include "argosy/op/kernel/kernel.h"
#include "argosy/ops/string/made_strings.h"
#include "argosy/ops/string/string_registration.h"
#include "argosy/ops/string/summarize.h"
#include "argosy/tensor/ints.h"

namespace argosy {

namespace {

class StringJoin final : public Kernel {
 public:
  explicit StringJoin(std::string separator) : separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<StringJoin>(init.attrs.get_string("separator")));
  }
  Status run(KernelContext& c) override {
    Shape shape;
    for (int i = 0; i < c.num_inputs(); ++i) {
      const Shape& x = c.input(i).shape();
      if (x.rank() == 0) continue;
      if (shape.rank() != 0 && x != shape) {
        return invalid_argument("StringJoin: inputs of shapes ", shape, " and ", x);
      }
      shape = x;
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, shape));
    const auto part = [&](int i, std::int64_t k) -> const std::string& {
      const Tensor& x = c.input(i);
      return x.data<std::string>()[x.shape().rank() == 0 ? 0 : k];
    };
    Poll poll(64);
    MadeStrings made;
    for (std::int64_t k = 0; k < shape.elements(); ++k) {
      poll();
      std::size_t bytes = 0;
      for (int i = 0; i < c.num_inputs(); ++i) bytes += part(i, k).size() + (i > 0 ? separator_.size() : 0);
      std::string joined;
      ARGOSY_RETURN_IF_ERROR(made.reserve(joined, bytes));
      for (int i = 0; i < c.num_inputs(); ++i) {
        if (i > 0) joined += separator_;
        joined += part(i, k);
      }
      y->data<std::string>()[k] = std::move(joined);
    }
    return ok_status();
  }

 private:
  std::string separator_;
};

// "%08.2f" and its like, made once.
class AsString final : public Kernel {
 public:
  AsString(std::string flags, char letter) : flags_(std::move(flags)), letter_(letter) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    const DType dtype = init.input_dtypes[0];
    const bool scientific = init.attrs.get_bool("scientific"), shortest = init.attrs.get_bool("shortest");
    const std::int64_t precision = init.attrs.get_int("precision"), width = init.attrs.get_int("width");
    const std::string& fill = init.attrs.get_string("fill");
    if (scientific && shortest) return invalid_argument("AsString: scientific and shortest exclude each other");
    const bool takes_precision = is_floating(dtype) || is_complex(dtype) || dtype == DType::kString;
    if (!takes_precision && (scientific || shortest || precision > -1)) {
      return invalid_argument("AsString: precision, scientific and shortest are for floating numbers, not ",
                              dtype_name(dtype));
    }
    constexpr std::int64_t kMost = 4096;
    if (precision > kMost || width > kMost) {
      return invalid_argument("AsString: width ", width, " and precision ", precision, " may not exceed ", kMost);
    }
    if (fill.size() > 1 || (fill.size() == 1 && std::string_view(" +-0#").find(fill[0]) == std::string_view::npos)) {
      return invalid_argument("AsString: fill may be one of \" +-0#\", not \"", fill, "\"");
    }
    std::string flags = "%" + fill;
    if (width > -1) flags += std::to_string(width);
    if (dtype == DType::kString && width <= 0) flags = "";  // as it is
    if (precision > -1 && !flags.empty()) flags += "." + std::to_string(precision);
    return std::unique_ptr<Kernel>(std::make_unique<AsString>(flags, shortest ? 'g' : scientific ? 'e' : 'f'));
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, x.shape()));
    std::string* const to = y->data<std::string>();
    using Types = TypeList<float, double, bfloat16, float16, std::int32_t, std::int64_t, std::uint8_t, std::int8_t,
                           std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, std::complex<float>,
                           std::complex<double>, bool, std::string>;
    return dispatch<Types>(x.dtype(), "AsString", [&]<typename T>() {
      Poll poll(256);
      MadeStrings made;
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        poll();
        if constexpr (std::is_same_v<T, std::string>) {
          ARGOSY_RETURN_IF_ERROR(made.room(static_cast<std::int64_t>(x.data<T>()[i].size())));
        }
        std::string printed = text(x.data<T>()[i]);
        ARGOSY_RETURN_IF_ERROR(made.add(static_cast<std::int64_t>(printed.capacity())));
        to[i] = std::move(printed);
      }
      return ok_status();
    });
  }

 private:
  template <typename... Args>
  static std::string print(const std::string& format, Args... args) {
    const int length = std::snprintf(nullptr, 0, format.c_str(), args...);
    std::string out(static_cast<std::size_t>(std::max(length, 0)), '\0');
    std::snprintf(out.data(), out.size() + 1, format.c_str(), args...);
    return out;
  }
  template <typename T>
  std::string text(const T& value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::string>) {
      return flags_.empty() ? value : print(flags_ + "s", value.c_str());
    } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      const std::string one = flags_ + letter_;
      return print("(" + one + "," + one + ")", static_cast<double>(value.real()), static_cast<double>(value.imag()));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return print(flags_ + "lld", static_cast<long long>(value));
    } else if constexpr (std::is_integral_v<T>) {
      return print(flags_ + "llu", static_cast<unsigned long long>(value));
    } else if constexpr (std::is_same_v<T, double>) {
      return print(flags_ + letter_, value);
    } else {
      return print(flags_ + letter_, static_cast<double>(static_cast<float>(value)));
    }
  }

  std::string flags_;
  char letter_;
};

class StringFormat final : public Kernel {
 public:
  StringFormat(std::vector<std::string> parts, std::int64_t ends) : parts_(std::move(parts)), ends_(ends) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    std::string_view rest = init.attrs.get_string("template");
    const std::string& placeholder = init.attrs.get_string("placeholder");
    if (placeholder.empty()) return invalid_argument("StringFormat: the placeholder is empty");
    std::vector<std::string> parts;
    for (std::size_t at = 0; (at = rest.find(placeholder)) != std::string_view::npos;) {
      parts.emplace_back(rest.substr(0, at));
      rest.remove_prefix(at + placeholder.size());
    }
    parts.emplace_back(rest);
    if (parts.size() != init.input_dtypes.size() + 1) {
      return invalid_argument("StringFormat: ", parts.size() - 1, " placeholders for ", init.input_dtypes.size(),
                              " inputs");
    }
    return std::unique_ptr<Kernel>(std::make_unique<StringFormat>(std::move(parts), init.attrs.get_int("summarize")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
    MadeStrings made;
    std::string text = parts_[0];
    for (int i = 0; i < c.num_inputs(); ++i) {
      ARGOSY_RETURN_IF_ERROR(summarize(c.input(i), ends_, made, text));
      ARGOSY_RETURN_IF_ERROR(made.append(text, parts_[static_cast<std::size_t>(i) + 1]));
    }
    *y->data<std::string>() = std::move(text);
    return ok_status();
  }

 private:
  std::vector<std::string> parts_;  // what stands around the placeholders
  std::int64_t ends_;
};

class ReduceJoin final : public Kernel {
 public:
  ReduceJoin(bool keep_dims, std::string separator) : keep_dims_(keep_dims), separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(
        std::make_unique<ReduceJoin>(init.attrs.get_bool("keep_dims"), init.attrs.get_string("separator")));
  }
  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    const int rank = x.shape().rank();
    ARGOSY_ASSIGN_OR_RETURN(const Ints axes, read_ints(c.input(1), "ReduceJoin: reduction_indices"));
    const Ints strides = row_major(x.shape().sizes());
    Ints gone = Ints::filled(rank, 0);
    Ints joined_sizes, joined_strides, kept_sizes, kept_strides, sizes;
    for (const std::int64_t given : axes) {
      ARGOSY_ASSIGN_OR_RETURN(const int axis, normalize_axis(given, rank, "ReduceJoin"));
      if (gone[axis] != 0) return invalid_argument("ReduceJoin: axis ", axis, " is there twice");
      gone[axis] = 1;
      joined_sizes.push_back(x.shape()[axis]);
      joined_strides.push_back(strides[axis]);
    }
    for (int i = 0; i < rank; ++i) {
      if (gone[i] == 0) {
        kept_sizes.push_back(x.shape()[i]);
        kept_strides.push_back(strides[i]);
      }
      if (gone[i] == 0 || keep_dims_) sizes.push_back(gone[i] == 0 ? x.shape()[i] : 1);
    }
    ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape(sizes.span())));
    std::reverse(kept_sizes.begin(), kept_sizes.end());
    std::reverse(kept_strides.begin(), kept_strides.end());
    std::string* to = y->data<std::string>();
    const std::string* const from = x.data<std::string>();
    Poll poll(64);
    MadeStrings made;
    Status status;
    each(kept_sizes, kept_strides, [&](std::int64_t start) {
      std::size_t bytes = 0;
      each(joined_sizes, joined_strides,
           [&](std::int64_t offset) { bytes += from[start + offset].size() + separator_.size(); });
      if (status.ok()) status = made.reserve(*to, bytes);
      bool first = true;
      each(joined_sizes, joined_strides, [&](std::int64_t offset) {
        poll();
        if (!status.ok()) return;
        if (!first) *to += separator_;
        first = false;
        *to += from[start + offset];
      });
      ++to;
    });
    return status;
  }

 private:
  // fn(offset) for every index, the first axis varying fastest.
  template <typename Fn>
  static void each(const Ints& sizes, const Ints& strides, Fn&& fn) {
    for (const std::int64_t size : sizes) {
      if (size == 0) return;
    }
    Ints at = Ints::filled(sizes.size(), 0);
    std::int64_t offset = 0;
    for (int k = 0; k < sizes.size() || (k == 0 && sizes.empty());) {
      fn(offset);
      for (k = 0; k < sizes.size(); ++k) {
        offset += strides[k];
        if (++at[k] < sizes[k]) break;
        offset -= sizes[k] * strides[k];
        at[k] = 0;
      }
      if (sizes.empty()) return;
    }
  }

  bool keep_dims_;
  std::string separator_;
};

Status sharded_name(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).shape().rank() != 0) {
      return invalid_argument("ShardedFilename: inputs must be scalars, not of shape ", c.input(i).shape());
    }
  }
  const bool whole = c.num_inputs() == 2;  // ShardedFilespec: all shards
  char shard[32] = "?\?\?\?\?";            // no trigraphs
  char count[32];
  if (!whole) std::snprintf(shard, sizeof shard, "%05d", *c.input(1).data<std::int32_t>());
  std::snprintf(count, sizeof count, "%05d", *c.input(whole ? 1 : 2).data<std::int32_t>());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::string>() = str_cat(*c.input(0).data<std::string>(), "-", shard, "-of-", count);
  return ok_status();
}

}  // namespace

void add_kernels_cpu_string(KernelRegistry& kernels) {
  kernels.add("StringJoin", "cpu", StringJoin::make);
  kernels.add("AsString", "cpu", AsString::make);
  kernels.add("StringFormat", "cpu", StringFormat::make);
  kernels.add("ReduceJoin", "cpu", ReduceJoin::make);
  kernels.add("ShardedFilename", "cpu", sharded_name);
  kernels.add("ShardedFilespec", "cpu", sharded_name);
  add_kernels_cpu_text(kernels);
  add_kernels_cpu_pieces(kernels);
  add_kernels_cpu_patterns(kernels);
  add_kernels_cpu_hashes(kernels);
  add_kernels_cpu_unicode(kernels);
}

}  // namespace argosy
