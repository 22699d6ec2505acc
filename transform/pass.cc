#include "heddle/transform/pass.h"

#include <algorithm>

#include "heddle/base/containers/span.h"
#include "heddle/base/text/utf8.h"
#include "heddle/transform/dump.h"

namespace heddle::transform {
namespace {

std::span<const Pass> find_passes(std::string_view name) {
  if (name == "lower") return kLowerPipeline;
  if (name == "flatten") return kFlattenPipeline;
  for (std::span<const Pass> passes :
       {std::span<const Pass>(kPasses), std::span<const Pass>(kRoundingPasses),
        std::span<const Pass>(kXlaPasses)}) {
    const auto found = std::ranges::find(passes, name, &Pass::name);
    if (found != passes.end()) return {&*found, 1};
  }
  return {};
}

std::string known_names() {
  std::string names = "lower, flatten";
  for (const Pass& pass : kPasses) base::append(names, ", ", pass.name);
  for (const Pass& pass : kRoundingPasses) base::append(names, ", ", pass.name);
  for (const Pass& pass : kXlaPasses) base::append(names, ", ", pass.name);
  return names;
}

// A module that was legal and is not any more is the pass's fault, never the user's.
Status verify_after(const Pass& pass, const hlo::Module& module, hlo::Stage stage) {
  Status status = hlo::verify(module, stage);
  if (status.ok()) return status;
  return base::internal_error("after ", pass.name, ": ", base::message_of(status));
}

// A module on its way through a pipeline.
class PipelineRun {
 public:
  PipelineRun(const hlo::Module& module, const PipelineOptions& options)
      : now_(&module), options_(options), stage_(options.stage) {}

  Status begin() {
    keep("input");
    if (options_.verify_each) HEDDLE_RETURN_IF_ERROR(hlo::verify(*now_, stage_));
    if (options_.dump) options_.dump(step_, "input", *now_);
    return {};
  }

  // Returns whether the pass changed anything.
  StatusOr<bool> run(const Pass& pass) {
    auto now = [&] {
      const base::Span span(base::Activity::kPass, pass.name);
      return pass.run(*now_);
    }();
    if (!now.ok()) {
      (void)write();  // what came before it
      return base::annotate(now.status(), pass.name, ": ");
    }
    const bool changed = !hlo::equal(module_, *now);
    module_ = *std::move(now);
    now_ = &module_;
    ++passes_;
    keep(pass.name);
    stage_ = std::max(stage_, pass.leaves);
    if (options_.verify_each) HEDDLE_RETURN_IF_ERROR(verify_after(pass, module_, stage_));
    if (options_.dump) options_.dump(++step_, pass.name, module_);
    return changed;
  }

  // Each pass is idempotent: where all the others leave a result of it alone, so does it.
  Status settle(std::span<const Pass> passes) {
    size_t unchanged = 0;  // passes in a row
    bool changed = false;
    for (size_t i = 0; i < kMaxRounds * passes.size(); ++i) {
      HEDDLE_ASSIGN_OR_RETURN(const bool now, run(passes[i % passes.size()]));
      unchanged = now ? 0 : unchanged + 1;
      changed |= now;
      if (unchanged == passes.size() - (changed ? 1 : 0)) break;
    }
    return {};
  }

  StatusOr<hlo::Module> finish() && {
    HEDDLE_RETURN_IF_ERROR(write());
    if (now_ != &module_) return *now_;
    return std::move(module_);
  }

 private:
  // For HEDDLE_DUMP: the module, unless the pass has left it as it was.
  void keep(std::string_view pass) {
    if (folder_.empty()) return;
    std::string text = text_of_dump(*now_);
    if (!dumped_.empty() && dumped_.back().text == text) return;
    const std::string number = base::cat(passes_ < 10 ? "0" : "", passes_);
    dumped_.push_back({base::cat("passes.", number, "-", pass, ".hlo"), std::move(text)});
  }
  Status write() const { return folder_.empty() ? Status() : dump(folder_, now_->name, dumped_); }

  const hlo::Module* now_;  // the module that came in, until a pass has run
  hlo::Module module_;
  const PipelineOptions& options_;
  hlo::Stage stage_;
  int step_ = 0;
  int passes_ = 0;
  const std::string folder_ = dump_folder();
  std::vector<DumpedStage> dumped_;
};

}  // namespace

StatusOr<hlo::Module> run_pipeline(const hlo::Module& module, std::span<const Pass> passes,
                                   const PipelineOptions& options) {
  PipelineRun pipeline(module, options);
  HEDDLE_RETURN_IF_ERROR(pipeline.begin());
  while (!passes.empty()) {
    auto last = std::ranges::find(passes, false, &Pass::settles);
    auto settling = static_cast<size_t>(last - passes.begin());
    HEDDLE_RETURN_IF_ERROR(settling > 0 ? pipeline.settle(passes.first(settling))
                                        : pipeline.run(passes[0]).status());
    passes = passes.subspan(std::max<size_t>(settling, 1));
  }
  return std::move(pipeline).finish();
}

StatusOr<std::vector<Pass>> parse_pipeline(std::string_view names) {
  std::vector<Pass> passes;
  for (std::string_view rest = names; !names.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    const std::span<const Pass> found = find_passes(name);
    if (name.empty())
      return base::not_found("passes \"", base::printable(names),
                             "\": a name is missing beside a comma; there are ", known_names());
    if (found.empty())
      return base::not_found("pass ", base::printable(name), ": there is none; there are ",
                             known_names());
    passes.insert(passes.end(), found.begin(), found.end());
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return passes;
}

}  // namespace heddle::transform
