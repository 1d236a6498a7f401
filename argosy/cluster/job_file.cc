#include "argosy/cluster/job_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "argosy/rpc/gate/descriptor.h"

namespace argosy {

namespace {

std::string folder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != 0) return str_cat(runtime, "/argosy-jobs");
  return str_cat("/tmp/argosy-jobs-", ::geteuid());
}

// A folder that is this user's alone: in /tmp anybody can make one of that name.
bool is_ours(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() &&
         (facts.st_mode & 077) == 0;
}

}  // namespace

JobFile::JobFile(int port, const JobToken& token) {
  if (token.none()) return;
  const std::string own = folder();
  (void)::mkdir(own.c_str(), 0700);
  if (!is_ours(own)) return;
  const std::string path = str_cat(own, "/", port);
  (void)::unlink(path.c_str());  // of a job that was killed
  const tf::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return;
  const std::string text = token.to_hexadecimal();
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) path_ = path;
}

JobFile::~JobFile() {
  if (!path_.empty()) (void)::unlink(path_.c_str());
}

JobToken JobFile::find(int port) {
  const std::string own = folder();
  if (!is_ours(own)) return {};
  const tf::Descriptor file(::open(str_cat(own, "/", port).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  char text[2 * JobToken::kBytes];
  if (file.get() < 0 || ::read(file.get(), text, sizeof text) != static_cast<ssize_t>(sizeof text)) return {};
  return JobToken::parse({text, sizeof text}).value_or(JobToken());
}

}  // namespace argosy
