// Kernels: RE2 patterns, compiled once where they are attributes or stay the same from run to run.
#include <re2/re2.h>

#include <array>
#include <memory>
#include <vector>

#include "argosy/base/mutex.h"
#include "argosy/base/utf8.h"
#include "argosy/ops/attr_kernel.h"
#include "argosy/ops/string/each_string.h"
#include "argosy/ops/string/string_registration.h"

namespace argosy {

namespace {

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

Result<std::shared_ptr<const RE2>> compile(std::string_view pattern) {
  auto compiled = std::make_shared<const RE2>(piece(pattern), RE2::Quiet);
  if (!compiled->ok()) return invalid_argument("Invalid pattern: ", pattern, ", error: ", compiled->error());
  return std::shared_ptr<const RE2>(std::move(compiled));
}

// Groups that a rewrite names, each time it does.
std::vector<std::size_t> groups_of(std::string_view rewrite) {
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i + 1 < rewrite.size(); ++i) {
    if (rewrite[i] != '\\') continue;
    const char c = rewrite[++i];
    if (c >= '0' && c <= '9') groups.push_back(static_cast<std::size_t>(c - '0'));
  }
  return groups;
}

// Bytes of the character at the front, as RE2 steps over it: 1 where there is none. It takes surrogates for characters.
std::size_t character_bytes(std::string_view text) {
  if (const std::size_t bytes = utf8_length(text); bytes > 0) return bytes;
  const bool surrogate =
      text.size() >= 3 && text[0] == '\xed' && is_utf8_continuation(text[1]) && is_utf8_continuation(text[2]);
  return surrogate ? 3 : 1;
}

// RE2's replacement, as its Replace() and GlobalReplace() do it, for results that may be large: counted as they grow. A
// rewrite with mistakes changes nothing, or what comes before the mistake.
class CountedReplace {
 public:
  CountedReplace(const RE2& pattern, std::string_view rewrite)
      : pattern_(pattern), rewrite_(rewrite), groups_(groups_of(rewrite)) {}

  // No result of this text is larger; 2^62 where that is no small number.
  std::size_t most_bytes(std::size_t text, bool all) const {
    constexpr std::size_t kHuge = std::size_t{1} << 62;
    std::size_t each = 0, bytes = 0;
    if (__builtin_mul_overflow(groups_.size(), text, &each) || __builtin_add_overflow(each, rewrite_.size(), &each) ||
        __builtin_mul_overflow(each, all ? text + 1 : 1, &bytes) || bytes > kHuge - text) {
      return kHuge;
    }
    return bytes + text;
  }

  Status run(const std::string& text, bool all, MadeStrings& made, std::string& to) const {
    constexpr int kMostGroups = 17;  // RE2's own limit
    std::array<re2::StringPiece, kMostGroups> found;
    const int groups = 1 + RE2::MaxSubmatch(piece(rewrite_));
    if (groups > 1 + pattern_.NumberOfCapturingGroups() || groups > kMostGroups) return made.append(to, text);
    const bool utf8 = pattern_.options().encoding() == RE2::Options::EncodingUTF8;
    const std::string_view whole = text;
    std::size_t at = 0, last_end = std::string_view::npos;
    Poll poll(16);
    while (at <= text.size() && pattern_.Match(piece(text), at, text.size(), RE2::UNANCHORED, found.data(), groups)) {
      poll();
      const auto begin = static_cast<std::size_t>(found[0].data() - text.data());
      if (at < begin) ARGOSY_RETURN_IF_ERROR(made.append(to, whole.substr(at, begin - at)));
      if (begin == last_end && found[0].empty()) {  // no empty match right behind another: one character on
        if (begin == text.size()) {
          at = begin + 1;
          break;
        }
        const std::size_t bytes = utf8 ? character_bytes(whole.substr(begin)) : 1;
        ARGOSY_RETURN_IF_ERROR(made.append(to, whole.substr(begin, bytes)));
        at = begin + bytes;
        continue;
      }
      std::size_t bytes = rewrite_.size();
      for (const std::size_t g : groups_) bytes += found[g].size();
      ARGOSY_RETURN_IF_ERROR(made.reserve(to, bytes));
      const bool right = pattern_.Rewrite(&to, piece(rewrite_), found.data(), groups);
      at = last_end = begin + found[0].size();
      if (all) continue;
      if (!right) to = text;
      if (!right) return ok_status();
      break;
    }
    if (at < text.size()) return made.append(to, whole.substr(at));
    return ok_status();
  }

 private:
  const RE2& pattern_;
  const std::string_view rewrite_;
  const std::vector<std::size_t> groups_;
};

Status replace_each(KernelContext& c, const RE2& pattern, std::string_view rewrite, bool all) {
  constexpr std::size_t kSmall = std::size_t{1} << 20;
  const CountedReplace counted(pattern, rewrite);
  return each_string<std::string>(c, [&](const std::string& text, std::string& to) {
    std::string changed;
    if (counted.most_bytes(text.size(), all) > kSmall) {
      MadeStrings made;  // of this text: the others are counted when they are there
      ARGOSY_RETURN_IF_ERROR(counted.run(text, all, made, changed));
    } else {
      changed = text;
      if (all) {
        RE2::GlobalReplace(&changed, pattern, piece(rewrite));
      } else {
        RE2::Replace(&changed, pattern, piece(rewrite));
      }
    }
    to = std::move(changed);
    return ok_status();
  });
}
Status match_each(KernelContext& c, const RE2& pattern) {
  return each_string<bool>(c, [&](const std::string& text, bool& to) {
    to = RE2::FullMatch(text, pattern);
    return ok_status();
  });
}

// The pattern is an attribute.
template <bool match>
class Fixed final : public Kernel {
 public:
  Fixed(std::shared_ptr<const RE2> pattern, const AttrMap& attrs)
      : pattern_(std::move(pattern)),
        rewrite_(match ? "" : attrs.get_string("rewrite")),
        all_(!match && attrs.get_bool("replace_global")) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ARGOSY_ASSIGN_OR_RETURN(auto pattern, compile(init.attrs.get_string("pattern")));
    return std::unique_ptr<Kernel>(std::make_unique<Fixed>(std::move(pattern), init.attrs));
  }
  Status run(KernelContext& c) override {
    if constexpr (match) return match_each(c, *pattern_);
    return replace_each(c, *pattern_, rewrite_, all_);
  }

 private:
  const std::shared_ptr<const RE2> pattern_;
  const std::string rewrite_;
  const bool all_;
};

// The pattern is an input: the last one is kept.
template <bool match>
class Given final : public Kernel {
 public:
  explicit Given(bool all) : all_(all) {}
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    return std::unique_ptr<Kernel>(std::make_unique<Given>(!match && init.attrs.get_bool("replace_global")));
  }
  Status run(KernelContext& c) override {
    ARGOSY_ASSIGN_OR_RETURN(const std::string_view text, one_string(c, 1, "Pattern"));
    ARGOSY_ASSIGN_OR_RETURN(const auto pattern, get(text));
    if constexpr (match) return match_each(c, *pattern);
    ARGOSY_ASSIGN_OR_RETURN(const std::string_view rewrite, one_string(c, 2, "Rewrite"));
    return replace_each(c, *pattern, rewrite, all_);
  }

 private:
  Result<std::shared_ptr<const RE2>> get(std::string_view text) ARGOSY_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (!last_ || last_->pattern() != text) {
      ARGOSY_ASSIGN_OR_RETURN(last_, compile(text));
    }
    return last_;
  }

  const bool all_;
  Mutex mutex_;
  std::shared_ptr<const RE2> last_ ARGOSY_GUARDED_BY(mutex_);
};

}  // namespace

void add_kernels_cpu_patterns(KernelRegistry& kernels) {
  kernels.add("StaticRegexReplace", "cpu", Fixed<false>::make);
  kernels.add("StaticRegexFullMatch", "cpu", Fixed<true>::make);
  kernels.add("RegexReplace", "cpu", Given<false>::make);
  kernels.add("RegexFullMatch", "cpu", Given<true>::make);
}

}  // namespace argosy
