// Losses whose steps read or write few elements of a big array, at positions that change: what the
// cost of their gradients is counted and timed on.
#pragma once

#include "heddle/heddle.h"

namespace heddle::few_elements {

inline Tensor positions_of(const Tensor& x) { return arange(x.dim(0), s32); }

// The last carry of a scan over all positions, from 0.5 on.
template <class Step>
Tensor over_positions(const Tensor& x, const Step& step) {
  const auto body = [&](Tensor c, Tensor i) { return std::pair(step(c, i), None{}); };
  return scan(body, scalar(0.5), positions_of(x)).first;
}

inline Tensor reads_element(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) { return sin(c) * x[i]; });
}
inline Tensor reads_window(const Tensor& x) {
  return over_positions(
      x, [&](Tensor c, Tensor i) { return sin(c) * sum(dynamic_slice(x, {i}, {8})); });
}
inline Tensor takes_four(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) {
    return sin(c) * sum(take(x, (stack({i, i + 1, i + 2, i + 3}) * 7) % x.dim(0), 0));
  });
}
inline Tensor reads_in_lanes(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) {
    return sum(vmap([&](Tensor k) { return sin(c) * x[(i + k) % x.dim(0)]; })(arange(3, s32)));
  });
}
inline Tensor reads_first_element(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor) { return sin(c) * x[0] + x[1]; });
}
inline Tensor reads_in_branches(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) {
    return cond(
        i % 2 == 0, [&](Tensor c) { return sin(c) * x[i]; }, [&](Tensor c) { return c + x[i]; }, c);
  });
}
inline Tensor reads_in_inner_loop(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) {
    return fori_loop(
        0, 3, [&](Tensor k, Tensor h) { return sin(h) * x[(i + k) % x.dim(0)]; }, c);
  });
}
inline Tensor reads_in_while(const Tensor& x) {
  using State = std::pair<Tensor, Tensor>;
  const int64_t size = x.dim(0);
  return while_loop([=](const State& s) { return s.second < size - 5; },
                    [&](const State& s) { return State(sin(s.first) * x[s.second], s.second + 1); },
                    State(scalar(0.5), scalar(0)), {.max_steps = size})
      .first;
}
inline Tensor reads_in_map(const Tensor& x) {
  return sum(map([&](Tensor i) { return sin(x[i]) * x[(i + 1) % x.dim(0)]; }, positions_of(x)));
}
inline Tensor reads_history(const Tensor& x) {
  const auto step = [](Tensor h, Tensor i) {
    return std::pair(h.at(i).set(sin(h[i - 1]) + 0.3 * h[i - 2]), None{});
  };
  return scan(step, x, positions_of(x)[Slice{2}]).first[-1];
}
inline Tensor writes_history(const Tensor& x) {
  const auto step = [](std::pair<Tensor, Tensor> s, Tensor i) {
    const Tensor next = sin(s.second) * 1.1;
    return std::pair(std::pair(s.first.at(i).set(next), next), None{});
  };
  const auto start = std::pair(zeros_like(x), x[0]);
  return sum(square(scan(step, start, positions_of(x)).first.first));
}
inline Tensor writes_places(const Tensor& x) {  // some of them twice, of which the last stays
  const auto step = [&](Tensor h, Tensor i) {
    const Tensor at = stack({i, (i * 7) % x.dim(0), (i + i % 2) % x.dim(0)});
    return std::pair(h.at(at).set(sin(h[i]) * x[at] + arange(3.0, f64)), None{});
  };
  return sum(square(scan(step, x, positions_of(x)).first));
}
inline Tensor writes_rows(const Tensor& x) {
  const auto step = [](Tensor h, Tensor i) {
    const Tensor at = stack({i, (i * 3) % h.dim(0)});
    const Tensor scale = reshape(stack({i, i + 1}).astype(f64) * 0.1, {2, 1});
    return std::pair(h.at(at).set(sin(h[at]) * scale), None{});
  };
  const Tensor start = reshape(x, {-1, 4});
  return sum(square(scan(step, start, arange(start.dim(0), s32)).first));
}
inline Tensor adds_to_places(const Tensor& x) {
  const auto step = [&](Tensor h, Tensor i) {
    return std::pair(h.at((i * 7) % x.dim(0)).add(sin(x[i])), None{});
  };
  return sum(square(scan(step, x, positions_of(x)).first));
}

// The same of x in another form, which the step makes.
inline Tensor reads_reshape(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) {
    const Tensor rows = reshape(x, {-1, 2});
    return sin(c) * rows[i / 2][1] + rows[i / 2][0] + expand_dims(x, 0)[0][i];
  });
}
inline Tensor reads_ravel(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    return sin(c) * ravel(m)[i] + squeeze(expand_dims(m, 1))[i / 4][2];
  });
}
inline Tensor reads_transpose(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    const Tensor turned = transpose(m);
    return sin(c) * turned[{1, i / 4}] + turned[{i % 4, i / 8}];
  });
}
inline Tensor takes_of_transpose(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    return sin(c) * sum(take(transpose(m), stack({i / 4, i / 8}), 1));
  });
}
inline Tensor reads_reshape_in_branches(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    const auto read = [&](Tensor c) { return sin(c) * ravel(m)[i]; };
    const auto add = [&](Tensor c) { return c + reshape(m, {2, -1})[1][i / 2]; };
    return cond(i % 3 == 0, add, read, cond(i % 2 == 0, read, add, c));
  });
}
inline Tensor reads_reshape_in_inner_loop(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    const Tensor flat = ravel(m);
    return fori_loop(
        0, 3, [&](Tensor k, Tensor h) { return sin(h) * flat[(i + k) % flat.dim(0)]; }, c);
  });
}

inline Tensor reads_entry(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {4, -1})](Tensor c, Tensor i) {
    const Tensor row = m[i % 4];
    return sin(c) * row[i / 4] + transpose(m)[{i / 8, 1}] + dynamic_slice(m, {2, i}, {2, 4})[1][3];
  });
}
inline Tensor reads_of_moved_axes(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {-1, 2, 2})](Tensor c, Tensor i) {
    const Tensor two = take(swapaxes(m, 0, 1), stack({i / 4, i / 8}), 1);
    return sin(c) * sum(moveaxis(m, 0, 2)[{Slice{}, 0, i / 4}]) * two[{1, 0, 1}];
  });
}
inline Tensor reads_flipped(const Tensor& x) {
  return over_positions(x, [&, m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    return sin(c) * flip(x)[i] + flip(transpose(m), {0})[{1, i / 4}];
  });
}

// The same of what is made of all of x in each step.
inline Tensor reads_values(const Tensor& x) {
  return over_positions(x, [m = reshape(x, {-1, 4})](Tensor c, Tensor i) {
    const Tensor weights = softmax(sin(m), 1);
    return sin(c) * weights[i / 4][1] - where(m > 0.0, 2.0 * m, -m)[{i / 4, 2}];
  });
}
inline Tensor reads_values_in_while(const Tensor& x) {
  using State = std::pair<Tensor, Tensor>;
  const int64_t size = x.dim(0);
  const auto body = [&](const State& s) {
    return State(sin(s.first) * sin(x)[s.second], s.second + 1);
  };
  return while_loop([=](const State& s) { return s.second < size - 5; }, body,
                    State(scalar(0.5), scalar(0)), {.max_steps = size})
      .first;
}
inline Tensor reads_values_in_branches(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) {
    const auto read = [&](Tensor c) { return sin(c) * sin(x)[i]; };
    const auto add = [&](Tensor c) { return c + exp(x)[i / 2]; };
    return cond(i % 2 == 0, read, add, c);
  });
}
inline Tensor reads_values_in_checkpoints(const Tensor& x) {
  const auto read = checkpoint([](Tensor c, Tensor x, Tensor i) { return sin(c) * sin(x)[i]; });
  return over_positions(x, [&](Tensor c, Tensor i) { return read(c, x, i); });
}
inline Tensor reads_every_second(const Tensor& x) {
  return over_positions(x, [&](Tensor c, Tensor i) {
    return sin(c) * x[Slice{0, x.dim(0), 2}][i / 2];
  });
}

struct Loss {
  const char* name;
  Tensor (*run)(const Tensor&);
};
inline constexpr Loss kLosses[] = {{"x[i]", reads_element},
                                   {"window", reads_window},
                                   {"take", takes_four},
                                   {"lanes", reads_in_lanes},
                                   {"x[0]", reads_first_element},
                                   {"branches", reads_in_branches},
                                   {"inner loop", reads_in_inner_loop},
                                   {"while", reads_in_while},
                                   {"map", reads_in_map},
                                   {"history read", reads_history},
                                   {"reshape", reads_reshape},
                                   {"ravel", reads_ravel},
                                   {"transpose", reads_transpose},
                                   {"x[i][j]", reads_entry},
                                   {"reshape in branches", reads_reshape_in_branches},
                                   {"reshape in a loop", reads_reshape_in_inner_loop},
                                   {"history written", writes_history},
                                   {"places written", writes_places},
                                   {"rows written", writes_rows},
                                   {"at.add", adds_to_places},
                                   {"take of a transpose", takes_of_transpose},
                                   {"moved axes", reads_of_moved_axes},
                                   {"flip", reads_flipped},
                                   {"values of all", reads_values},
                                   {"x[::2]", reads_every_second}};

// HLO counts what a branch makes of x in each step; a backend makes the elements that are read.
inline constexpr Loss kLossesOfValues[] = {{"values in while", reads_values_in_while},
                                           {"values in branches", reads_values_in_branches},
                                           {"values in checkpoints", reads_values_in_checkpoints}};

}  // namespace heddle::few_elements
