// The programs of app.h give what JAX recorded, within the corpus's tolerances.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "heddle/hlo/module.h"
#include "heddle/hlo/wire.h"
#include "heddle/tests/apps/app.h"
#include "heddle/tests/conformance/corpora.h"
#include "heddle/tools/conformance/compare.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::apps {
namespace {

std::vector<App> all_apps() {
  return joined({array_apps(), loop_apps(), model_apps(), solver_apps()});
}

const conformance::Case& case_of(const std::string& name) {
  static std::map<std::string, conformance::Case> cases;
  const std::string category = name.substr(0, name.find('/'));
  if (!cases.count(name)) {
    auto pack = conformance::read_pack(base::cat(conformance::kOwn, "/", category, ".cases.gz"));
    for (conformance::Case& one : pack.value()) cases.emplace(one.name, std::move(one));
  }
  return cases.at(name);
}

Literal literal_of(const Tensors& results) {
  if (results.size() == 1) return results[0].to_literal();
  std::vector<Literal> parts;
  for (const Tensor& each : results) parts.push_back(each.to_literal());
  return Literal::tuple(std::move(parts));
}

// The arrays that JAX folded into a program: constants of the corpus's module, in its order, each
// once.
Tensors folded(const conformance::Case& recorded) {
  const hlo::Module module = hlo::from_proto(recorded.module).value();
  std::vector<Literal> found;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& each : computation.instructions) {
      if (each.opcode != hlo::Opcode::kConstant || each.shape.element_count() < 2) continue;
      const Literal& literal = each.attrs.get<hlo::ConstantAttrs>().literal;
      if (std::find(found.begin(), found.end(), literal) == found.end()) found.push_back(literal);
    }
  }
  Tensors out;
  for (const Literal& each : found) out.push_back(array(each));
  return out;
}

class Apps : public testing::TestWithParam<App> {};

TEST_P(Apps, GiveWhatJaxRecorded) {
  const conformance::Case& recorded = case_of(GetParam().name);
  Tensors arguments;
  for (const Literal& each : recorded.arguments) arguments.push_back(array(each));
  for (Tensor& each : folded(recorded)) arguments.push_back(std::move(each));
  const Literal got = literal_of(GetParam().run(arguments));
  EXPECT_EQ(conformance::difference(got, recorded.expected, recorded.tolerances), "");
}

std::string test_name(const testing::TestParamInfo<App>& info) {
  std::string name = info.param.name;
  name[name.find('/')] = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Corpus, Apps, testing::ValuesIn(all_apps()), test_name);

TEST(Apps, AreFortyAndMore) {
  std::set<std::string> names;
  for (const App& one : all_apps()) EXPECT_TRUE(names.insert(one.name).second) << one.name;
  EXPECT_GE(names.size(), 40u);
}

}  // namespace
}  // namespace heddle::apps
