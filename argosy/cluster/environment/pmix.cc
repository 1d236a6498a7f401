// PMIx by dlopen: launchers bring their own library, and it is theirs that answers them. Six functions of its public
// interface (version 2 and later), with the layouts that the PMIx standard fixes.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "argosy/cluster/environment/launcher_exchange.h"

namespace argosy {

namespace {

constexpr const char* kKey = "argosy-coordinator";
constexpr std::uint16_t kString = 3;             // a value's type
constexpr std::uint8_t kGlobal = 3;              // a scope
constexpr std::uint32_t kWildcard = 0xFFFFFFFE;  // every rank

struct Process {
  char space[256];
  std::uint32_t rank;
};
struct Value {
  std::uint16_t type;
  union {
    char* text;
    char room[64];  // more than the largest member takes
  } data;
};

Status broken(const std::string& why) {
  return unavailable("PMIx: ", why)
      .with_id("ARG-CLUSTER-049")
      .with_where("PMIX_NAMESPACE")
      .with_hint("export ARGOSY_COORDINATOR=HOST:PORT of task 0, passed on by mpirun -x ARGOSY_COORDINATOR");
}

class Library {
 public:
  Status open() {
    for (const char* name : {"libpmix.so.2", "libpmix.so"}) {
      if (handle_ == nullptr) handle_ = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    }
    if (handle_ == nullptr) return broken(str_cat("no library: ", ::dlerror()));
    const bool all = find("PMIx_Init", init) && find("PMIx_Put", put) && find("PMIx_Commit", commit) &&
                     find("PMIx_Fence", fence) && find("PMIx_Get", get) && find("PMIx_Finalize", finalize);
    return all ? ok_status() : broken("the library lacks a function of version 2");
  }

  int (*init)(Process*, void*, std::size_t) = nullptr;
  int (*put)(std::uint8_t, const char*, Value*) = nullptr;
  int (*commit)() = nullptr;
  int (*fence)(const Process*, std::size_t, const void*, std::size_t) = nullptr;
  int (*get)(const Process*, const char*, const void*, std::size_t, Value**) = nullptr;
  int (*finalize)(const void*, std::size_t) = nullptr;

 private:
  template <typename Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    return function != nullptr;
  }
  void* handle_ = nullptr;  // never closed: it has threads
};

Result<std::string> share_by_pmix(const std::string& value, int rank) {
  Library pmix;
  ARGOSY_RETURN_IF_ERROR(pmix.open());
  Process own{};
  if (const int rc = pmix.init(&own, nullptr, 0); rc != 0) return broken(str_cat("PMIx_Init: ", rc));
  if (rank == 0) {
    Value text{};
    text.type = kString;
    text.data.text = const_cast<char*>(value.c_str());
    if (const int rc = pmix.put(kGlobal, kKey, &text); rc != 0) return broken(str_cat("PMIx_Put: ", rc));
  }
  if (const int rc = pmix.commit(); rc != 0) return broken(str_cat("PMIx_Commit: ", rc));
  Process whom = own;
  whom.rank = kWildcard;
  if (const int rc = pmix.fence(&whom, 1, nullptr, 0); rc != 0) return broken(str_cat("PMIx_Fence: ", rc));
  whom.rank = 0;
  Value* found = nullptr;
  if (const int rc = pmix.get(&whom, kKey, nullptr, 0, &found); rc != 0) return broken(str_cat("PMIx_Get: ", rc));
  if (found == nullptr || found->type != kString || found->data.text == nullptr) return broken("no text came back");
  std::string shared = found->data.text;
  whom.rank = kWildcard;
  (void)pmix.fence(&whom, 1, nullptr, 0);  // task 0 answers until all have asked
  (void)pmix.finalize(nullptr, 0);
  return shared;
}

}  // namespace

Result<std::string> share_from_task_0(const JobPlace& place, const std::string& value) {
  if (place.exchange == JobPlace::Exchange::kPmix) return share_by_pmix(value, place.rank);
  const char* const descriptor = std::getenv("PMI_FD");
  if (descriptor == nullptr) return internal_error("PMI_FD is not set");
  return share_by_pmi1(std::atoi(descriptor), place.rank, value);
}

}  // namespace argosy
