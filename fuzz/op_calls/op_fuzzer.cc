// op_fuzzer: calls of every op, drawn from its definition and from the cases that the suite's tests wrote down; prints
// what must not be, and how far the calls of each op came.
//   op_fuzzer --calls 100000 --seconds 25 --cases build/release/op_cases
//   op_fuzzer --op MatMul --seed 17 --cases ...     one call, printed first; with --calls 20 also the next
//   valgrind op_fuzzer --here --calls 2000          all in this process
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "argosy/ops/ops.h"
#include "fuzz/op_calls/campaign.h"

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:max_allocation_size_mb=4096:detect_odr_violation="
         "0";
}
extern "C" const char* __ubsan_default_options() { return "halt_on_error=1:abort_on_error=1:print_stacktrace=1"; }
#endif

namespace {

using namespace argosy;
using namespace argosy::op_calls;

constexpr std::size_t kMostCasesPerOp = 40;

void read_cases(const std::string& folder, Recorded& recorded) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::map<std::string, int> met;
  for (const auto& file : files) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      if (line.size() > 20000) continue;  // big tensors are slow, not instructive
      auto c = read_case(line);
      if (!c.ok() || !*c || builtin_ops().find((*c)->op) == nullptr) continue;
      auto& list = recorded[(*c)->op];
      const int n = met[(*c)->op]++;
      if (list.size() < kMostCasesPerOp) {
        list.push_back(std::move(**c));
      } else if (n % 7 == 0) {  // some of the later ones
        list[static_cast<std::size_t>(n) / 7 % kMostCasesPerOp] = std::move(**c);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CampaignOptions options;
  std::string cases, scratch;
  bool every_op = false, one_call = false, in_session = false, calls_given = false, here = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : ""; };
    if (flag == "--calls") {
      options.calls = std::strtoull(value(), nullptr, 10);
      calls_given = true;
    } else if (flag == "--seconds") {
      options.seconds = std::atof(value());
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value(), nullptr, 10);
      one_call = true;
    } else if (flag == "--op") {
      options.only = value();
    } else if (flag == "--cases") {
      cases = value();
    } else if (flag == "--every-op") {
      every_op = true;
    } else if (flag == "--in-session") {
      in_session = true;
    } else if (flag == "--here") {
      here = true;
    } else if (flag == "--sessions") {
      options.in_session = std::atoi(value());
    } else if (flag == "--longest") {
      options.longest_seconds = std::atof(value());
    } else {
      std::fprintf(stderr,
                   "op_fuzzer: what is %s? --calls N --seconds S --seed N --op NAME --cases FOLDER --every-op "
                   "--in-session --sessions N --longest S --here\n",
                   flag.c_str());
      return 2;
    }
  }
  // The suite's long run.
  if (const char* const calls = std::getenv("ARGOSY_FUZZ_CALLS"); calls != nullptr && *calls != '\0') {
    options.calls = std::strtoull(calls, nullptr, 10);
    options.seconds = 0;
  }
  Recorded recorded;
  if (!cases.empty()) read_cases(cases, recorded);
  std::size_t number = 0;
  for (const auto& [op, list] : recorded) number += list.size();
  std::printf("%zu ops, %zu recorded cases of %zu of them\n", builtin_ops().all().size(), number, recorded.size());
  // Ops that write files write here.
  char folder[] = "/tmp/argosy_op_fuzzer_XXXXXX";
  if (mkdtemp(folder) == nullptr || chdir(folder) != 0) return 3;
  int code = 0;
  if (!options.only.empty() && one_call) {
    const int times = calls_given ? static_cast<int>(options.calls) : 1;
    code = replay(options.only, options.seed, times, in_session, recorded);
  } else if (here) {
    SharedProgress& progress = new_shared_progress();
    code = run_here(options, recorded, progress) == 0 ? 0 : 1;
    print_coverage(progress, every_op);
    std::fflush(nullptr);
    _exit(code);
  } else {
    SharedProgress& progress = new_shared_progress();
    const auto findings = run_campaign(options, recorded, progress);
    print_coverage(progress, every_op);
    std::printf("%zu findings\n", findings.size());
    for (const Finding& f : findings)
      std::printf("  %s (%d times): --op %s --seed %llu%s: %s\n", f.op.c_str(), f.times, f.op.c_str(),
                  static_cast<unsigned long long>(f.seed), f.in_session ? " --in-session" : "",
                  f.what.substr(0, std::min(f.what.find('\n'), std::size_t{200})).c_str());
    code = findings.empty() ? 0 : 1;
  }
  std::error_code failed;
  if (chdir("/") == 0) std::filesystem::remove_all(folder, failed);
  return code;
}
