#include <signal.h>
#include <string.h>

#include <algorithm>

#include "tools/argosy/cli/count_of.h"
#include "tools/argosy/cli/exit_code.h"
#include "tools/argosy/launch/outcome.h"

namespace argosy::cli {

namespace {

std::string field(const nlohmann::ordered_json& error, const char* name) {
  if (!error.is_object()) return {};
  const auto at = error.find(name);
  return at != error.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// A number of a process: its exit code, or a signal.
int small_number(const nlohmann::ordered_json& report, const char* name, int otherwise) {
  const auto at = report.find(name);
  const bool right = at != report.end() && at->is_number_integer() && *at >= 0 && *at <= 255;
  return right ? at->get<int>() : otherwise;
}

// The rank that an error names in its place: "node 'x', task 3 (gpu-b)"; -1: none.
int named_task(const TaskOutcome& outcome) {
  const std::string where = field(outcome.error, "where");
  const std::size_t at = where.rfind("task ");
  return at == std::string::npos ? -1 : std::atoi(where.c_str() + at + 5);
}

bool follows(const TaskOutcome& outcome) {
  const int named = named_task(outcome);
  return outcome.ended_by_us || (named >= 0 && named != outcome.rank);
}

std::string_view last_line(const std::string& text) {
  const std::string_view words = str_trim(text);
  return words.substr(words.rfind('\n') == std::string_view::npos ? 0 : words.rfind('\n') + 1);
}

std::string how_it_ended(const TaskOutcome& outcome) {
  if (outcome.signal == 0) return str_cat("ended with exit code ", outcome.exit);
  const char* const name = ::sigabbrev_np(outcome.signal);
  return str_cat("was ended by signal ", outcome.signal, name != nullptr ? str_cat(" (SIG", name, ")") : std::string());
}

Code code_of(const nlohmann::ordered_json& error) {
  const std::string name = field(error, "code");
  for (int code = 1; code <= static_cast<int>(Code::kUnauthenticated); ++code) {
    if (code_name(static_cast<Code>(code)) == name) return static_cast<Code>(code);
  }
  return Code::kUnknown;
}

Status cause_of(const TaskOutcome& first, std::size_t others) {
  const std::string rest =
      others == 0 ? "" : str_cat("; ", count_of(static_cast<std::int64_t>(others), "other"), " stopped because of it");
  if (first.error.is_object() && !field(first.error, "message").empty()) {
    std::string where = field(first.error, "where");
    if (where.find("task ") == std::string::npos) where += str_cat(where.empty() ? "" : ", ", first.name());
    return Status(code_of(first.error), str_cat(field(first.error, "message"), rest))
        .with_id(field(first.error, "id"))
        .with_where(where)
        .with_hint(field(first.error, "next"));
  }
  const std::string_view last = last_line(first.agent_words.empty() ? first.last_words : first.agent_words);
  return Status(Code::kUnavailable, str_cat(first.name(), " ", how_it_ended(first),
                                            last.empty() ? "" : str_cat(", its last words: ", last), rest))
      .with_id("ARG-CLUSTER-051")
      .with_where(first.name())
      .with_hint("--log-dir DIR keeps the output of every task");
}

int exit_of(const TaskOutcome& first, const std::vector<TaskOutcome>& outcomes, int asked) {
  if (asked != 0) {
    // Interrupted tasks say whether they may be started again.
    const bool again =
        std::any_of(outcomes.begin(), outcomes.end(), [](const auto& o) { return o.exit == kInterrupted; });
    return again ? kInterrupted : first.exit;
  }
  if (first.exit == kInterrupted) return kInterrupted;
  return first.signal != 0 ? kPeerLost : first.exit;
}

}  // namespace

void agent_ended(int exit, int signal, bool remote, bool answered, TaskOutcome& outcome) {
  constexpr int kSshFailed = 255, kNotFound = 127, kNotExecutable = 126;
  outcome.exit = signal != 0 ? 128 + signal : std::max(1, exit);
  outcome.signal = signal;
  if (!remote || signal != 0) return;
  const auto tell = [&](const Status& cause) {
    outcome.error = {{"code", code_name(cause.code())},
                     {"id", "ARG-CLUSTER-051"},
                     {"message", cause.message()},
                     {"where", outcome.name()},
                     {"next", cause.hint()}};
  };
  const std::string_view words = last_line(outcome.agent_words);
  const std::string said = words.empty() ? std::string() : str_cat(": ", words);
  if (exit == kSshFailed && answered) {
    outcome.exit = kPeerLost;
    tell(unavailable("the connection to host ", outcome.host, " was closed", said)
             .with_hint("--log-dir DIR keeps the output of every task"));
  } else if (exit == kSshFailed) {
    outcome.exit = kMissing;
    tell(not_found("host ", outcome.host, " is not reached by ssh", said)
             .with_hint(str_cat("ssh -o BatchMode=yes ", outcome.host, " true")));
  } else if (!answered && (exit == kNotFound || exit == kNotExecutable)) {
    outcome.exit = kMissing;
    tell(not_found("argosy cannot be started on host ", outcome.host, said)
             .with_hint("--remote-argosy PATH says where it is there"));
  }
}

bool read_exit(std::string_view frame, TaskOutcome& outcome) {
  // What lies deeper than an error's fields is left out: a task writes them as it likes.
  using Json = nlohmann::ordered_json;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 4; };
  const Json report = Json::parse(frame, shallow, false);
  if (!report.is_object()) return false;
  outcome.exit = small_number(report, "exit", 1);
  outcome.signal = small_number(report, "signal", 0);
  if (report.contains("error") && report["error"].is_object()) outcome.error = report["error"];
  return true;
}

std::string TaskOutcome::name() const { return str_cat("task ", rank, " (", host, ")"); }

nlohmann::ordered_json outcome_json(const TaskOutcome& outcome) {
  return {{"schema_version", 1},
          {"task", outcome.rank},
          {"host", outcome.host},
          {"exit", outcome.exit},
          {"signal", outcome.signal},
          {"error", outcome.error},
          {"last_output", outcome.last_words}};
}

LaunchEnd end_of_launch(const std::vector<TaskOutcome>& outcomes, int asked) {
  const TaskOutcome* first = nullptr;
  std::size_t failed = 0;
  const auto before = [](const TaskOutcome& a, const TaskOutcome& b) {
    if (follows(a) != follows(b)) return !follows(a);
    // A task that a signal ended had no time to say anything: it comes before those that speak of it.
    return a.order < b.order;
  };
  for (const TaskOutcome& outcome : outcomes) {
    if (!outcome.failed()) continue;
    ++failed;
    if (first == nullptr || before(outcome, *first)) first = &outcome;
  }
  if (first == nullptr) return {};
  LaunchEnd end{.exit = exit_of(*first, outcomes, asked), .cause = {}};
  if (asked == 0 && end.exit != kInterrupted) end.cause = cause_of(*first, failed - 1);
  return end;
}

}  // namespace argosy::cli
