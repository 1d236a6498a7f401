#include "argosy/tf/server/transport/master_methods.h"

namespace argosy::tf {

namespace {

// Many sessions run steps at once: more calls arrive while one thread is busy.
constexpr int kWaitingSteps = 16;

}  // namespace

std::vector<RpcMethod> master_methods(SessionService& service) {
  std::vector<RpcMethod> methods;
  for (int i = 0; i < kNumMethods; ++i) {
    const auto method = static_cast<Method>(i);
    RpcMethod row{.path = str_cat("/tensorflow.MasterService/", method_name(method)),
                  .handler = [&service, method](WireReader request, CallContext& context) {
                    return service.call(method, request, context);
                  }};
    if (method == Method::kRunStep || method == Method::kRunCallable) row.waiting = kWaitingSteps;
    methods.push_back(std::move(row));
  }
  return methods;
}

}  // namespace argosy::tf
