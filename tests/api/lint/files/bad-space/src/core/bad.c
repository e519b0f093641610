/* SPDX-License-Identifier: MIT */
int x; 
