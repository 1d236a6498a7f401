#include "argosy/cluster/cluster_spec.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "argosy/base/system/file.h"

namespace argosy {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMostBytes = 16 << 20;
constexpr int kMostDepth = 64;

Status wrong(const auto&... what) {
  return invalid_argument("cluster: ", what...)
      .with_id("ARG-CLUSTER-001")
      .with_hint(R"({"ps": ["a:2222"], "worker": ["b:2222", "c:2222"]})");
}

// A value as the message shows it: short, whatever it is.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string quoted(const std::string& text) { return shown(Json(text)); }

// Keeps the first problem that the parser itself does not look for: a key twice, too deep a nesting.
class Watch {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kMostDepth) problem_ = str_cat("nested deeper than ", kMostDepth);
    if (!problem_.empty()) return false;
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      problem_ = str_cat("key ", shown(parsed), " is there twice");
    }
    return true;
  }
  const std::string& problem() const { return problem_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::string problem_;
};

Result<Json> read_json(std::string_view text) {
  Watch watch;
  if (static_cast<std::int64_t>(text.size()) > kMostBytes) {
    return wrong("a text of ", text.size(), " bytes, at most ", kMostBytes, " are read");
  }
  Json json;
  try {
    json = Json::parse(text.begin(), text.end(), std::ref(watch));
  } catch (const Json::parse_error& e) {
    return wrong("no JSON: at byte ", e.byte, " of ", text.size());
  }
  if (!watch.problem().empty()) return wrong(watch.problem());
  if (!json.is_object()) return wrong("wanted an object of jobs, this is ", shown(json));
  return json;
}

bool is_job_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

bool read_number(std::string_view text, int most, int* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return !text.empty() && text[0] != '-' && error == std::errc() && end == text.data() + text.size() && *number <= most;
}

// "host:port" or "[v6 address]:port".
bool is_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0) return false;
  if (!read_number(std::string_view(text).substr(colon + 1), 65535, &port) || port == 0) return false;
  const std::string_view host = std::string_view(text).substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find(':') != std::string_view::npos) return false;
  return std::ranges::all_of(host, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '/' && c != '"'; });
}

Status add_task(const std::string& job, int task, const Json& address, ClusterSpec& to) {
  const std::string name = TaskName{job, task}.to_string();
  if (!address.is_string() || !is_address(address.get<std::string>())) {
    return wrong("the address of ", name, " is ", shown(address), ", wanted \"host:port\" with a port from 1 to 65535");
  }
  to.jobs[job][task] = address.get<std::string>();
  return ok_status();
}

Status add_job(const std::string& job, const Json& tasks, ClusterSpec& to) {
  if (!is_job_name(job)) return wrong("job ", quoted(job), ": a name is letters, digits and _, a letter first");
  if ((!tasks.is_array() && !tasks.is_object()) || tasks.empty()) {
    return wrong("job ", quoted(job), " is ", shown(tasks), ", wanted a list of addresses with one or more");
  }
  if (tasks.is_array()) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      ARGOSY_RETURN_IF_ERROR(add_task(job, static_cast<int>(i), tasks[i], to));
    }
    return ok_status();
  }
  for (const auto& [key, address] : tasks.items()) {
    int task = 0;
    if (!read_number(key, std::numeric_limits<int>::max(), &task) || key != std::to_string(task)) {
      return wrong("job ", quoted(job), ": ", quoted(key), " is no number of a task");
    }
    ARGOSY_RETURN_IF_ERROR(add_task(job, task, address, to));
  }
  return ok_status();
}

Status check_unique(const ClusterSpec& spec) {
  std::map<std::string_view, TaskName> seen;
  for (const TaskName& task : spec.tasks()) {
    const auto [at, fresh] = seen.emplace(*spec.address(task), task);
    if (!fresh) return wrong("address ", at->first, " is that of ", at->second, " and of ", task);
  }
  return ok_status();
}

Result<ClusterSpec> read_jobs(const Json& jobs) {
  if (!jobs.is_object() || jobs.empty()) return wrong("wanted an object of jobs, this is ", shown(jobs));
  ClusterSpec spec;
  for (const auto& [job, tasks] : jobs.items()) ARGOSY_RETURN_IF_ERROR(add_job(job, tasks, spec));
  ARGOSY_RETURN_IF_ERROR(check_unique(spec));
  return spec;
}

// "cluster" may also be the name of a job: then its values are addresses.
bool is_tf_config(const Json& json) {
  const auto cluster = json.find("cluster");
  if (cluster == json.end() || !cluster->is_object()) return false;
  return cluster->empty() || std::ranges::any_of(*cluster, [](const Json& v) { return v.is_structured(); });
}

Result<std::optional<TaskName>> read_task(const Json& config) {
  const auto task = config.find("task");
  if (task == config.end() || task->is_null() || task->empty()) return std::optional<TaskName>();
  if (!task->is_object()) return wrong("\"task\" is ", shown(*task), R"(, wanted {"type": "worker", "index": 0})");
  const Json type = task->value("type", Json()), index = task->value("index", Json(0));
  if (!type.is_string() || !is_job_name(type.get<std::string>())) {
    return wrong("the task's \"type\" is ", shown(type), ", wanted the name of a job");
  }
  // Some launchers write the number as a text.
  int number = 0;
  const std::string digits = index.is_string() ? index.get<std::string>() : index.dump();
  if ((!index.is_string() && !index.is_number_integer()) ||
      !read_number(digits, std::numeric_limits<int>::max(), &number)) {
    return wrong("the task's \"index\" is ", shown(index), ", wanted the number of a task");
  }
  return std::optional<TaskName>(TaskName{type.get<std::string>(), number});
}

}  // namespace

std::string TaskName::to_string() const { return str_cat("/job:", job, "/replica:0/task:", task); }

Result<ClusterSpec> ClusterSpec::parse(std::string_view json) {
  ARGOSY_ASSIGN_OR_RETURN(const Json parsed, read_json(json));
  return read_jobs(is_tf_config(parsed) ? parsed["cluster"] : parsed);
}

Result<ClusterSpec> ClusterSpec::read(const std::string& text) {
  if (!text.starts_with('@')) return parse(text);
  const std::string path = text.substr(1);
  ARGOSY_ASSIGN_OR_RETURN(const std::string json, read_file(path, kMostBytes));
  auto spec = parse(json);
  if (!spec.ok()) return std::move(spec).status().with_where(path);
  return spec;
}

const std::string* ClusterSpec::address(const TaskName& task) const {
  const auto job = jobs.find(task.job);
  if (job == jobs.end()) return nullptr;
  const auto found = job->second.find(task.task);
  return found == job->second.end() ? nullptr : &found->second;
}

std::vector<TaskName> ClusterSpec::tasks() const {
  std::vector<TaskName> all;
  for (const auto& [job, tasks] : jobs) {
    for (const auto& [task, address] : tasks) all.push_back({job, task});
  }
  return all;
}

std::string ClusterSpec::to_json() const {
  Json json = Json::object();
  for (const auto& [job, tasks] : jobs) {
    const bool dense = tasks.empty() || tasks.rbegin()->first == static_cast<int>(tasks.size()) - 1;
    Json& list = json[job] = dense ? Json::array() : Json::object();
    for (const auto& [task, address] : tasks) {
      if (dense) {
        list.push_back(address);
      } else {
        list[std::to_string(task)] = address;
      }
    }
  }
  return json.dump();
}

Result<TfConfig> TfConfig::parse(std::string_view json) {
  ARGOSY_ASSIGN_OR_RETURN(const Json parsed, read_json(json));
  const auto cluster = parsed.find("cluster");
  TfConfig config;
  if (cluster == parsed.end() && read_jobs(parsed).ok()) {
    return wrong("TF_CONFIG has no \"cluster\", but jobs outside of it")
        .with_hint(R"({"cluster": {"worker": ["a:2222"]}})");
  }
  if (cluster != parsed.end() && !cluster->is_null() && *cluster != Json::object()) {
    ARGOSY_ASSIGN_OR_RETURN(config.cluster, read_jobs(*cluster));
  }
  ARGOSY_ASSIGN_OR_RETURN(config.task, read_task(parsed));
  return config;
}

}  // namespace argosy
