// SPDX-License-Identifier: MIT
// main.c for a peer in C++.
#include "main.c"
