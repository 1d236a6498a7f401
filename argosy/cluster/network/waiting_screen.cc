#include "argosy/cluster/network/waiting_screen.h"

#include <cstdio>

#include "argosy/cluster/network/host_port.h"

namespace argosy {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kQuiet{1500};  // a job that comes together at once says nothing
constexpr milliseconds kEvery{2000}, kSeldom{10'000};
constexpr milliseconds kProbe{200};
constexpr std::size_t kMostRows = 8;

std::string minutes(milliseconds time) {
  const auto seconds = time.count() / 1000;
  char text[32];
  std::snprintf(text, sizeof text, "%lld:%02lld", static_cast<long long>(seconds / 60),
                static_cast<long long>(seconds % 60));
  return text;
}

// The network's answer for a host without a task so far. It tries to connect to the coordinator's port there, where
// nothing listens.
std::string network_says(const std::string& host, int port) {
  if (host.empty()) return "not heard from  -> not started?";
  auto addresses = resolve(host);
  if (!addresses.ok()) return str_cat(addresses.status().message(), "  -> is this the host's name?");
  const auto answer = try_connection(addresses->front(), port, kProbe);
  const bool there = answer.ok() || answer.status().message().find("refused") != std::string::npos;
  if (there) return "the host answers, nothing was heard of the task  -> not started there?";
  return str_cat(answer.status().message(), "  -> argosy cluster check");
}

}  // namespace

WaitingScreen::WaitingScreen(std::function<void(std::string_view)> note, milliseconds deadline)
    : note_(std::move(note)), deadline_(deadline), began_(steady_clock::now()), first_(began_ + kQuiet), shown_() {}

bool WaitingScreen::due(milliseconds every) {
  const auto now = steady_clock::now();
  if (!note_ || now < first_ || (shown_ != steady_clock::time_point() && now - shown_ < every)) return false;
  shown_ = now;
  return true;
}

std::vector<std::string> WaitingScreen::missing_rows(const Coordinator::Snapshot& job, const std::string& own) {
  const auto at = HostPort::parse(own);
  std::vector<std::string> rows;
  for (const int rank : job.missing) {
    if (rows.size() == kMostRows) {
      rows.push_back(str_cat("and ", job.missing.size() - kMostRows, " more"));
      break;
    }
    const std::string& host = job.tasks[static_cast<std::size_t>(rank)].task.host;
    rows.push_back(
        str_cat("task ", rank, "  ", host, host.empty() ? "" : "  ", network_says(host, at.ok() ? at->port : 1)));
  }
  if (!job.refused.empty()) rows.push_back(str_cat("refused: ", job.refused));
  return rows;
}

void WaitingScreen::show_missing(const Coordinator::Snapshot& job, const std::string& own) {
  if (job.missing.empty() || !due(kEvery)) return;
  const auto waited = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_);
  note_(str_cat("waiting ", waited.count() / 1000, " s for ", job.missing.size(), " of ", job.tasks.size(),
                " tasks at ", own, " (deadline ", minutes(deadline_), ")"));
  for (const std::string& row : missing_rows(job, own)) note_(str_cat("  ", row));
}

void WaitingScreen::show(std::string_view what, const std::vector<std::string>& rows, bool seldom) {
  if (!due(seldom ? kSeldom : kEvery)) return;
  const auto waited = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_);
  note_(str_cat(what, " (", waited.count() / 1000, " s, deadline ", minutes(deadline_), ")"));
  for (const std::string& row : rows) note_(str_cat("  ", row));
}

std::string WaitingScreen::missing_text(const Coordinator::Snapshot& job, const std::string& own) {
  return str_cat(job.missing.size(), " of ", job.tasks.size(),
                 " tasks are missing: ", str_join(missing_rows(job, own), "; "));
}

}  // namespace argosy
