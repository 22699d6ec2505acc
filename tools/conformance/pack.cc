#include "heddle/tools/conformance/pack.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "heddle/hlo/wire.h"
#include "heddle/tools/proto/hlo_case.pb.h"

namespace heddle::conformance {
namespace {

constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 30;
constexpr size_t kChunkBytes = 1 << 20;

StatusOr<std::vector<Literal>> read_arguments(const proto::CaseSnapshot& from) {
  std::vector<Literal> out;
  for (const std::string& bytes : from.arguments()) {
    auto literal = hlo::literal_from_proto(bytes);
    if (!literal.ok()) return base::annotate(literal.status(), "argument ", out.size(), ": ");
    out.push_back(*std::move(literal));
  }
  return out;
}

StatusOr<Literal> read_result(const std::string& bytes, std::string_view what) {
  auto literal = hlo::literal_from_proto(bytes);
  if (!literal.ok()) return base::annotate(literal.status(), what, ": ");
  return literal;
}

void read_tolerances(const proto::Case& from, Case& to) {
  for (const proto::CaseTolerance& t : from.tolerance()) {
    to.tolerances.push_back({t.exact(), t.rtol(), t.atol(), t.signed_zero_exact(), t.max_ulp()});
  }
}

Status read_values(const proto::Case& from, Case& to) {
  HEDDLE_ASSIGN_OR_RETURN(to.arguments, read_arguments(from.snapshot()));
  for (const proto::CaseSnapshot& device : from.devices()) {
    Replica& replica = to.replicas.emplace_back();
    HEDDLE_ASSIGN_OR_RETURN(replica.arguments, read_arguments(device));
    HEDDLE_ASSIGN_OR_RETURN(replica.expected, read_result(device.result(), "result of a replica"));
  }
  if (to.replicas.empty()) {
    HEDDLE_ASSIGN_OR_RETURN(to.expected, read_result(from.snapshot().result(), "result"));
  }
  if (!from.xla_cpu_result().empty()) {
    HEDDLE_ASSIGN_OR_RETURN(to.xla_cpu_expected,
                            read_result(from.xla_cpu_result(), "xla_cpu_result"));
  }
  return {};
}

StatusOr<Case> to_case(proto::Case& from) {
  Case to;
  to.name = from.name();
  to.corpus = from.corpus();
  to.category = from.category();
  to.origin = from.origin();
  to.module = std::move(*from.mutable_snapshot()->mutable_hlo()->mutable_hlo_module());
  to.hlo_text = std::move(*from.mutable_hlo_text());
  to.stablehlo_text = std::move(*from.mutable_stablehlo_text());
  to.expected_from = from.expected_from();
  to.flags.assign(from.flags().begin(), from.flags().end());
  read_tolerances(from, to);
  HEDDLE_RETURN_IF_ERROR(base::annotate(read_values(from, to), "case ", to.name, ": "));
  return to;
}

}  // namespace

bool Case::has_flag(std::string_view flag) const {
  return std::ranges::find(flags, flag) != flags.end();
}

StatusOr<Case> read_case(std::string_view bytes) {
  proto::Case message;
  if (bytes.size() > INT32_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return base::invalid_argument("is no serialised Case");
  }
  return to_case(message);
}

struct PackReader::Stream {
  std::string path;
  gzFile file = nullptr;
  int64_t record = 0;

  explicit Stream(std::string p) : path(std::move(p)), file(gzopen(path.c_str(), "rb")) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (file != nullptr) gzclose(file);
  }

  template <class... Parts>
  [[nodiscard]] Status error(const Parts&... parts) const {
    return base::invalid_argument(path, ": record ", record, ": ", parts...);
  }

  // Reads up to `size` bytes to the end of `out`; fewer at the end of the stream.
  Status read(size_t size, std::string& out) {
    const size_t before = out.size();
    out.resize(before + size);
    const int got = gzread(file, out.data() + before, static_cast<unsigned>(size));
    out.resize(before + static_cast<size_t>(std::max(got, 0)));
    int code = Z_OK;
    const char* text = gzerror(file, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      return error("damaged gzip stream: ", std::string_view(text));
    return {};
  }

  // The length before a record; none at the end.
  StatusOr<std::optional<uint64_t>> read_length() {
    uint64_t length = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      std::string byte;
      HEDDLE_RETURN_IF_ERROR(read(1, byte));
      if (byte.empty() && shift == 0) return std::optional<uint64_t>();
      if (byte.empty()) return error("ends within a length");
      length |= static_cast<uint64_t>(byte[0] & 0x7F) << shift;
      if ((byte[0] & 0x80) == 0) return std::optional(length);
    }
    return error("has a length of more than 64 bits");
  }

  // Memory grows with the bytes that are really there, whatever the length says.
  StatusOr<std::string> read_record(uint64_t length) {
    if (length > kMaxRecordBytes) return error("has ", length, " bytes; at most ", kMaxRecordBytes);
    std::string out;
    while (out.size() < length) {
      const size_t before = out.size();
      HEDDLE_RETURN_IF_ERROR(read(std::min<size_t>(kChunkBytes, length - before), out));
      if (out.size() == before) return error("is cut off: has ", before, " of ", length, " bytes");
    }
    return out;
  }
};

PackReader::PackReader(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
PackReader::PackReader(PackReader&&) noexcept = default;
PackReader& PackReader::operator=(PackReader&&) noexcept = default;
PackReader::~PackReader() = default;

StatusOr<PackReader> PackReader::open(const std::string& path) {
  auto stream = std::make_unique<Stream>(path);
  if (stream->file == nullptr || !std::filesystem::is_regular_file(path))
    return base::not_found(path, ": no such file");
  gzbuffer(stream->file, 1 << 17);
  if (gzdirect(stream->file) != 0) return base::invalid_argument(path, ": is no gzip file");
  return PackReader(std::move(stream));
}

StatusOr<std::optional<Case>> PackReader::next() {
  HEDDLE_ASSIGN_OR_RETURN(std::optional<uint64_t> length, stream_->read_length());
  if (!length.has_value()) return std::optional<Case>();
  HEDDLE_ASSIGN_OR_RETURN(std::string bytes, stream_->read_record(*length));
  StatusOr<Case> found = read_case(bytes);
  if (!found.ok()) return stream_->error(base::message_of(found.status()));
  ++stream_->record;
  return std::optional(*std::move(found));
}

StatusOr<std::vector<Case>> read_pack(const std::string& path) {
  HEDDLE_ASSIGN_OR_RETURN(PackReader reader, PackReader::open(path));
  std::vector<Case> out;
  while (true) {
    HEDDLE_ASSIGN_OR_RETURN(std::optional<Case> next, reader.next());
    if (!next.has_value()) return out;
    out.push_back(*std::move(next));
  }
}

StatusOr<std::vector<std::string>> find_packs(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_regular_file(path, error)) {
      out.push_back(path);
    } else if (fs::is_directory(path, error)) {
      std::vector<std::string> found;
      for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
        if (entry.path().string().ends_with(".cases.gz")) found.push_back(entry.path().string());
      }
      std::ranges::sort(found);
      out.insert(out.end(), found.begin(), found.end());
    } else {
      return base::not_found(path, ": no such file or folder");
    }
  }
  return out;
}

}  // namespace heddle::conformance
