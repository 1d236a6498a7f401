// ARGOSY_CLUSTER: what argosy launch says to the tasks that it starts.
//
//   {"rank": 1, "size": 4, "local_rank": 0, "local_size": 2, "coordinator": ["gpu-a:29500"], "hosts": ["gpu-a", …],
//    "job": "3f2a"}
#include <nlohmann/json.hpp>

#include "argosy/cluster/environment/variables.h"

namespace argosy {

namespace {

using Json = nlohmann::json;

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  void number(const char* name, int& to, bool required) {
    const auto at = json_.find(name);
    if (at == json_.end()) {
      if (required) wrong_ = str_cat("\"", name, "\" is missing");
      return;
    }
    const bool right = at->is_number_integer() && *at >= 0 && *at <= kMostTasks;
    if (!right) return void(wrong_ = str_cat("\"", name, "\" is no number from 0 to ", kMostTasks));
    to = at->get<int>();
  }
  void text(const char* name, std::string& to) {
    const auto at = json_.find(name);
    if (at == json_.end()) return;
    if (!at->is_string()) return void(wrong_ = str_cat("\"", name, "\" is no text"));
    to = at->get<std::string>();
  }
  void texts(const char* name, std::vector<std::string>& to) {
    const auto at = json_.find(name);
    if (at == json_.end()) return;
    if (!at->is_array()) return void(wrong_ = str_cat("\"", name, "\" is no list"));
    for (const Json& item : *at) {
      if (!item.is_string()) return void(wrong_ = str_cat("\"", name, "\" is no list of texts"));
      to.push_back(item.get<std::string>());
    }
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const Json& json_;
  std::string wrong_;
};

}  // namespace

FoundPlace place_of_argosy(const EnvironmentMap& environment) {
  const std::string_view text = text_of(environment, "ARGOSY_CLUSTER");
  if (text.empty()) return std::optional<JobPlace>();
  const auto wrong = [](std::string_view why) {
    return invalid_argument("ARGOSY_CLUSTER cannot be read: ", why)
        .with_id("ARG-CLUSTER-030")
        .with_where("ARGOSY_CLUSTER")
        .with_hint("{\"rank\": 0, \"size\": 2, \"coordinator\": [\"gpu-a:29500\"]}");
  };
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return wrong("it is no JSON object");
  JobPlace place{.source = "ARGOSY_CLUSTER"};
  Reader reader(json);
  reader.number("rank", place.rank, true);
  reader.number("size", place.size, true);
  reader.number("local_rank", place.local_rank, false);
  reader.number("local_size", place.local_size, false);
  reader.texts("coordinator", place.coordinators);
  reader.texts("hosts", place.hosts);
  reader.text("job", place.job);
  if (!reader.wrong().empty()) return wrong(reader.wrong());
  if (!place.hosts.empty() && static_cast<int>(place.hosts.size()) != place.size) {
    return wrong(str_cat(place.hosts.size(), " hosts for ", place.size, " tasks"));
  }
  return std::optional<JobPlace>(std::move(place));
}

}  // namespace argosy
