// The server's reading and writing, without sockets: HTTP, the JSON of requests, binary tensors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "serve/http.h"
#include "serve/infer_json.h"
#include "serve/protocol.h"

namespace nnex::serve {
namespace {

/// Feeds the text in pieces of so many bytes; what is left after one request.
std::string feed(RequestReader& reader, std::string_view text, size_t piece) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t taken = reader.feed(text.substr(at, piece));
    if (taken == 0) break;
    at += taken;
  }
  return std::string(text.substr(at));
}

constexpr std::string_view kPost =
    "POST /v2/models/a%20b/infer?x=1 HTTP/1.1\r\nHost: h\r\nX-Two:  words here \r\nContent-Length: 5\r\n\r\nhello";

TEST(ServeHttp, RequestsComeInPiecesOfAnySize) {
  for (const size_t piece : {1u, 2u, 7u, 1000u}) {
    RequestReader reader{RequestLimits{}};
    std::string two(kPost);
    two += "GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n";
    const std::string rest = feed(reader, two, piece);
    ASSERT_EQ(reader.state(), RequestReader::State::complete);
    EXPECT_EQ(rest.size(), two.size() - kPost.size());
    const Request first = reader.take();
    EXPECT_EQ(first.method, "POST");
    EXPECT_EQ(first.path, "/v2/models/a%20b/infer");
    EXPECT_EQ(*first.header("x-two"), "words here");
    EXPECT_EQ(first.body, "hello");
    EXPECT_TRUE(first.keep_alive);
    EXPECT_FALSE(reader.begun());
    EXPECT_EQ(feed(reader, rest, piece), "");
    ASSERT_EQ(reader.state(), RequestReader::State::complete);
    const Request second = reader.take();
    EXPECT_FALSE(second.keep_alive);
    EXPECT_FALSE(second.has_body);
  }
}

TEST(ServeHttp, AnEmptyLineBeginsNoRequest) {
  RequestReader reader{RequestLimits{}};
  EXPECT_EQ(feed(reader, "\r", 1), "");
  EXPECT_EQ(feed(reader, "\n", 1), "");
  EXPECT_FALSE(reader.begun());
  EXPECT_EQ(feed(reader, "G", 1), "");
  EXPECT_TRUE(reader.begun());
  EXPECT_EQ(feed(reader, "ET / HTTP/1.1\r\nHost: h\r\n\r\n", 100), "");
  EXPECT_EQ(reader.state(), RequestReader::State::complete);
}

TEST(ServeHttp, ChunksArePutTogether) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n00A ; "
      "x=\"y\"\r\n0123456789\r\n0\r\nT: "
      "1\r\n\r\n";
  for (const size_t piece : {1u, 3u, 1000u}) {
    RequestReader reader{RequestLimits{}};
    EXPECT_EQ(feed(reader, text, piece), "");
    ASSERT_EQ(reader.state(), RequestReader::State::complete);
    EXPECT_EQ(reader.take().body, "abc0123456789");
  }
}

TEST(ServeHttp, WhatIsAnnouncedTakesNoMemory) {
  RequestLimits limits;
  limits.body = size_t{1} << 40;
  RequestReader reader(limits);
  feed(reader, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000000\r\n\r\nabc", 1000);
  EXPECT_EQ(reader.state(), RequestReader::State::body);
  EXPECT_LT(reader.held(), 1000u);
}

TEST(ServeHttp, BodiesArePutWhereTheyStay) {
  RequestReader reader({});
  EXPECT_TRUE(reader.room(10).empty());  // no request has come
  feed(reader, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nab", 1000);
  std::span<char> room = reader.room(3);
  ASSERT_EQ(room.size(), 3u);
  std::copy_n("c??", 3, room.begin());
  reader.filled(1);
  room = reader.room(100);
  ASSERT_EQ(room.size(), 3u);
  reader.filled(0);
  feed(reader, "d", 1);
  room = reader.room(100);
  ASSERT_EQ(room.size(), 2u);
  std::copy_n("ef", 2, room.begin());
  EXPECT_EQ(reader.state(), RequestReader::State::body);
  reader.filled(2);
  ASSERT_EQ(reader.state(), RequestReader::State::complete);
  EXPECT_TRUE(reader.room(10).empty());
  EXPECT_EQ(reader.take().body, "abcdef");
  feed(reader, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n", 1000);
  EXPECT_TRUE(reader.room(10).empty());  // chunks have lines between them
}

TEST(ServeHttp, EveryHeaderConnectionCounts) {
  RequestReader reader{RequestLimits{}};
  feed(reader, "GET / HTTP/1.1\r\nHost: h\r\nConnection: te\r\nConnection: x, close\r\n\r\n", 1000);
  ASSERT_EQ(reader.state(), RequestReader::State::complete);
  EXPECT_FALSE(reader.take().keep_alive);
}

const struct {
  const char* name;
  std::string_view text;
  int status;
} kRefused[] = {
    {"no version", "GET /\r\n\r\n", 400},
    {"another version", "GET / HTTP/3.0\r\n\r\n", 505},
    {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
    {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
    {"newline alone", "GET / HTTP/1.1\nHost: a\n\n", 400},
    {"space before colon", "GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n", 400},
    {"folded header", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
    {"carriage return in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\rc\r\n\r\n", 400},
    {"two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
    {"length and chunks", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"a plus", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400},
    {"over the limit", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", 413},
    {"chunks over the limit", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n", 413},
    {"a chunk of no size", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n", 400},
    {"a longer chunk than it said", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400},
    {"bytes of TLS", "\x16\x03\x01", 400},
    {"zero bytes", std::string_view("\0\0", 2), 400},
    {"a line of another protocol", "EHLO\r\n", 400},
    {"a request of HTTP/0.9", "GET /\r\n", 400},
    {"another coding", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
};

TEST(ServeHttp, WhatCouldBeReadTwoWaysIsRefused) {
  RequestLimits limits;
  limits.body = 100;
  for (const auto& row : kRefused) {
    for (const size_t piece : {1u, 1000u}) {
      SCOPED_TRACE(row.name);
      RequestReader reader(limits);
      feed(reader, row.text, piece);
      ASSERT_EQ(reader.state(), RequestReader::State::failed);
      EXPECT_EQ(reader.fault().status, row.status);
      EXPECT_EQ(reader.feed("more"), 0u);
    }
  }
}

TEST(ServeHttp, OfAHeadThatIsTooLongIsKnownWhatCame) {
  RequestLimits limits;
  limits.head = 100;
  RequestReader reader(limits);
  feed(reader, "GET /v2 HTTP/1.1\r\nOrigin: http://a\r\nX: " + std::string(100, 'x') + "\r\n\r\n", 7);
  ASSERT_EQ(reader.state(), RequestReader::State::failed);
  EXPECT_EQ(reader.fault().status, 431);
  EXPECT_EQ(reader.request().path, "/v2");
  ASSERT_NE(reader.request().header("origin"), nullptr);
  EXPECT_EQ(*reader.request().header("origin"), "http://a");
}

TEST(ServeHttp, AnswersSayWhenTheyWereMade) {
  EXPECT_EQ(date_of(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");  // RFC 9110's example
  EXPECT_EQ(date_of(951'825'600), "Tue, 29 Feb 2000 12:00:00 GMT");
  Response empty;
  EXPECT_EQ(head_of(empty, true, date_of(0)),
            "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(ServeHttp, SegmentsOfPaths) {
  using Segments = std::vector<std::string>;
  EXPECT_EQ(segments_of("/v2/models/a%20b%2Fc/versions/%31"), (Segments{"v2", "models", "a b/c", "versions", "1"}));
  EXPECT_EQ(segments_of("/v2/repository/models/%6d/load"), (Segments{"v2", "repository", "models", "m", "load"}));
  EXPECT_EQ(segments_of("/"), Segments{""});
  EXPECT_EQ(segments_of("/a//b/"), (Segments{"a", "", "b", ""}));  // none of the protocol's
  for (const char* path : {"/%4", "/%zz", "/v2/models/%00", "/v2/models/%4", "/v2/models/%zz", "*"})
    EXPECT_FALSE(segments_of(path)) << path;
  for (const char* path : {"/%6detrics", "/v2/%72epository/models/m/load", "/v2/repository/models/m/loa%64",
                           "/v2/models/m/%69nfer", "/v2%2Fmodels/m"})
    EXPECT_FALSE(segments_of(path)) << path;  // a word of the protocol has one spelling
}

PortInfo port(std::string name, DType type, std::vector<int64_t> extents) {
  PortInfo p;
  p.name = std::move(name);
  p.dtype = type;
  p.known_rank = true;
  for (const int64_t extent : extents) p.dims.push_back(extent < 0 ? "N" : std::to_string(extent));
  p.extents = std::move(extents);
  return p;
}

struct Protocol : testing::Test {
  std::vector<PortInfo> inputs = {port("x", DType::f32, {-1, 2}), port("n", DType::u8, {3})};
  std::vector<PortInfo> outputs = {port("y", DType::f32, {-1, 2}), port("h", DType::f16, {1})};
  Ports ports() const { return {inputs, outputs}; }

  Result<InferRequest> read(std::string_view json, std::string_view binary = {}) const {
    return read_infer(std::make_shared<const std::string>(std::string(json) + std::string(binary)),
                      binary.empty() ? std::optional<size_t>() : json.size(), ports());
  }
};

TEST_F(Protocol, InputsInAnyOrderAsJsonAndBytes) {
  const float x[] = {1, 2, 3, 4};
  const std::string bytes(reinterpret_cast<const char*>(x), sizeof x);
  const auto got = read(R"({"id":"7","parameters":{"timeout":5,"binary_data_output":true},"inputs":[
    {"data":[0,255,true],"shape":[3],"datatype":"UINT8","name":"n"},
    {"name":"x","datatype":"FP32","shape":[2,2],"parameters":{"binary_data_size":16}}],
    "outputs":[{"name":"h"},{"name":"y","parameters":{"binary_data":false}}]})",
                        bytes);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_EQ(got->id, "7");
  EXPECT_EQ(got->timeout_us, 5);
  EXPECT_EQ(got->inputs[0].tensor()->shape(), (Shape{2, 2}));
  EXPECT_EQ(std::memcmp(got->inputs[0].tensor()->data(), x, sizeof x), 0);
  const auto n = got->inputs[1].tensor()->as<uint8_t>();
  EXPECT_EQ(std::vector<uint8_t>(n.begin(), n.end()), (std::vector<uint8_t>{0, 255, 1}));
  ASSERT_EQ(got->outputs.size(), 2u);
  EXPECT_EQ(got->outputs[0].port, 1u);
  EXPECT_TRUE(got->outputs[0].binary);
  EXPECT_EQ(got->outputs[1].port, 0u);
  EXPECT_FALSE(got->outputs[1].binary);
}

TEST_F(Protocol, WhatMayBeAbsentMayBeNull) {
  const float x[] = {1, 2};
  const std::string bytes(reinterpret_cast<const char*>(x), sizeof x);
  const auto got = read(R"({"id":null,"parameters":null,"outputs":null,"inputs":[
    {"name":"n","datatype":"UINT8","shape":[3],"data":[1,2,3],"parameters":null},
    {"name":"x","datatype":"FP32","shape":[1,2],"data":null,"parameters":{"binary_data_size":8}}]})",
                        bytes);
  ASSERT_TRUE(got.ok()) << got.error().text();
  EXPECT_FALSE(got->id);
  EXPECT_EQ(got->outputs.size(), outputs.size());
  for (const char* wrong : {R"({"inputs":null})", R"({"inputs":[null]})", R"({"inputs":[{"name":null}]})",
                            R"({"inputs":[{"name":"x","shape":null}]})"}) {
    const auto refused = read(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_NE(refused.error().message().find("found null; needed"), std::string::npos) << refused.error().message();
  }
}

TEST_F(Protocol, AnswersAsJsonAndBytes) {
  InferRequest request;
  request.id = "a\"b";
  request.outputs = {{1, true}, {0, false}};
  const std::vector<Value> results = {Tensor::of<float>({1, 2}, {0.1f, -3}),
                                      Tensor::of<uint16_t>({1}, {0x3c00}).reinterpreted(DType::f16)};
  const auto got = write_infer("m", "4", request, ports(), results);
  ASSERT_TRUE(got.ok());
  const std::string json =
      R"({"model_name":"m","model_version":"4","id":"a\"b","outputs":[{"name":"h","datatype":"FP16","shape":[1],)"
      R"("parameters":{"binary_data_size":2}},{"name":"y","datatype":"FP32","shape":[1,2],"data":[0.1,-3]}]})";
  EXPECT_EQ(got->body, json + std::string("\x00\x3c", 2));
  ASSERT_EQ(got->headers.size(), 1u);
  EXPECT_EQ(got->headers[0].value, std::to_string(json.size()));
  request.outputs = {{1, false}};
  EXPECT_FALSE(write_infer("m", "4", request, ports(), results).ok());
}

TEST_F(Protocol, WhatJsonWouldChangeStaysAsItIs) {
  InferRequest request;
  request.outputs = {{0, false}};
  const auto minus = write_infer("m", "1", request, ports(), {Tensor::of<float>({1, 2}, {-0.0f, 0.0f}), Value()});
  ASSERT_TRUE(minus.ok());
  EXPECT_NE(minus->body.find("[-0.0,0]"), std::string::npos) << minus->body;  // as a whole number -0 is 0
  const std::vector<PortInfo> texts = {port("t", DType::str, {1})};
  const std::vector<Value> text = {Tensor::of<std::string>({1}, {"a\xff"})};
  const auto broken = write_infer("m", "1", request, {inputs, texts}, text);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().message(),
            "output 't' has text that is no UTF-8, which is sent as binary data alone (binary_data)");
  request.outputs = {{0, true}};
  EXPECT_TRUE(write_infer("m", "1", request, {inputs, texts}, text).ok());
}

const struct {
  const char* text;
  const char* says;
} kWrong[] = {
    {"", "not JSON"},
    {"[]", "a list"},
    {"{\"inputs\":[1]}", "\"inputs\": found a number; needed an object"},
    {"{\"inputs\":{}}", "\"inputs\": found an object; needed a list"},
    {R"({"inputs":[{"name":"x","data":[1]},7]})", "\"inputs\": found a number; needed an object"},
    {R"({"id":7})", "\"id\": found a number; needed text"},
    {R"({"parameters":[]})", "\"parameters\": found a list; needed an object"},
    {R"({"parameters":{"timeout":-5},"inputs":[]})", "timeout: needed a number of microseconds"},
    {"{\"inputs\":[],\"inputs\":[]}", "\"inputs\" is given twice"},
    {R"({"id":"a","id":"b"})", "\"id\" is given twice"},
    {R"({"parameters":{"timeout":1,"timeout":0}})", "the parameter 'timeout' is given twice"},
    {R"({"inputs":[{"name":"z","name":"x"}]})", "\"name\" is given twice"},
    {R"({"inputs":[{"name":"x"},{"datatype":"FP32","datatype":"FP32"}]})",
     "input 2 of the request: \"datatype\" is given twice"},
    {"{\"inputs\":[{\"name\":\"x\"}],\"inputs\":[]}", "given twice"},
    {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,null]}]})",
     "\"data\": found null; needed a number, text, true or false"},
    {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[[1],2]}]})", "different depths"},
    {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2,3,4]]}]})", "lists of [1,4]"},
    {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,1e999]}]})",
     "input 'x': \"data\": found 1e999, which no number of 64 bits holds"},
    {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2.5],"data":[1,1]}]})",
     "input 'x': \"shape\": found 2.5; needed a whole number"},
    {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,-2],"data":[1,1]}]})",
     "\"shape\": found -2; needed extents"},
    {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[18446744073709551616],"data":[1]}]})",
     "\"shape\": found 18446744073709551616; needed extents"},
    {R"({"inputs":[{"name":"n","datatype":"UINT8","shape":[3],"data":[1,2,3]}]})", "input 'x' is missing"},
    {R"({"inputs":[{"name":"n","datatype":"UINT8","shape":[3],"data":[1,2,300]}]})", "300"},
    {R"({"inputs":[{"name":"n","datatype":"UINT8","shape":[3],"data":[1,2,256.0]}]})",
     "found 256.0 in \"data\", which UINT8 does not hold"},
    {R"({"inputs":[{"name":"n","datatype":"UINT8","shape":[3],"data":[1,2,18446744073709551615]}]})",
     "18446744073709551615"},
};

TEST_F(Protocol, WhatIsWrongIsTold) {
  for (const auto& row : kWrong) {
    SCOPED_TRACE(row.text);
    const auto got = read(row.text);
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().message().find(row.says), std::string::npos) << got.error().message();
  }
}

}  // namespace
}  // namespace nnex::serve
