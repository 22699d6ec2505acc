// A function of your own inside a program: registered by name, called by custom-call, run by the
// interpreter.
#include "heddle/interpreter/custom_call.h"

#include <cmath>
#include <cstdio>

#include "heddle/heddle.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

using namespace heddle;

// [function]
// Airmass by Kasten and Young's fit, from the height of the sun in degrees: f32[n] -> f32[n].
StatusOr<Literal> airmass(interpreter::CustomCall& call) {
  HEDDLE_ASSIGN_OR_RETURN(std::span<const float> height, call.values<float>(0));
  HEDDLE_ASSIGN_OR_RETURN(double scale, call.number("scale"));
  Literal out = Literal::uninitialised(call.result());
  std::span<float> to = out.mutable_values<float>();
  if (to.size() != height.size())
    return call.error("result is ", call.result(), "; must have the size of height");
  for (size_t i = 0; i < to.size(); ++i) {
    const double h = height[i];
    const double sine = std::sin(h * 0.017453292519943295);
    to[i] = static_cast<float>(scale / (sine + 0.50572 * std::pow(h + 6.07995, -1.6364)));
  }
  return out;
}
// [/function]

// [program]
constexpr const char* kProgram = R"(HloModule sun
  ENTRY main {
    height = f32[3] parameter(0)
    mass = f32[3] custom-call(height), custom_call_target="airmass", backend_config={scale = 1.0 : f64}
    ROOT light = f32[3] exponential-minus-one(mass)
  })";
// [/program]

StatusOr<Literal> run() {
  // [register]
  HEDDLE_RETURN_IF_ERROR(interpreter::register_custom_call("airmass", airmass));
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module module, hlo::parse_text(kProgram));
  return interpreter::evaluate(module, {Literal::from<float>(Shape(f32, {3}), {90, 30, 5})});
  // [/register]
}

int main() {
  const StatusOr<Literal> light = run();
  if (!light.ok()) return std::fprintf(stderr, "%s\n", base::message_of(light.status()).c_str()), 1;
  for (float each : light->values<float>()) std::printf("%g\n", each);
  return std::abs(light->values<float>()[0] - 1.7183) < 1e-3 ? 0 : 1;
}
