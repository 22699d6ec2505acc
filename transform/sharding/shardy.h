// Shardings in the form that XLA's newer partitioner, Shardy, reads: attributes that name the axes
// of a mesh, in place of tiles and lists of devices.
//
//   x = f32[8,6] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
//
// gets the attribute xla.sdy.sharding="#sdy.sharding<@mesh, [{"axis_0"}, {}]>", and the module
// xla.sdy.meshes={mesh = #sdy.mesh<["axis_0"=2, "axis_1"=2]>}.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// to-shardy: one mesh whose axes are fine enough for every sharding of the module; attributes on
// the entry's parameters and on custom calls `Sharding`; `xla.sdy.FuncResultSharding` on results,
// {replicated} without a sharding; and shard_map as `xla.sdy.GlobalToLocalShape`, a call of a
// computation of its own, `xla.sdy.LocalToGlobalShape`. Shardings of other instructions are hints,
// which Shardy finds by itself; they go. A program of one partition stays as it is, and so does one
// in this form.
//
// The header's num_partitions says how many devices there are.
//
// errors   InvalidArgument for a sharding with another number of devices; Unimplemented for
//          shardings that no one mesh has (devices in an order of their own, cuts that do not
//          nest), for parameters and results whose sizes do not divide, which Shardy takes for
//          whole, and for the marks of shard_map without its call
// source   XLA, xla/service/spmd/shardy: what its round trip writes and reads
StatusOr<hlo::Module> to_shardy(const hlo::Module& module);

}  // namespace heddle::transform
