// Places in the user's program that protos carry in fields that the IR keeps as bytes, for text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::proto {
class HloInstructionProto;
class OpMetadata;
}  // namespace heddle::proto

namespace heddle::hlo::wire {

// Moves a text out; one that is not there costs nothing.
template <class Message>
void take_text(Message& from, const std::string& (Message::*get)() const,
               std::string* (Message::*access)(), std::string& to) {
  if (!(from.*get)().empty()) to = std::exchange(*(from.*access)(), std::string());
}

// ---- metadata.cc
void take_metadata(proto::OpMetadata& from, Metadata& to);
void write_metadata(const Metadata& from, proto::OpMetadata& to);

// ---- origin.cc
// {("a" ..)}, the arrays of an older program that a value comes from: as text where it has the form
// that XLA prints. Fields that say more stay fields; a text that says something else stays text,
// and the message, which has no field for it, goes without.
void take_origin(proto::HloInstructionProto& from, InstructionExtras& to);
void write_origin(const std::string& origin, proto::HloInstructionProto& to);

}  // namespace heddle::hlo::wire
