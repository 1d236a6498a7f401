#include "argosy/tf/server/service/service_metrics.h"

#include "argosy/tf/server/service/session_service.h"

namespace argosy::tf {

namespace {
constexpr std::int64_t kFirstBucketNanos = 50'000;

void head(std::string& to, std::string_view name, std::string_view type, std::string_view help) {
  to += str_cat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}
}  // namespace

void ServiceMetrics::count(int method, Code code, std::size_t request_bytes, std::int64_t nanos) {
  constexpr auto relaxed = std::memory_order_relaxed;
  calls_[static_cast<std::size_t>(method)].fetch_add(1, relaxed);
  request_bytes_.fetch_add(static_cast<std::int64_t>(request_bytes), relaxed);
  if (code != Code::kOk) count_step_error(code);
  if (method != static_cast<int>(Method::kRunStep) && method != static_cast<int>(Method::kRunCallable)) return;
  step_nanos_.fetch_add(nanos, relaxed);
  std::size_t bucket = 0;
  for (std::int64_t bound = kFirstBucketNanos; bucket < kBuckets && nanos > bound; bound *= 2) ++bucket;
  buckets_[bucket].fetch_add(1, relaxed);
}

void ServiceMetrics::count_step_error(Code code) {
  // What another task says may be any number.
  const auto known = static_cast<std::size_t>(code) < errors_.size() ? code : Code::kUnknown;
  errors_[static_cast<std::size_t>(known)].fetch_add(1, std::memory_order_relaxed);
}

std::string ServiceMetrics::to_prometheus() const {
  std::string text;
  head(text, "argosy_rpcs_total", "counter", "Calls of the session service, by method.");
  for (int m = 0; m < kNumMethods; ++m) {
    text += str_cat("argosy_rpcs_total{method=\"", method_name(static_cast<Method>(m)), "\"} ",
                    calls_[static_cast<std::size_t>(m)].load(), "\n");
  }
  head(text, "argosy_errors_total", "counter", "Calls and steps that failed, by code.");
  for (int c = 1; c < kCodes; ++c) {
    text += str_cat("argosy_errors_total{code=\"", code_name(static_cast<Code>(c)), "\"} ",
                    errors_[static_cast<std::size_t>(c)].load(), "\n");
  }
  head(text, "argosy_step_seconds", "histogram", "Time in the server of RunStep and RunCallable.");
  std::int64_t total = 0;
  double bound = kFirstBucketNanos * 1e-9;
  for (std::size_t b = 0; b < kBuckets; ++b, bound *= 2) {
    total += buckets_[b].load();
    text += str_cat("argosy_step_seconds_bucket{le=\"", bound, "\"} ", total, "\n");
  }
  total += buckets_[kBuckets].load();
  text += str_cat("argosy_step_seconds_bucket{le=\"+Inf\"} ", total, "\nargosy_step_seconds_sum ",
                  static_cast<double>(step_nanos_.load()) * 1e-9, "\nargosy_step_seconds_count ", total, "\n");
  head(text, "argosy_request_bytes_total", "counter", "Bytes of requests.");
  text += str_cat("argosy_request_bytes_total ", request_bytes_.load(), "\n");
  head(text, "argosy_response_bytes_total", "counter", "Bytes of responses.");
  text += str_cat("argosy_response_bytes_total ", response_bytes_.load(), "\n");
  return text;
}

}  // namespace argosy::tf
