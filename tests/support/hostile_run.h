#pragma once
// A hostile node as the standard's file, read, checked, compiled and run.

#include <string>

#include "hostile.h"
#include "nnex/model.h"

namespace nnex::test {

/// What reading, checking, compiling and running a case gave in the end: any error but one of our own making is right.
Status run_hostile(const HostileCase& c);

/// The same for a case spelled by WebNN, through its API: whatever it answers is right.
void run_hostile_webnn(const HostileCase& c);

}  // namespace nnex::test
