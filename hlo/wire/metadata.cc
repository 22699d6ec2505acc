#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/internal/places.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {

void take_metadata(proto::OpMetadata& from, Metadata& to) {
  using M = proto::OpMetadata;
  take_text(from, &M::op_type, &M::mutable_op_type, to.op_type);
  take_text(from, &M::op_name, &M::mutable_op_name, to.op_name);
  take_text(from, &M::source_file, &M::mutable_source_file, to.source_file);
  take_text(from, &M::deduplicated_name, &M::mutable_deduplicated_name, to.deduplicated_name);
  take_text(from, &M::scheduling_name, &M::mutable_scheduling_name, to.scheduling_name);
  to.source_line = from.source_line();
  to.source_end_line = from.source_end_line();
  to.source_column = from.source_column();
  to.source_end_column = from.source_end_column();
  to.stack_frame_id = from.stack_frame_id();
  to.profile_type.assign(from.profile_type().begin(), from.profile_type().end());
  from.clear_source_line();
  from.clear_source_end_line();
  from.clear_source_column();
  from.clear_source_end_column();
  from.clear_stack_frame_id();
  from.clear_profile_type();
  to.unknown_proto = bytes_of(from);
}

void write_metadata(const Metadata& from, proto::OpMetadata& to) {
  merge(from.unknown_proto, to);
  to.set_op_type(valid_utf8(from.op_type));
  to.set_op_name(valid_utf8(from.op_name));
  to.set_source_file(valid_utf8(from.source_file));
  to.set_deduplicated_name(valid_utf8(from.deduplicated_name));
  to.set_scheduling_name(valid_utf8(from.scheduling_name));
  to.set_source_line(static_cast<int32_t>(from.source_line));
  to.set_source_end_line(static_cast<int32_t>(from.source_end_line));
  to.set_source_column(static_cast<int32_t>(from.source_column));
  to.set_source_end_column(static_cast<int32_t>(from.source_end_column));
  to.set_stack_frame_id(static_cast<int32_t>(from.stack_frame_id));
  for (int64_t type : from.profile_type) to.add_profile_type(static_cast<int32_t>(type));
}

}  // namespace heddle::hlo::wire
