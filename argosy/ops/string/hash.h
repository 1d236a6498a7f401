// Hashes of strings, equal to TensorFlow's. Internal to argosy/ops.
#pragma once

#include <cstdint>
#include <string_view>

namespace argosy {

// FarmHash's Fingerprint64, whose values never change between versions.
std::uint64_t fingerprint64(std::string_view text);
// MurmurHash64A (Austin Appleby, public domain algorithm).
std::uint64_t murmur64(std::string_view text, std::uint64_t seed = 0xDECAFCAFFE);
// SipHash-2-4 under a 128-bit key: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
std::uint64_t sip_hash(std::string_view text, std::uint64_t key0, std::uint64_t key1);

}  // namespace argosy
