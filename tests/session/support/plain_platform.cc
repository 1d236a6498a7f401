// Sessions are as the tests say.
#include "tests/session/support/test_session.h"

namespace argosy {

std::unique_ptr<TestPlatform> make_test_platform(SessionOptions& /*options*/) { return nullptr; }

}  // namespace argosy
