// PMI-1, as MPICH's launchers speak it: one line a request, one line an answer, "cmd=get_result rc=0 value=…".
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "argosy/cluster/environment/launcher_exchange.h"

namespace argosy {

namespace {

constexpr std::size_t kMostBytes = 16 << 10;
constexpr const char* kKey = "argosy-coordinator";

Status broken(std::string_view why) {
  return unavailable("PMI-1 on PMI_FD: ", why)
      .with_id("ARG-CLUSTER-049")
      .with_where("PMI_FD")
      .with_hint("export ARGOSY_COORDINATOR=HOST:PORT of task 0, the same on every host");
}

using Answer = std::map<std::string, std::string>;

class Pmi1 {
 public:
  explicit Pmi1(int descriptor) : descriptor_(descriptor) {}

  Result<Answer> ask(const std::string& request, std::string_view expected) {
    ARGOSY_RETURN_IF_ERROR(send(request + "\n"));
    ARGOSY_ASSIGN_OR_RETURN(const std::string line, receive());
    Answer answer;
    for (const std::string& word : str_split(line, ' ')) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) answer[word.substr(0, equals)] = word.substr(equals + 1);
    }
    if (answer["cmd"] != expected) return broken(str_cat("\"", line.substr(0, 80), "\" is no ", expected));
    if (answer.contains("rc") && answer["rc"] != "0")
      return broken(str_cat("it refuses: \"", line.substr(0, 80), "\""));
    return answer;
  }

 private:
  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      // A launcher that is gone is an error here, not a signal that ends the process.
      ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == ENOTSOCK) n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return broken(std::strerror(errno));
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return ok_status();
  }

  Result<std::string> receive() {
    std::string line;
    char c = 0;
    while (line.size() < kMostBytes) {
      const ssize_t n = ::read(descriptor_, &c, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return broken(std::strerror(errno));
      if (n == 0) return broken("it was closed");
      if (c == '\n') return line;
      line += c;
    }
    return broken("a line without an end");
  }

  const int descriptor_;
};

}  // namespace

Result<std::string> share_by_pmi1(int descriptor, int rank, const std::string& value) {
  Pmi1 pmi(descriptor);
  ARGOSY_RETURN_IF_ERROR(pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init").status());
  ARGOSY_ASSIGN_OR_RETURN(Answer name, pmi.ask("cmd=get_my_kvsname", "my_kvsname"));
  const std::string space = name["kvsname"];
  if (rank == 0) {
    ARGOSY_RETURN_IF_ERROR(
        pmi.ask(str_cat("cmd=put kvsname=", space, " key=", kKey, " value=", value), "put_result").status());
  }
  ARGOSY_RETURN_IF_ERROR(pmi.ask("cmd=barrier_in", "barrier_out").status());
  ARGOSY_ASSIGN_OR_RETURN(Answer found, pmi.ask(str_cat("cmd=get kvsname=", space, " key=", kKey), "get_result"));
  // Else the launcher takes the end of this process for a failure.
  ARGOSY_RETURN_IF_ERROR(pmi.ask("cmd=finalize", "finalize_ack").status());
  return found["value"];
}

}  // namespace argosy
