#pragma once
// Names that were probably meant: nearest(), did_you_mean(), no_such().

#include "nnex/suggest.h"
