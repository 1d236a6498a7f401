// Hashes of strings whose numbers are TensorFlow's. Internal to argosy/ops.
#pragma once

#include <cstdint>
#include <string_view>

namespace argosy {

// FarmHash's fingerprint, which never changes.
std::uint64_t fingerprint64(std::string_view text);
// MurmurHash64A (Austin Appleby, public domain algorithm).
std::uint64_t murmur64(std::string_view text, std::uint64_t seed = 0xDECAFCAFFE);
// SipHash-2-4 under a 128-bit key: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
std::uint64_t sip_hash(std::string_view text, std::uint64_t key0, std::uint64_t key1);

}  // namespace argosy
