#include <algorithm>
#include <limits>

#include "argosy/base/system/confined_path.h"
#include "argosy/base/system/file.h"
#include "argosy/op/kernel/file_policy.h"
#include "argosy/ops/file/matching.h"

namespace argosy {

namespace {

Result<std::string> path_input(const KernelContext& c, int i, std::string_view what) {
  const Tensor& t = c.input(i);
  if (t.dtype() != DType::kString || t.shape().rank() != 0) {
    return invalid_argument("Input ", what, " tensor must be scalar, but had shape: ", t.shape());
  }
  return *t.data<std::string>();
}

Status read(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(std::string path, path_input(c, 0, "filename"));
  ARGOSY_ASSIGN_OR_RETURN(path, allowed_file(c, path));
  if (is_directory(path)) return failed_precondition(plain_path(path), "; Is a directory");
  ARGOSY_ASSIGN_OR_RETURN(std::string contents, read_file(path, std::numeric_limits<std::int64_t>::max()));
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {}));
  *y->data<std::string>() = std::move(contents);
  return ok_status();
}

Status write(KernelContext& c) {
  ARGOSY_ASSIGN_OR_RETURN(std::string path, path_input(c, 0, "filename"));
  ARGOSY_ASSIGN_OR_RETURN(const std::string contents, path_input(c, 1, "contents"));
  ARGOSY_ASSIGN_OR_RETURN(path, allowed_file(c, path));
  ARGOSY_RETURN_IF_ERROR(make_directories(parent_directory(path)));
  ARGOSY_ASSIGN_OR_RETURN(File file, File::create(path));
  ARGOSY_RETURN_IF_ERROR(file.write(contents));
  return file.close();
}

Status matching(KernelContext& c) {
  const Tensor& patterns = c.input(0);
  if (patterns.dtype() != DType::kString || patterns.shape().rank() > 1) {
    return invalid_argument("Input patterns tensor must be scalar or vector, but had shape: ", patterns.shape());
  }
  std::vector<std::string> all;
  for (const std::string& pattern : patterns.values<std::string>()) {
    ARGOSY_ASSIGN_OR_RETURN(const auto some, matching_files(c, pattern));
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  ARGOSY_ASSIGN_OR_RETURN(Tensor* const y, c.output(0, {static_cast<std::int64_t>(all.size())}));
  std::move(all.begin(), all.end(), y->data<std::string>());
  return ok_status();
}

}  // namespace

void add_kernels_cpu_file(KernelRegistry& kernels) {
  kernels.add("ReadFile", "cpu", read);
  kernels.add("WriteFile", "cpu", write);
  kernels.add("MatchingFiles", "cpu", matching);
}

}  // namespace argosy
