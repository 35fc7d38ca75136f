// Stand-ins for what an operator's host functions see: shapes, attributes, contexts, platform, registration.
#pragma once
#include "host/attrs.h"
#include "host/context.h"
#include "host/library.h"
#include "host/platform.h"
#include "host/registry.h"
#include "host/shape.h"
#include "host/types.h"
