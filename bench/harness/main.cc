// SPDX-License-Identifier: MIT
// The same program for a peer in C++.
#include "main.c"
