#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstring>

#include "heddle/hlo/wire/internal/codec.h"

namespace heddle::hlo::wire {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::ArrayOutputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// 0 for a message that is too large for any reader.
size_t size_of(const MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  return size > INT32_MAX ? 0 : size;
}

// `size` is the message's own, so that nothing is measured twice.
void append_message(const MessageLite& message, size_t size, std::string& out) {
  if (size == 0) return;
  const size_t start = out.size();
  out.resize(start + size);
  ArrayOutputStream stream(out.data() + start, static_cast<int>(size));
  CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&coded);
}

// Reads the length and the payload of a length-delimited field.
bool read_item(CodedInputStream& in, std::string_view bytes, Split& out) {
  uint32_t length = 0;
  if (!in.ReadVarint32(&length)) return false;
  size_t start = static_cast<size_t>(in.CurrentPosition());
  if (length > bytes.size() - start) return false;
  out.items.push_back(bytes.substr(start, length));
  return in.Skip(static_cast<int>(length));
}

}  // namespace

StatusOr<Split> split(std::string_view bytes, int number) {
  if (bytes.size() > INT32_MAX) return base::resource_exhausted("a message is larger than 2 GiB");
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  const uint32_t wanted =
      WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  Split out;
  while (true) {
    size_t start = static_cast<size_t>(in.CurrentPosition());
    uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    bool good = tag == wanted ? read_item(in, bytes, out) : WireFormatLite::SkipField(&in, tag);
    if (!good) return base::invalid_argument("is no serialised proto: broken at byte ", start);
    if (tag != wanted)
      out.others.append(bytes.substr(start, static_cast<size_t>(in.CurrentPosition()) - start));
  }
  if (static_cast<size_t>(in.CurrentPosition()) != bytes.size()) {
    return base::invalid_argument("is no serialised proto: broken at byte ", in.CurrentPosition());
  }
  return out;
}

void append_head(std::string& out, int number, size_t length) {
  uint8_t head[16];
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), head);
  end = CodedOutputStream::WriteVarint64ToArray(length, end);
  out.append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
}

void append_field(std::string& out, int number, std::string_view bytes) {
  append_head(out, number, bytes.size());
  out.append(bytes);
}

void append_field(std::string& out, int number, const MessageLite& message) {
  const size_t size = size_of(message);
  append_head(out, number, size);
  append_message(message, size, out);
}

std::string bytes_of(const MessageLite& message) {
  std::string out;
  append_message(message, size_of(message), out);
  return out;
}

void merge(const std::string& bytes, Message& message) {
  if (bytes.empty()) return;
  std::unique_ptr<Message> read(message.New());
  if (read->ParseFromString(bytes)) message.MergeFrom(*read);
}

std::string_view shorten(std::string_view name) { return name.substr(0, 80); }

}  // namespace heddle::hlo::wire
