// How an upload goes: runtime/transfer.h, runtime/mesh.h.
#pragma once

namespace heddle::runtime {

struct UploadOptions {
  // Unavailable instead of a wait, where the device has as much in flight as it may. On a mesh the
  // first device without room refuses, and what the others were given goes.
  bool only_if_room = false;
};

}  // namespace heddle::runtime
