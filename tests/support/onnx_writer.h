// Writes ONNX models for tests, byte by byte as Protobuf has it, so that tests need nothing of
// ONNX.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::test {

// A message under construction; fields by their number.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& real(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    char raw[4];
    std::memcpy(raw, &value, 4);
    bytes_.append(raw, 4);
    return *this;
  }
  Message& part(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// ONNX's numbers of element types.
inline constexpr int kFloat = 1, kInt64 = 7, kStringType = 8;

inline Message tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                      const std::vector<std::int64_t>& values) {
  Message out;
  for (const std::int64_t dim : dims) out.number(1, dim);
  out.number(2, kInt64).text(8, name);
  for (const std::int64_t value : values) out.number(7, value);
  return out;
}
inline Message tensor(const std::string& name, const std::vector<std::int64_t>& dims,
                      const std::vector<float>& values) {
  Message out;
  for (const std::int64_t dim : dims) out.number(1, dim);
  return out.number(2, kFloat).text(8, name).text(
      9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}
// Its data is in another file.
inline Message external(const std::string& name, std::int64_t size, const std::string& location,
                        std::int64_t offset, std::int64_t length) {
  Message out;
  out.number(1, size).number(2, kFloat).text(8, name);
  const auto entry = [&](const char* key, const std::string& value) {
    out.part(13, Message().text(1, key).text(2, value));
  };
  entry("location", location);
  entry("offset", std::to_string(offset));
  if (length > 0) entry("length", std::to_string(length));
  return out.number(14, 1);
}

// A size is a number, or the name of one: "batch"; "" is open.
inline Message value_info(const std::string& name, const std::vector<std::string>& sizes,
                          int type = kFloat) {
  Message shape;
  for (const std::string& size : sizes) {
    const bool digits = !size.empty() && size.find_first_not_of("0123456789") == std::string::npos;
    if (digits) shape.part(1, Message().number(1, std::stoll(size)));
    else if (size.empty()) shape.part(1, Message());
    else shape.part(1, Message().text(2, size));
  }
  return Message().text(1, name).part(2,
                                      Message().part(1, Message().number(1, type).part(2, shape)));
}

inline Message attribute(const std::string& name, std::int64_t value) {
  return Message().text(1, name).number(3, value).number(20, 2);
}
inline Message attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  Message out;
  out.text(1, name);
  for (const std::int64_t value : values) out.number(8, value);
  return out.number(20, 7);
}
inline Message attribute(const std::string& name, const Message& value) {
  return Message().text(1, name).part(5, value).number(20, 4);
}

inline Message node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<Message>& attributes = {}, const std::string& name = "") {
  Message out;
  for (const auto& input : inputs) out.text(1, input);
  for (const auto& output : outputs) out.text(2, output);
  out.text(3, name.empty() ? op + "_" + outputs[0] : name).text(4, op);
  for (const auto& each : attributes) out.part(5, each);
  return out;
}

struct ModelParts {
  std::vector<Message> nodes, initializers, inputs, outputs;
  std::int64_t opset = 17;
};

inline Message graph(const ModelParts& parts) {
  Message graph;
  for (const auto& each : parts.nodes) graph.part(1, each);
  graph.text(2, "small");
  for (const auto& each : parts.initializers) graph.part(5, each);
  for (const auto& each : parts.inputs) graph.part(11, each);
  for (const auto& each : parts.outputs) graph.part(12, each);
  return graph;
}
inline Message attribute(const std::string& name, const ModelParts& body) {
  return Message().text(1, name).part(6, graph(body)).number(20, 5);
}

inline std::string model(const ModelParts& parts) {
  return Message()
      .number(1, 8)
      .text(2, "a test")
      .part(7, graph(parts))
      .part(8, Message().number(2, parts.opset))
      .bytes();
}

}  // namespace lathe::test
