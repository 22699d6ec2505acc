// The words of a sharding, as HLO text has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/sharding/sharding.h"

namespace heddle::hlo {

// Whether it is the word of a type, "manual"; that is `type` then.
bool find_sharding_type(std::string_view word, Sharding::Type& type);

// 2,1,2
void write_dims(std::string& out, const Dims& values);

// <=[2,2]T(1,0)
void write_iota(std::string& out, const Dims& reshape, const Dims& transpose);

// {devices=[2,1]<=[2]}. Metadata, where there is any, is written by `write_metadata`.
void write_sharding(
    std::string& out, const Sharding& sharding,
    base::FunctionRef<void(std::string&, const std::vector<Metadata>&)> write_metadata);

}  // namespace heddle::hlo
