#include "argosy/planner/runners_up.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace argosy {

namespace {

constexpr double kAlike = 0.02;  // of the step: no difference that a prediction can tell

std::string memory_text(const Tried& tried, const Tried& chosen) {
  if (tried.bytes < chosen.bytes) {
    return str_cat("saves ", format_bytes(chosen.bytes - tried.bytes), " a device that nobody needs");
  }
  return tried.bytes > chosen.bytes ? str_cat("takes ", format_bytes(tried.bytes - chosen.bytes), " more a device")
                                    : std::string("brings nothing");
}

// Says why `tried` takes longer than `chosen`: by compute, or by copies and collectives.
std::string reason(const Tried& tried, const Tried& chosen) {
  const double compute = tried.predicted.compute - chosen.predicted.compute;
  const double travel = tried.predicted.exposed_collectives + tried.predicted.exposed_copies -
                        chosen.predicted.exposed_collectives - chosen.predicted.exposed_copies;
  const auto on = [](int n) { return n == 1 ? str_cat("one device computes") : str_cat("each device computes"); };
  if (compute >= travel) {
    return str_cat(on(tried.devices), " ", format_seconds(tried.predicted.compute), " (", on(chosen.devices), " ",
                   format_seconds(chosen.predicted.compute), ")");
  }
  return str_cat(format_seconds(tried.predicted.exposed_collectives), " of collectives and ",
                 format_seconds(tried.predicted.exposed_copies), " of copies are not hidden");
}

}  // namespace

std::string format_seconds(double seconds) {
  char text[32];
  if (seconds >= 1) {
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  } else if (seconds >= 1e-3) {
    std::snprintf(text, sizeof text, "%.*f ms", seconds < 0.1 ? 1 : 0, seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  }
  return text;
}

std::optional<std::size_t> fastest_that_fits(const std::vector<Tried>& tried) {
  // First among those without micro-batches, then among all.
  for (const bool plain : {true, false}) {
    const auto allowed = [plain](const Tried& t) {
      return t.impossible.empty() && !(plain && t.strategy.accumulate > 1);
    };
    double least = -1;
    for (const Tried& t : tried) {
      if (allowed(t) && (least < 0 || t.predicted.step_seconds < least)) least = t.predicted.step_seconds;
    }
    for (std::size_t i = 0; i < tried.size(); ++i) {
      if (allowed(tried[i]) && tried[i].predicted.step_seconds <= least * (1 + kAlike)) return i;
    }
  }
  return std::nullopt;
}

std::vector<Alternative> runners_up(const std::vector<Tried>& tried, const Tried& chosen) {
  std::vector<Alternative> alternatives;
  for (const Tried& t : tried) {
    if (t.strategy == chosen.strategy) continue;
    Alternative a{.strategy = t.strategy,
                  .devices = t.devices,
                  .fits = t.impossible.empty(),
                  .step_seconds = t.predicted.step_seconds,
                  .why = {}};
    const double more = t.predicted.step_seconds - chosen.predicted.step_seconds;
    if (!a.fits) {
      a.why = t.impossible;
    } else if (std::abs(more) <= kAlike * chosen.predicted.step_seconds) {
      a.why = str_cat("as fast, and ", memory_text(t, chosen));
    } else if (more > 0) {
      a.why = str_cat(format_seconds(more), " slower: ", reason(t, chosen));
    } else {
      a.why = str_cat(format_seconds(-more), " faster; it was not asked for");
    }
    alternatives.push_back(std::move(a));
  }
  std::stable_sort(alternatives.begin(), alternatives.end(), [](const Alternative& a, const Alternative& b) {
    return a.fits != b.fits ? a.fits : a.step_seconds < b.step_seconds;
  });
  return alternatives;
}

}  // namespace argosy
