// Real include name; see twin/host/op_def.h.
#pragma once
#include "../twin/host.h"
#include "../twin/host/op_def.h"
