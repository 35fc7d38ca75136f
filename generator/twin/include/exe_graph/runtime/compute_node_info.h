// Real include name; see twin/host.h.
#pragma once
#include "../../twin/host.h"
