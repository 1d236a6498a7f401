// A launcher's variables, NAME=VALUE a line: a place whose numbers fit, or an error that says what is wrong and where. The
// same text as a list of hosts, as counts of tasks and as a host file.
#include "argosy/base/check.h"
#include "argosy/cluster/environment/find_place.h"
#include "argosy/cluster/environment/host_list.h"
#include "argosy/cluster/launch/host_slots.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(argosy::as_text(data, size));
  argosy::EnvironmentMap environment;
  for (const std::string& line : argosy::str_split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos && equals + 1 < line.size())
      environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  const auto place = argosy::find_place(environment, {});
  if (place.ok()) {
    ARGOSY_CHECK(place->rank >= 0 && place->rank < place->size && place->local_rank < place->local_size);
    ARGOSY_CHECK(place->size == 1 || !place->coordinators.empty() ||
                 place->exchange != argosy::JobPlace::Exchange::kNone);
    (void)argosy::describe(*place);
  } else {
    ARGOSY_CHECK(!place.status().message().empty() && !place.status().where().empty());
  }
  if (const auto hosts = argosy::expand_host_list(text); hosts.ok()) ARGOSY_CHECK(!hosts->empty());
  (void)argosy::expand_counts(text);
  for (const auto& hosts : {argosy::parse_hosts(text), argosy::parse_host_file(text)}) {
    if (!hosts.ok()) continue;
    for (const argosy::HostSlots& host : *hosts) ARGOSY_CHECK(!host.host.empty() && host.host[0] != '-');
  }
  return 0;
}
