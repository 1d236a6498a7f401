#include "argosy/tf/server/testing/request_mutator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "argosy/formats/proto/wire.h"
#include "argosy/rpc/wire/wire_reader.h"

namespace argosy::tf {

namespace {

struct Field {
  WireField head;
  std::string bytes;          // of all that is no varint and no message
  std::vector<Field> fields;  // of a message
  bool is_message = false;
};

constexpr int kDepth = 16;

// Bytes that read as fields throughout are taken for a message: text hardly ever does.
std::optional<std::vector<Field>> parse(std::string_view bytes, int depth) {
  const std::string_view pieces[] = {bytes};
  WireReader in(pieces);
  WireScratch scratch;
  std::vector<Field> fields;
  for (WireField f; in.next(f);) {
    Field& field = fields.emplace_back();
    field.head = f;
    if (f.is_varint()) continue;
    field.bytes = in.text(f, scratch);
    if (!f.is_bytes() || depth == 0 || field.bytes.empty()) continue;
    if (auto inner = parse(field.bytes, depth - 1)) {
      field.fields = *std::move(inner);
      field.is_message = true;
    }
  }
  if (!in.ok() || fields.empty()) return std::nullopt;
  return fields;
}

void write(const std::vector<Field>& fields, std::string& to) {
  for (const Field& f : fields) {
    put_varint(to, std::uint64_t{f.head.number} << 3 | f.head.type);
    if (f.head.is_varint()) {
      put_varint(to, f.head.value);
    } else if (f.head.is_bytes()) {
      std::string inner = f.bytes;
      if (f.is_message) {
        inner.clear();
        write(f.fields, inner);
      }
      put_varint(to, inner.size());
      to += inner;
    } else {
      to += f.bytes;
    }
  }
}

class RequestMutator {
 public:
  explicit RequestMutator(std::mt19937_64& random) : random_(random) {}

  void change(std::vector<Field>& fields) {
    std::vector<std::pair<std::vector<Field>*, std::size_t>> all;
    list(fields, all);
    if (all.empty()) return;
    auto [home, at] = all[below(all.size())];
    Field& field = (*home)[at];
    switch (below(8)) {
      case 0: home->erase(home->begin() + static_cast<std::ptrdiff_t>(at)); break;
      case 1: {
        const Field copy = field;
        home->insert(home->begin() + static_cast<std::ptrdiff_t>(below(home->size() + 1)), copy);
        break;
      }
      case 2: std::swap(field, (*home)[below(home->size())]); break;
      case 3: field.head.number = static_cast<std::uint32_t>(1 + below(20)); break;
      case 4: {  // what another field holds
        const Field& other = (*all[below(all.size())].first)[0];
        Field copy = other;
        copy.head.number = field.head.number;
        field = std::move(copy);
        break;
      }
      default: change_value(field);
    }
  }

  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  static void list(std::vector<Field>& fields, std::vector<std::pair<std::vector<Field>*, std::size_t>>& to) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      to.emplace_back(&fields, i);
      list(fields[i].fields, to);
    }
  }

  void change_value(Field& field) {
    constexpr std::array<std::uint64_t, 12> kExtremes = {
        0, 1, 2, 20, 127, 1u << 20, 0x7fffffff, 0x80000000, 1ull << 40, 1ull << 62, 0x7fffffffffffffff, ~0ull};
    if (field.head.is_varint()) {
      field.head.value = below(3) == 0 ? field.head.value + random_() % 5 - 2 : kExtremes[below(kExtremes.size())];
      return;
    }
    field.is_message = false;
    if (field.head.is_bytes() && !field.fields.empty()) {
      field.bytes.clear();
      write(field.fields, field.bytes);
      field.fields.clear();
    }
    if (!field.head.is_bytes() || field.bytes.empty() || below(2) == 0) {
      for (char& c : field.bytes) {
        if (below(4) == 0) c = static_cast<char>(random_());
      }
      if (field.head.is_bytes() && below(3) == 0) field.bytes += std::string(below(300), static_cast<char>(random_()));
    } else {
      field.bytes.resize(below(field.bytes.size()));
    }
  }

  std::mt19937_64& random_;
};

}  // namespace

std::string mutate(std::string_view message, std::mt19937_64& random) {
  RequestMutator mutator(random);
  std::string out(message);
  if (auto fields = parse(message, kDepth)) {
    for (std::size_t i = 0, n = 1 + mutator.below(3); i < n; ++i) mutator.change(*fields);
    out.clear();
    write(*fields, out);
  }
  if (!out.empty() && mutator.below(16) == 0) out[mutator.below(out.size())] = static_cast<char>(random());
  if (mutator.below(32) == 0) out.resize(mutator.below(out.size() + 1));
  return out;
}

}  // namespace argosy::tf
