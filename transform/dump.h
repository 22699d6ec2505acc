// Modules as files, for people who look at what each step makes of a program. HEDDLE_DUMP=FOLDER
// asks for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// A file of a dump: "plan" and its text.
struct DumpedStage {
  std::string ending;
  std::string text;
};

// Writes FOLDER/0001-NAME.ENDING, .., with the next number of this process. Makes the folder.
// errors: Unavailable if a file cannot be written
Status dump(const std::string& folder, const std::string& name,
            const std::vector<DumpedStage>& stages);

// The text of a module for people: short names, lines as comments, no long constants.
std::string text_of_dump(const hlo::Module& module);

// The folder of HEDDLE_DUMP; empty: no dumps.
std::string dump_folder();

// If there is such a folder, writes NUMBER-NAME.STEP.0-before.hlo and .1-after.hlo. errors: as
// dump()
Status dump_step(std::string_view step, const hlo::Module& before, const hlo::Module& after);
// `after`; dumps it if it is a module.
StatusOr<hlo::Module> dumped(std::string_view step, const hlo::Module& before,
                             StatusOr<hlo::Module> after);

}  // namespace heddle::transform
