// Lists of devices that shardings and collectives name, as far as they can be checked without the
// number of devices of a run. Programs come from anywhere: what is not checked here would be an
// endless loop or an index out of bounds there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/sharding/sharding.h"

namespace heddle::hlo {

// More than there are anywhere, and lists of them still fit into memory.
inline constexpr int64_t kMaxDevices = int64_t{1} << 22;

// The product of sizes of 1 or more; nothing where one is less, or the product above kMaxDevices.
std::optional<int64_t> device_count(std::span<const int64_t> sizes);

// Sizes in one list of them, copies of tiles and groups among them: enough for arrays of every
// rank.
inline constexpr size_t kMaxSizes = 128;

// Each of 0 .. count-1 once, in any order.
bool is_each_once(Dims numbers, int64_t count);

// <=[4,2]T(1,0): sizes, and an order of them or none.
Status check_iota(const Dims& reshape, const Dims& transpose);

// 0, 1, .. as an array of `reshape`, transposed where `transpose` is not empty, in row-major order.
// Of what was checked.
Dims devices_of_iota(const Dims& reshape, const Dims& transpose);

// Tiles are of as many devices as are listed, in either form, and an iota form is one.
Status check_sharding(const Sharding& sharding);

// An iota form is of two dimensions, groups and their devices, and one of the forms is there.
Status check_replica_groups(const ReplicaGroups& groups);

// No groups, which stands for one of all devices.
bool has_no_groups(const ReplicaGroups& groups);

// The group that a number stands in, whatever the form; empty where it stands in none. Other groups
// are not listed: there may be millions.
// errors: those of check_replica_groups(); Unimplemented for a form that Heddle does not know
StatusOr<Dims> group_of(const ReplicaGroups& groups, int64_t number);

// How many numbers the largest group has; 1 where there is none. errors: as above
StatusOr<int64_t> largest_group(const ReplicaGroups& groups);

}  // namespace heddle::hlo
