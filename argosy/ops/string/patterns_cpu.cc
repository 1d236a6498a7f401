// Kernels: RE2 patterns, compiled once where they are attributes or stay the same from run to run.
#include <re2/re2.h>

#include <memory>

#include "argosy/base/mutex.h"
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

// A rewrite with mistakes changes nothing, or what comes before the mistake, as RE2 has it.
void replace(const RE2& pattern, std::string_view rewrite, bool all, std::string& text) {
  if (all) {
    RE2::GlobalReplace(&text, pattern, piece(rewrite));
  } else {
    RE2::Replace(&text, pattern, piece(rewrite));
  }
}

Status replace_each(KernelContext& c, const RE2& pattern, std::string_view rewrite, bool all) {
  return each_string<std::string>(c, [&](const std::string& text, std::string& to) {
    std::string changed = text;
    replace(pattern, rewrite, all, changed);
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
