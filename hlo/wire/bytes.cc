#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format_lite.h>

#include "heddle/hlo/wire/internal/codec.h"

namespace heddle::hlo::wire {
namespace {

using google::protobuf::Message;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

// The length of the UTF-8 character that starts at text[i]; 0 if none does.
size_t character_at(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char first = byte(i);
  if (first < 0x80) return 1;
  size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  unsigned char second = byte(i + 1);
  bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  bool out_of_range = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || out_of_range ? 0 : length;
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
  if (bytes.size() > INT32_MAX) return resource_exhausted("a message is larger than 2 GiB");
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  const uint32_t wanted = WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  Split out;
  while (true) {
    size_t start = static_cast<size_t>(in.CurrentPosition());
    uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    bool good = tag == wanted ? read_item(in, bytes, out) : WireFormatLite::SkipField(&in, tag);
    if (!good) return invalid_argument("is no serialised proto: broken at byte ", start);
    if (tag != wanted) out.others.append(bytes.substr(start, static_cast<size_t>(in.CurrentPosition()) - start));
  }
  if (static_cast<size_t>(in.CurrentPosition()) != bytes.size()) {
    return invalid_argument("is no serialised proto: broken at byte ", in.CurrentPosition());
  }
  return out;
}

void append_field(std::string& out, int number, std::string_view bytes) {
  uint8_t head[16];
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), head);
  end = CodedOutputStream::WriteVarint64ToArray(bytes.size(), end);
  out.append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
  out.append(bytes);
}

std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string out;
  size_t size = message.ByteSizeLong();
  if (size == 0 || size > INT32_MAX) return out;
  out.reserve(size);
  StringOutputStream stream(&out);
  CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&coded);
  return coded.HadError() ? std::string() : (coded.Trim(), out);
}

void merge(const std::string& bytes, Message& message) {
  if (bytes.empty()) return;
  std::unique_ptr<Message> read(message.New());
  if (read->ParseFromString(bytes)) message.MergeFrom(*read);
}

std::string valid_utf8(const std::string& text) {
  std::string out = text;
  for (size_t i = 0; i < out.size();) {
    size_t length = character_at(out, i);
    if (length == 0) out[i] = '?';
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string_view shorten(std::string_view name) { return name.substr(0, 80); }

}  // namespace heddle::hlo::wire
