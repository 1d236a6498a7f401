// Who is let in: certificates on both sides, networks without.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "argosy/rpc/gate/peer_filter.h"
#include "argosy/rpc/gate/tls_hello.h"
#include "argosy/tf/server/tests/server_test.h"

namespace argosy::tf {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class TlsTest : public ServerTest {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / str_cat("argosy_tls_", getpid());
    std::filesystem::create_directories(folder_);
    if (!authority("ca") || !authority("other") || !certificate("server", "ca") || !certificate("client", "ca") ||
        !certificate("stranger", "other")) {
      GTEST_SKIP() << "no openssl program to make certificates with";
    }
    start({.tls_cert = file("server.crt"), .tls_key = file("server.key"), .tls_ca = file("ca.crt")});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  static bool sh(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }
  bool authority(const std::string& name) const {
    return sh(str_cat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=",
                      name, " -keyout ", file(name + ".key"), " -out ", file(name + ".crt")));
  }
  bool certificate(const std::string& name, const std::string& by) const {
    std::ofstream(file("names")) << "subjectAltName=IP:127.0.0.1,DNS:localhost\n";
    return sh(str_cat(
               "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout ",
               file(name + ".key"), " -out ", file(name + ".csr"))) &&
           sh(str_cat("openssl x509 -req -days 2 -in ", file(name + ".csr"), " -CA ", file(by + ".crt"), " -CAkey ",
                      file(by + ".key"), " -CAcreateserial -extfile ", file("names"), " -out ", file(name + ".crt")));
  }
  // The health check with these credentials.
  int ask(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto channel = grpc::CreateChannel(str_cat("127.0.0.1:", server_->port()), credentials);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(3));
    const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::NORMAL_RPC,
                                           channel);
    const grpc::Slice empty;
    const grpc::ByteBuffer request(&empty, 1);
    grpc::ByteBuffer response;
    return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(channel.get(), method, &context,
                                                                                 request, &response)
        .error_code();
  }
  std::shared_ptr<grpc::ChannelCredentials> credentials(const std::string& name, const std::string& ca = "ca") const {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = contents(file(ca + ".crt"));
    if (!name.empty()) {
      tls.pem_cert_chain = contents(file(name + ".crt"));
      tls.pem_private_key = contents(file(name + ".key"));
    }
    return grpc::SslCredentials(tls);
  }

  std::filesystem::path folder_;
};

TEST_F(TlsTest, OnlyClientsWithACertificateOfOursAreHeard) {
  EXPECT_EQ(ask(credentials("client")), 0);
  EXPECT_NE(ask(credentials("")), 0) << "no certificate";
  EXPECT_NE(ask(credentials("stranger")), 0) << "signed by somebody else";
  EXPECT_NE(ask(credentials("client", "other")), 0) << "the client does not trust the server";
  EXPECT_NE(ask(grpc::InsecureChannelCredentials()), 0) << "plaintext at a TLS port";
  EXPECT_EQ(ask(credentials("client")), 0);
}

// Issue 31: gRPC 1.51 takes TLS 1.2 as well.
TEST_F(TlsTest, OlderThanTls13IsNotHeard) {
  const auto speaks = [&](const std::string& version) {
    return sh(str_cat("timeout 5 openssl s_client -connect 127.0.0.1:", server_->port(), " ", version,
                      " -alpn h2 -CAfile ", file("ca.crt"), " -cert ", file("client.crt"), " -key ", file("client.key"),
                      " -verify_return_error </dev/null"));
  };
  EXPECT_TRUE(speaks("-tls1_3"));
  EXPECT_TRUE(speaks(""));
  EXPECT_FALSE(speaks("-tls1_2"));
  EXPECT_FALSE(speaks("-no_tls1_3"));
  EXPECT_EQ(ask(credentials("client")), 0);
}

TEST(TlsHello, TakesPiecesAndRefusesTheRest) {
  std::string extension("\0\x2b\0\x05\x04\x03\x04\x03\x03", 9);
  const std::string body =
      std::string("\x03\x03", 2) + std::string(32, 'r') + std::string("\0\0\x02\x13\x01\x01\0\0\x09", 9);
  const auto hello = [&](const std::string& with) {
    const std::string message = body + with;
    const std::string all = std::string("\x01\0\0", 3) + static_cast<char>(message.size()) + message;
    return std::string("\x16\x03\x01\0", 4) + static_cast<char>(all.size()) + all;
  };
  const std::string good = hello(extension);
  EXPECT_EQ(parse_client_hello(good), TlsHello::kSpeaks13);
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_EQ(parse_client_hello(good.substr(0, n)), TlsHello::kIncomplete) << n;
  EXPECT_EQ(parse_client_hello(good + "more"), TlsHello::kSpeaks13);
  extension[6] = '\x02';
  EXPECT_EQ(parse_client_hello(hello(extension)), TlsHello::kOther);
  EXPECT_EQ(parse_client_hello("PRI * HTTP/2.0\r\n"), TlsHello::kOther);
  EXPECT_EQ(parse_client_hello(std::string("\x16\x03\x01\xff\xff", 5)), TlsHello::kOther);
  for (std::size_t at = 5; at < good.size(); ++at) {  // lengths that lie among them
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    (void)parse_client_hello(damaged);
  }
}

TEST(Access, OtherAddressesNeedCertificatesOrNetworks) {
  const auto refused = [](SessionServerOptions options) {
    options.port = 0;
    return SessionServer::start(options).status().code();
  };
  EXPECT_EQ(refused({.host = "0.0.0.0"}), Code::kInvalidArgument);
  EXPECT_EQ(refused({.tls_cert = "/nowhere"}), Code::kInvalidArgument);
  EXPECT_EQ(refused({.tls_cert = "/nowhere", .tls_key = "/nowhere", .tls_ca = "/nowhere"}), Code::kNotFound);
  EXPECT_EQ(refused({.host = "0.0.0.0", .insecure_clients = {"here"}}), Code::kInvalidArgument);
  auto open = SessionServer::start({.host = "0.0.0.0", .port = 0, .insecure_clients = {"10.0.0.0/8"}});
  ASSERT_TRUE(open.ok()) << open.status().to_string();
  RawClient client(str_cat("127.0.0.1:", (*open)->port()));
  EXPECT_EQ(client.create(graph_text(placeholder_node("x"))).size(), 16u) << "loopback is let in";
}

TEST(Access, ATaskThatListensEverywhereIsCalledByItsName) {
  auto cluster = ClusterSpec::read(R"({"worker": ["gpu-a:2222"]})");
  ASSERT_TRUE(cluster.ok());
  auto server = SessionServer::start({.cluster = ClusterTask{*cluster, {"worker", 0}},
                                      .host = "0.0.0.0",
                                      .port = 0,
                                      .insecure_clients = {"10.0.0.0/8"}});
  ASSERT_TRUE(server.ok()) << server.status().to_string();
  EXPECT_EQ((*server)->address(), str_cat("gpu-a:", (*server)->port()));
}

TEST(PeerFilter, NetworksOfBothKinds) {
  const auto filter = PeerFilter::parse({"10.0.0.0/8", "192.168.1.7", "fd00::/12"});
  ASSERT_TRUE(filter.ok());
  for (const char* peer : {"ipv4:10.255.1.2:33", "ipv4:192.168.1.7:1", "ipv6:[fd0f::1]:5", "ipv6:%5Bfd01::1%5D:5",
                           "ipv4:127.0.0.1:9", "ipv6:[::1]:9", "ipv6:[::ffff:10.1.1.1]:9"}) {
    ASSERT_TRUE(parse_peer(peer)) << peer;
    EXPECT_TRUE(filter->allows(*parse_peer(peer))) << peer;
  }
  for (const char* peer : {"ipv4:11.0.0.1:33", "ipv4:192.168.1.8:1", "ipv6:[fe00::1]:5", "ipv6:[::ffff:11.1.1.1]:9"}) {
    ASSERT_TRUE(parse_peer(peer)) << peer;
    EXPECT_FALSE(filter->allows(*parse_peer(peer))) << peer;
  }
  for (const char* peer : {"", "ipv4", "ipv4:10.0.0:1", "ipv4:10.0.0.300:1", "unix:/tmp/x", "ipv4:10.0.0.1:x"}) {
    EXPECT_FALSE(parse_peer(peer)) << peer;
  }
  for (const char* bad : {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/x", "10.0.0", "fd00::/129", "host"}) {
    EXPECT_FALSE(PeerFilter::parse({bad}).ok()) << bad;
  }
  EXPECT_TRUE(is_loopback("localhost") && is_loopback("127.3.2.1") && is_loopback("::1") && is_loopback("[::1]"));
  EXPECT_FALSE(is_loopback("0.0.0.0") || is_loopback("10.0.0.1") || is_loopback("example.org"));
}

}  // namespace
}  // namespace argosy::tf
