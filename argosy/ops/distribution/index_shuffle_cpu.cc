// RandomIndexShuffle: the position of one index in a random permutation, which is never stored. A block cipher over 2^b
// numbers is applied until its result is in range (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
// The cipher is Simon (Beaulieu et al., "The SIMON and SPECK families of lightweight block ciphers", 2013), with the
// bits, rounds and key words of TensorFlow's op.
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "argosy/ops/attr_kernel.h"

namespace argosy {

namespace {

constexpr int kLeastBits = 16;
constexpr std::int64_t kLeastRounds = 4;
using IndexTypes4 = TypeList<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;

// Words of `width` bits, 8 to 32.
class Simon {
 public:
  Simon(int width, const std::array<std::uint32_t, 3>& key, std::int64_t rounds)
      : width_(width), mask_(width == 32 ? ~0u : (1u << width) - 1) {
    constexpr std::uint64_t kSequence = 0x7369f885192c0ef5;  // the paper's z, as far as a word holds it
    std::uint32_t z = static_cast<std::uint32_t>(kSequence) & mask_;
    for (const std::uint32_t word : key) keys_.push_back(word & mask_);
    for (std::size_t i = 3; i < static_cast<std::size_t>(rounds); ++i, z >>= 1) {
      const std::uint32_t last = keys_[i - 1];
      keys_.push_back((0xfffffffcu & mask_) ^ (z & 1u) ^ keys_[i - 3] ^ left(last, width_ - 3) ^
                      left(last, width_ - 4));
    }
  }

  std::uint64_t operator()(std::uint64_t value) const {
    std::uint32_t high = static_cast<std::uint32_t>(value >> width_) & mask_;
    std::uint32_t low = static_cast<std::uint32_t>(value) & mask_;
    for (std::size_t i = 0; i < keys_.size(); i += 2) {
      high ^= mix(low) ^ keys_[i];
      low ^= mix(high) ^ keys_[i + 1];
    }
    return (std::uint64_t{high} << width_) | low;
  }

 private:
  std::uint32_t left(std::uint32_t x, int by) const { return ((x << by) | (x >> (width_ - by))) & mask_; }
  std::uint32_t mix(std::uint32_t x) const { return (left(x, 1) & left(x, width_ == 8 ? 0 : 8)) ^ left(x, 2); }

  const int width_;
  const std::uint32_t mask_;
  std::vector<std::uint32_t> keys_;
};

std::uint64_t shuffled(std::uint64_t index, std::uint64_t most, const std::array<std::uint32_t, 3>& key,
                       std::int64_t rounds) {
  if (most == 0) return 0;
  const int bits = static_cast<int>(std::ceil(std::log2(static_cast<double>(most))));
  const Simon cipher(std::max(bits + bits % 2, kLeastBits) / 2, key, rounds);
  do {
    index = cipher(index);
  } while (index > most);
  return index;
}

Status check_shapes(const Tensor& index, const Tensor& seed, const Tensor& most, std::int64_t n) {
  if (index.shape().rank() > 1 || (index.shape().rank() == 1 && index.elements() != n))
    return invalid_argument("Index bust be a scalar or vector. Here it has shape ", index.shape(), " beside ", n);
  if (seed.shape() != Shape({3}) && seed.shape() != Shape({n, 3})) {
    return invalid_argument("Seed must be a vector of size [3] or a matrix of size [", n, ", 3] but got ", seed.shape(),
                            ".");
  }
  if (most.shape().rank() > 1 || (most.shape().rank() == 1 && most.elements() != n)) {
    return invalid_argument("Maxval must be a scalar or a vector of the same size as index but got ", most.shape());
  }
  return ok_status();
}

Status random_index_shuffle(KernelContext& c, const AttrMap& attrs) {
  const Tensor &index = c.input(0), &seed = c.input(1), &most = c.input(2);
  const std::int64_t rounds = attrs.get_int("rounds");
  if (rounds < kLeastRounds || rounds % 2 != 0 || rounds > 1024)
    return invalid_argument("RandomIndexShuffle: rounds must be even and in [4, 1024], not ", rounds);
  const bool one = index.shape().rank() == 0 && seed.shape().rank() == 1 && most.shape().rank() == 0;
  const std::int64_t n = std::max({index.elements(), most.elements(), seed.elements() / 3});
  ARGOSY_RETURN_IF_ERROR(check_shapes(index, seed, most, n));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, one ? Shape() : Shape({n})));
  return dispatch<IndexTypes4>(index.dtype(), c.node(), [&]<typename T>() {
    return dispatch<IndexTypes4>(seed.dtype(), c.node(), [&]<typename S>() -> Status {
      for (std::int64_t i = 0; i < n; ++i) {
        const T from = index.data<T>()[index.shape().rank() == 0 ? 0 : i];
        const T end = most.data<T>()[most.shape().rank() == 0 ? 0 : i];
        if constexpr (std::is_signed_v<T>) {
          if (from < 0) return invalid_argument("index must be >= 0 but was ", from);
        }
        if (end < from) return invalid_argument("max_index must be >= index, but ", end, " < ", from);
        std::array<std::uint32_t, 3> key;
        for (std::size_t k = 0; k < 3; ++k)
          key[k] = static_cast<std::uint32_t>(
              seed.data<S>()[(seed.shape().rank() == 2 ? 3 * i : 0) + static_cast<std::int64_t>(k)]);
        y->data<T>()[i] =
            static_cast<T>(shuffled(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(end), key, rounds));
      }
      return ok_status();
    });
  });
}

}  // namespace

void add_index_shuffle(KernelRegistry& kernels) {
  kernels.add("RandomIndexShuffle", "cpu", AttrKernel<random_index_shuffle>::make);
}

}  // namespace argosy
