// Ascend C's Matmul interface, as the twin understands it.
#pragma once
#include "../twin/matmul.h"
