/* SPDX-License-Identifier: MIT */
#include "base/lock.h"
#include "cluster/etcd/json.h"
#include "cluster/engine.h"
