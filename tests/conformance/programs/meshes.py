"""JAX's features that change the shape of its HLO: collectives and shardings on meshes of one device, composites, mutable references, Pallas kernels as interpreted, exports of
many sizes and platforms, memories of hosts."""
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from programs._values import *


def arr(*shape, name='float32'):
    return values(rng_of('meshes', shape, name), shape, name, -2.0, 2.0)


COLLECTIVES = dict(
    psum=lambda v: lax.psum(v, 'x'), pmean=lambda v: lax.pmean(v, 'x'), pmax=lambda v: lax.pmax(v, 'x'), pmin=lambda v: lax.pmin(v, 'x'), gather=lambda v: lax.all_gather(v, 'x'), gather_tiled=lambda v: lax.all_gather(v, 'x', tiled=True, axis=1),
    scatter=lambda v: lax.psum_scatter(v, 'x', scatter_dimension=1, tiled=True), exchange=lambda v: lax.all_to_all(v, 'x', 0, 1, tiled=True), exchange_new=lambda v: lax.all_to_all(v[None], 'x', 0, 1), permute=lambda v: lax.ppermute(v, 'x', [(0, 0)]), permute_none=lambda v: lax.ppermute(v, 'x', []),
    shuffle=lambda v: lax.pshuffle(v, 'x', [0]), index=lambda v: v + lax.axis_index('x'), tree=lambda v: sum(lax.psum((v, v * 2), 'x')), size=lambda v: v * lax.axis_size('x'), groups=lambda v: lax.psum(v, 'x', axis_index_groups=[[0]]),
    integers=lambda v: lax.psum(v.astype('int32'), 'x'), predicates=lambda v: lax.psum(v > 0, 'x'), complex=lambda v: lax.psum(v.astype('complex64'), 'x'), halves=lambda v: lax.psum(v.astype('bfloat16'), 'x').astype('float32'),
    loop=lambda v: lax.fori_loop(0, 3, lambda i, c: lax.ppermute(c * 1.5, 'x', [(0, 0)]), v), branch=lambda v: lax.cond(lax.axis_index('x') == 0, lambda q: lax.psum(q, 'x'), lambda q: q, v))


def programs():
    x = arr(4, 6)
    for part in (collectives, shardings, functions, kernels, references):
        for name, f, *arguments in part(x):
            yield f'{part.__name__}_{name}', jitted(f, *arguments)


def collectives(x):
    mesh = jax.make_mesh((1,), ('x',), axis_types=(AxisType.Auto,))
    for (name, f), checked in ((c, k) for c in COLLECTIVES.items() for k in (True, False)):
        mapped = jax.shard_map(f, mesh=mesh, in_specs=P('x'), out_specs=P('x'), check_vma=checked)
        yield f'{name}_{checked}', mapped, x
        yield f'{name}_{checked}_vmap', jax.vmap(mapped), np.stack([x, -x])
        yield f'{name}_{checked}_gradient', jax.grad(lambda v, g=mapped: jnp.sum(jnp.sin(g(v).real.astype('float32')))), x
    both = jax.make_mesh((1, 1), ('a', 'b'), axis_types=(AxisType.Auto,) * 2)
    yield 'two_axes', jax.shard_map(lambda v: lax.psum(lax.all_gather(v, 'a'), 'b'), mesh=both, in_specs=P('a', 'b'), out_specs=P(None, 'a', 'b'), check_vma=False), x
    yield 'both_axes', jax.shard_map(lambda v: lax.psum(v, ('a', 'b')), mesh=both, in_specs=P('a', 'b'), out_specs=P()), x
    yield 'one_of_two', jax.shard_map(lambda v: lax.psum(v, 'a'), mesh=both, in_specs=P('a'), out_specs=P(), axis_names={'a'}), x
    yield 'named_batch', jax.vmap(lambda v: lax.psum(v, 'q') - lax.all_gather(v, 'q').sum() + lax.axis_index('q'), axis_name='q'), x


def shardings(x):
    mesh = jax.make_mesh((1, 1), ('a', 'b'), axis_types=(AxisType.Auto,) * 2)
    over = lambda *axes: NamedSharding(mesh, P(*axes))
    yield 'constraint', lambda v: lax.with_sharding_constraint(v * 2, over('a')) + 1, x
    yield 'constraint_gradient', jax.grad(lambda v: jnp.sum(lax.with_sharding_constraint(jnp.sin(v), over('a', 'b')))), x
    yield 'constraint_vmap', jax.vmap(lambda v: lax.with_sharding_constraint(v, over(None)), spmd_axis_name='a'), x
    yield 'inputs', jax.jit(lambda v, w: (v @ w.T, {'a': v}), in_shardings=(over('a'), over(None, 'b')), out_shardings=over('a')), x, x
    yield 'to_host', lambda v: jax.device_put(v * 2, jax.memory.Space.Host), x
    yield 'to_host_and_back', lambda v: jax.device_put(jax.device_put(v * 2, jax.memory.Space.Host), jax.memory.Space.Device) + 1, x


def functions(x):
    named = lax.composite(lambda v: jnp.sin(v) * 2, name='my.f')
    yield 'composite', lambda v: named(v) + 1, x
    yield 'composite_options', lambda v: lax.composite(lambda q, *, k: q * k, name='my.g', version=2)(v, k=np.float32(3)) + 1, x
    yield 'checkpoint', jax.grad(lambda v: jnp.sum(jax.checkpoint(lambda q: jnp.sin(jnp.sin(q)))(v))), x
    yield 'checkpoint_dots', jax.grad(lambda v: jnp.sum(jax.checkpoint(lambda q: jnp.sin(q @ q.T), policy=jax.checkpoint_policies.dots_saveable)(v))), x
    yield 'barrier', jax.grad(lambda v: lax.optimization_barrier((jnp.sin(v), v))[0].sum()), x
    yield 'named', lambda v: jax.named_call(lambda q: q * 2, name='a b"c')(v), x
    yield 'platform', lambda v: lax.platform_dependent(v, cpu=jnp.sin, default=jnp.cos), x
    from jax import export
    sizes = jax.ShapeDtypeStruct(export.symbolic_shape('n,m'), 'float32')
    yield 'exported', export.export(jax.jit(lambda q: jnp.cumsum(q, 0).reshape(-1)[::2] * q.shape[0]))(sizes).call, x
    yield 'exported_checked', export.export(jax.jit(lambda q: jnp.concatenate([q, q])[:q.shape[0] - 1]))(sizes).call, x
    yield 'exported_platforms', export.export(jax.jit(lambda q: lax.platform_dependent(q, cpu=jnp.sin, default=jnp.cos)), platforms=['cpu', 'tpu'])(x).call, x


def kernels(x):
    from jax.experimental import pallas as pl

    def sum_of(a, b, out):
        out[...] = a[...] + jnp.sin(b[...])

    def scaled(a, out):
        out[...] = a[...] * pl.program_id(0)

    def product(a, b, out):
        @pl.when(pl.program_id(1) == 0)
        def _():
            out[...] = jnp.zeros_like(out)
        out[...] += a[...] @ b[...]

    tile = pl.BlockSpec((2, 2), lambda i, j: (i, j))
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    yield 'whole', pl.pallas_call(sum_of, out_shape=like, interpret=True), x, x + 1
    yield 'tiles', pl.pallas_call(scaled, grid=(2, 3), in_specs=[tile], out_specs=tile, out_shape=like, interpret=True), x
    yield 'product', pl.pallas_call(product, grid=(2, 3), in_specs=[tile, pl.BlockSpec((2, 4), lambda i, k: (k, 0))], out_specs=pl.BlockSpec((2, 4), lambda i, k: (i, 0)),
                                    out_shape=jax.ShapeDtypeStruct((4, 4), x.dtype), interpret=True), x, arr(6, 4)


def references(x):
    def updated(v):
        ref = jax.new_ref(v)
        ref[0] = ref[1] * 2
        ref[...] += 1
        return ref[...]

    def in_loop(v):
        ref = jax.new_ref(v)

        def body(i, _):
            ref[i] = ref[i] * i.astype(v.dtype)
            return ()
        lax.fori_loop(0, 3, body, ())
        return ref[...]

    yield 'updated', updated, x
    yield 'in_loop', in_loop, x
