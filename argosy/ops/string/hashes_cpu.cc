// Kernels: hashes of strings to buckets.
#include <farmhash.h>

#include <bit>
#include <cstring>

#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/string/each_string.h"
#include "argosy/ops/string/hash.h"
#include "argosy/ops/string/string_registration.h"

namespace argosy {

namespace {

// Up to eight bytes, little endian.
std::uint64_t load(const char* from, std::size_t bytes = 8) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

}  // namespace

std::uint64_t fingerprint64(std::string_view text) { return util::Fingerprint64(text.data(), text.size()); }

std::uint64_t murmur64(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  std::uint64_t h = seed ^ (text.size() * kMultiplier);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t k = load(text.data()) * kMultiplier;
    k = (k ^ (k >> 47)) * kMultiplier;
    h = (h ^ k) * kMultiplier;
  }
  if (!text.empty()) h = (h ^ load(text.data(), text.size())) * kMultiplier;
  h = (h ^ (h >> 47)) * kMultiplier;
  return h ^ (h >> 47);
}

std::uint64_t sip_hash(std::string_view text, std::uint64_t key0, std::uint64_t key1) {
  std::uint64_t v0 = key0 ^ 0x736f6d6570736575, v1 = key1 ^ 0x646f72616e646f6d;
  std::uint64_t v2 = key0 ^ 0x6c7967656e657261, v3 = key1 ^ 0x7465646279746573;
  const auto rounds = [&](int n) {
    for (; n > 0; --n) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto take = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  const std::uint64_t length = std::uint64_t{text.size()} << 56;
  for (; text.size() >= 8; text.remove_prefix(8)) take(load(text.data()));
  take(load(text.data(), text.size()) | length);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

namespace {

template <typename Hash>
Status buckets(KernelContext& c, const AttrMap& attrs, Hash&& hash) {
  const std::int64_t count = attrs.get_int("num_buckets");
  if (count < 1) return invalid_argument("num_buckets must be at least 1, not ", count);
  return each_string<std::int64_t>(c, [&](const std::string& text, std::int64_t& to) {
    to = static_cast<std::int64_t>(hash(text) % static_cast<std::uint64_t>(count));
    return ok_status();
  });
}

Status plain(KernelContext& c, const AttrMap& attrs) {
  return buckets(c, attrs, [](std::string_view text) { return murmur64(text); });
}
Status fast(KernelContext& c, const AttrMap& attrs) { return buckets(c, attrs, fingerprint64); }
Status strong(KernelContext& c, const AttrMap& attrs) {
  const auto& key = attrs.get<std::vector<std::int64_t>>("key");
  if (key.size() != 2) return invalid_argument("Key must have 2 elements, not ", key.size());
  return buckets(c, attrs, [&](std::string_view text) {
    return sip_hash(text, static_cast<std::uint64_t>(key[0]), static_cast<std::uint64_t>(key[1]));
  });
}

void put_fingerprint(std::string_view text, char* to) {
  const std::uint64_t hash = fingerprint64(text);
  std::memcpy(to, &hash, sizeof(hash));
}

// Of a row of several strings: of their fingerprints.
Status fingerprint(KernelContext& c) {
  constexpr std::size_t kBytes = sizeof(std::uint64_t);
  const Tensor &x = c.input(0), &method = c.input(1);
  if (method.shape().rank() != 0) return invalid_argument("`method` should be a scalar string: ", method.shape());
  if (x.shape().rank() == 0) return invalid_argument("`data` should have at least one dimension: ", x.shape());
  if (const std::string& name = *method.data<std::string>(); name != "farmhash64")
    return invalid_argument("Unsupported fingerprint method: ", name);
  if (!is_plain(x.dtype()) && x.dtype() != DType::kString) return unsupported_dtype("Fingerprint", x.dtype());
  const std::int64_t rows = x.shape()[0];
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, Shape({rows, static_cast<std::int64_t>(kBytes)})));
  const auto width = static_cast<std::size_t>(rows == 0 ? 0 : x.elements() / rows);
  char* to = static_cast<char*>(y->raw());
  Poll poll(64);
  if (x.dtype() != DType::kString) {
    const std::size_t bytes = width * element_bytes(x.dtype());
    const char* from = static_cast<const char*>(x.raw());
    for (std::int64_t r = 0; r < rows; ++r, from += bytes, to += kBytes) {
      poll();
      put_fingerprint({from, bytes}, to);
    }
    return ok_status();
  }
  std::string row(width * kBytes, '\0');
  const std::string* from = x.data<std::string>();
  for (std::int64_t r = 0; r < rows; ++r, from += width, to += kBytes) {
    for (std::size_t k = 0; k < width; ++k) {
      poll();
      put_fingerprint(from[k], row.data() + k * kBytes);
    }
    if (width == 1) {
      std::memcpy(to, row.data(), kBytes);
    } else {
      put_fingerprint(row, to);
    }
  }
  return ok_status();
}

}  // namespace

void add_kernels_cpu_hashes(KernelRegistry& kernels) {
  kernels.add("StringToHashBucket", "cpu", AttrKernel<plain>::make);
  kernels.add("StringToHashBucketFast", "cpu", AttrKernel<fast>::make);
  kernels.add("StringToHashBucketStrong", "cpu", AttrKernel<strong>::make);
  kernels.add("Fingerprint", "cpu", fingerprint);
}

}  // namespace argosy
