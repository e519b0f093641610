/* SPDX-License-Identifier: MIT */
/* Rate: a rate limit.  The package weir waits; this type only counts. */
#include "weirpy.h"

#include "weir/rate.h"

struct rate {
	PyObject_HEAD
	weir_rate limit;
	bool ready;		/* set up */
};

static weir_rate *get(PyObject *object)
{
	struct rate *self = (struct rate *)object;

	if (self->ready)
		return &self->limit;
	PyErr_SetString(PyExc_RuntimeError, "Rate.__init__() was not called");
	return NULL;
}

static int init(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "rate", "period_ns", "burst", "spaced", NULL };
	struct rate *self = (struct rate *)object;
	long long rate, period = 0, burst = 0;
	weir_rate_opts opts = { 0 };
	int spaced = 0;
	weir_err err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "L|LLp", names, &rate,
					 &period, &burst, &spaced))
		return -1;
	if (self->ready) {
		PyErr_SetString(PyExc_RuntimeError,
				"Rate.__init__() was called twice");
		return -1;
	}
	opts.rate = rate;
	opts.period_ns = period;
	opts.burst = burst;
	opts.kind = spaced ? WEIR_RATE_SPACED : WEIR_RATE_BUCKET;
	err = weir_rate_init(&self->limit, &opts);
	if (err) {
		weirpy_raise(err);
		return -1;
	}
	self->ready = true;
	return 0;
}

static void dealloc(PyObject *object)
{
	struct rate *self = (struct rate *)object;

	/* No call of this type waits. */
	if (self->ready && weir_rate_destroy(&self->limit))
		Py_FatalError("weir: a rate limit is in use");
	weirpy_free(object);
}

/* The text of WEIR_ETOOBIG is about permits and a capacity. */
static PyObject *raise_too_many(void)
{
	PyErr_SetString(PyExc_ValueError, "more tokens than the burst");
	return NULL;
}

static PyObject *take(PyObject *self, PyObject *args, PyObject *kwargs)
{
	weir_rate *limit = get(self);
	weir_err err;
	int64_t n;

	if (!limit || !weirpy_parse_n(args, kwargs, &n))
		return NULL;
	err = weir_rate_try_acquire(limit, n);
	return err == WEIR_ETOOBIG ? raise_too_many() : weirpy_acquired(err);
}

static PyObject *delay(PyObject *self, PyObject *args, PyObject *kwargs)
{
	weir_rate *limit = get(self);
	int64_t n, ns;

	if (!limit || !weirpy_parse_n(args, kwargs, &n))
		return NULL;
	/* weir_rate_delay panics. */
	if (n > WEIR_SEM_MAX)
		return raise_too_many();
	ns = weir_rate_delay(limit, n);
	if (ns == WEIR_FOREVER)
		return raise_too_many();
	return PyFloat_FromDouble((double)ns / 1e9);
}

static PyMethodDef methods[] = {
	{ "_take", METHOD(take), METH_VARARGS | METH_KEYWORDS,
	  "Take n tokens if they are available; return True or False." },
	{ "_delay", METHOD(delay), METH_VARARGS | METH_KEYWORDS,
	  "The seconds until n tokens are available." },
	{ NULL, NULL, 0, NULL }
};

static PyType_Slot slots[] = {
	SLOT(Py_tp_doc, "The base of weir.RateLimiter."),
	SLOT(Py_tp_init, init),
	SLOT(Py_tp_dealloc, dealloc),
	SLOT(Py_tp_methods, methods),
	{ 0, NULL }
};

PyType_Spec weirpy_rate_spec = {
	.name = "weir._weir.Rate",
	.basicsize = sizeof(struct rate),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = slots,
};
