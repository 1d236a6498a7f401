// Progress of a long job: a bar drawn in place with an ETA on a terminal, a line every few seconds elsewhere.
//
//   train   412/2000 [#####---------------]  20%  ETA 0:41  loss 0.132  1,184 samples/s
//
// The owner calls update() as often as it likes; most calls only compare two numbers. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "argosy/base/clock.h"

namespace argosy::cli {

class Console;

class Progress {
 public:
  struct Options {
    std::string label;       // "train"
    std::int64_t total = 0;  // 0: not known, so neither bar nor ETA
    bool draws = false;      // in place, or lines
    int width = 80;
    std::int64_t line_every_nanos = 5'000'000'000;
    std::int64_t draw_every_nanos = 100'000'000;
  };
  using Sink = std::function<void(std::string_view)>;

  // On stderr, the way this console shows progress (not at all with --quiet or --no-progress).
  Progress(const Console& console, std::string label, std::int64_t total);
  // `clock` must outlive this.
  Progress(Options options, Sink sink, const Clock& clock);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // finish()

  // `done` of `total`, and what else is worth a glance ("loss 0.132  1,184 samples/s").
  void update(std::int64_t done, std::string_view facts = {});
  // Whether update() would show something now: saves making `facts` otherwise.
  bool due() const;
  // A line of its own, above the bar.
  void note(std::string_view line);
  // Takes the bar away (a terminal), so that what follows starts on a clean line. Later calls do nothing.
  void finish();

 private:
  std::string line(std::int64_t now) const;
  std::string remaining(std::int64_t now) const;
  void draw(std::int64_t now);

  Options options_;
  Sink sink_;
  const Clock& clock_;
  std::int64_t start_, last_shown_;
  std::int64_t first_done_ = -1;  // where the job began: a resumed run does not count what it did not do
  std::int64_t done_ = 0;
  std::string facts_;
  bool drawn_ = false, finished_ = false;
};

// 75 → "1:15", 3725 → "1:02:05".
std::string format_duration(double seconds);
// 1184.3 → "1,184", 17.23 → "17.2": a rate as people read it.
std::string format_rate(double per_second);

}  // namespace argosy::cli
