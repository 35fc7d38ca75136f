// Every vector instruction the twin has.
#pragma once

#include "twin/cast.h"
#include "twin/gather.h"
#include "twin/reduce.h"
#include "twin/reduce_all.h"
#include "twin/transpose.h"
#include "twin/vector_arithmetic.h"
#include "twin/vector_compare.h"
#include "twin/vector_fill.h"
#include "twin/vector_mask.h"
