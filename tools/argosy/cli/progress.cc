#include "tools/argosy/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "argosy/base/str.h"
#include "tools/argosy/cli/console.h"

namespace argosy::cli {

namespace {

constexpr int kBarWidth = 20;

void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(const Console& console, std::string label, std::int64_t total)
    : Progress({.label = std::move(label), .total = total, .draws = console.draws(), .width = console.width()},
               console.progress() ? Sink(write_to_stderr) : Sink(), system_clock()) {}

Progress::Progress(Options options, Sink sink, const Clock& clock)
    : options_(std::move(options)), sink_(std::move(sink)), clock_(clock) {
  start_ = clock_.now_nanos();
  // A terminal shows the bar at once; a log gets its first line when there is something to say.
  last_shown_ = options_.draws ? start_ - options_.draw_every_nanos : start_;
}

Progress::~Progress() { finish(); }

bool Progress::due() const {
  if (!sink_ || finished_) return false;
  const std::int64_t every = options_.draws ? options_.draw_every_nanos : options_.line_every_nanos;
  return clock_.now_nanos() - last_shown_ >= every;
}

void Progress::update(std::int64_t done, std::string_view facts) {
  if (first_done_ < 0) {
    first_done_ = done;
    start_ = clock_.now_nanos();
  }
  done_ = done;
  if (!facts.empty()) facts_ = facts;
  if (due()) draw(clock_.now_nanos());
}

void Progress::draw(std::int64_t now) {
  last_shown_ = now;
  std::string text = line(now);
  if (options_.draws) {
    // Cut to the terminal: a wrapped bar could not be drawn over.
    if (static_cast<int>(text.size()) >= options_.width) text.resize(static_cast<std::size_t>(options_.width) - 1);
    sink_("\r\x1b[K" + text);
    drawn_ = true;
  } else {
    sink_(text + "\n");
  }
}

std::string Progress::line(std::int64_t now) const {
  std::string text = str_cat(options_.label, " ", done_);
  if (options_.total > 0) {
    const double part = std::clamp(static_cast<double>(done_) / static_cast<double>(options_.total), 0.0, 1.0);
    text += str_cat("/", options_.total);
    if (options_.draws) {
      const auto full = static_cast<std::size_t>(part * kBarWidth);
      text += str_cat(" [", std::string(full, '#'), std::string(kBarWidth - full, '-'), "]");
    }
    text += str_cat("  ", static_cast<int>(part * 100), "%", remaining(now));
  } else {
    text += str_cat("  ", format_duration(static_cast<double>(now - start_) * 1e-9));
  }
  return facts_.empty() ? text : str_cat(text, "  ", facts_);
}

std::string Progress::remaining(std::int64_t now) const {
  const std::int64_t gained = done_ - std::max<std::int64_t>(first_done_, 0);
  if (gained <= 0 || done_ >= options_.total) return "";
  const double seconds_each = static_cast<double>(now - start_) * 1e-9 / static_cast<double>(gained);
  return str_cat("  ETA ", format_duration(seconds_each * static_cast<double>(options_.total - done_)));
}

void Progress::note(std::string_view line) {
  if (!sink_) return;
  sink_(str_cat(drawn_ ? "\r\x1b[K" : "", line, "\n"));
  if (drawn_) draw(clock_.now_nanos());
}

void Progress::finish() {
  if (drawn_ && !finished_) sink_("\r\x1b[K");
  finished_ = true;
}

std::string format_duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e8) return "?";
  const auto total = static_cast<std::int64_t>(std::llround(seconds));
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof text, "%d:%02d:%02d", static_cast<int>(total / 3600), static_cast<int>(total / 60 % 60),
                  static_cast<int>(total % 60));
  } else {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(total / 60), static_cast<int>(total % 60));
  }
  return text;
}

std::string format_rate(double per_second) {
  if (!std::isfinite(per_second) || per_second < 0 || per_second > 1e15) return "?";
  char text[32];
  if (per_second < 100) {
    std::snprintf(text, sizeof text, "%.3g", per_second);
    return text;
  }
  std::string digits = std::to_string(std::llround(per_second));
  for (std::size_t end = digits.size(); end > 3;) {
    end -= 3;
    digits.insert(end, ",");
  }
  return digits;
}

}  // namespace argosy::cli
