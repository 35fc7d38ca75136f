// Ascend C's umbrella header, as the twin understands it.
#pragma once
#include "twin/macros.h"
#include "twin/core.h"
#include "twin/sync.h"
#include "twin/queue.h"
#include "twin/launch.h"
#include "twin/gm.h"
#include "twin/copy.h"
#ifndef TWIN_SPLIT
#include "twin/checks.h"
#include "twin/landing.h"
#endif
#if __has_include("twin/vector_all.h")
#include "twin/vector_all.h"
#endif
