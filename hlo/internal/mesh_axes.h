// Groups of devices by the axes of a mesh: the newest form of replica_groups.
//
//   mesh['a'=2,'b'=4] {'b'}         {{0,1,2,3},{4,5,6,7}}: devices that differ along b alone
//   mesh['a'=2,'b'=4] {'b':(2)2}    a part of an axis: b as [2,2], and its second dimension
//   mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'a'}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/attributes.h"

namespace heddle::hlo {

struct MeshAxes {
  struct Axis {
    std::string name;
    int64_t size = 1;
  };
  // An axis or, where size is not 0, the part of it that has `before` times `size` divide it.
  struct Part {
    int64_t axis = 0;
    int64_t before = 1;
    int64_t size = 0;
  };
  std::vector<Axis> axes;
  Dims devices;             // in row-major order; empty: 0, 1, ..
  std::vector<Part> parts;  // along which the devices of a group differ, the last one fastest
};

// Reads the text form; a name may stand without quotes. False after an error, which `in` has. Not
// checked.
bool read_mesh_axes(TextCursor& in, MeshAxes& axes);
// The same of text that is all of it. errors: InvalidArgument, also from check_mesh_axes()
StatusOr<MeshAxes> parse_mesh_axes(std::string_view text);
std::string to_string(const MeshAxes& axes);

// Sizes of 1 or more, not too many devices, each once, parts that divide their axes and do not
// overlap.
Status check_mesh_axes(const MeshAxes& axes);

// Of what was checked: how many devices a group has, and the one that a device is in; empty where
// the mesh does not have it.
int64_t group_size(const MeshAxes& axes);
Dims group_of(const MeshAxes& axes, int64_t device);

}  // namespace heddle::hlo
