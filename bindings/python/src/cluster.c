/* SPDX-License-Identifier: MIT */
/*
 * Cluster and Lease: a semaphore between machines.
 *
 * libweir-cluster needs the client libraries of its engines.  It is loaded when
 * the first semaphore is opened, so that the package does not need them.
 */
#include "weirpy.h"

#include <dlfcn.h>
#include <errno.h>

#include "weir/cluster.h"

#define LIBRARY "libweir-cluster.so.0"

#define FUNCTIONS(X)                                                           \
	X(weir_cluster_open)                                                   \
	X(weir_cluster_close_handle)                                           \
	X(weir_cluster_why)                                                    \
	X(weir_cluster_acquire_until)                                          \
	X(weir_cluster_try_acquire)                                            \
	X(weir_cluster_resize)                                                 \
	X(weir_cluster_unlink)                                                 \
	X(weir_cluster_op_init)                                                \
	X(weir_cluster_op_submit)                                              \
	X(weir_cluster_op_cancel)                                              \
	X(weir_lease_release)                                                  \
	X(weir_lease_check)                                                    \
	X(weir_lease_fence)                                                    \
	X(weir_lease_weight)

static struct {
	bool loaded;
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
#undef FIELD
} api;

struct cluster {
	PyObject_HEAD
	weir_cluster *sem;	/* null: not open */
	Py_ssize_t calls;	/* in progress, operations and leases;
				   under the GIL */
};

struct lease {
	PyObject_HEAD
	weir_lease *lease;	/* null: released */
	struct cluster *cluster;
	unsigned long long fence;
	long long weight;
};

static bool load(void)
{
	void *library;

	if (api.loaded)
		return true;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		PyErr_Format(weirpy_Error, "semaphores between machines need "
			     LIBRARY ": %s", dlerror());
		return false;
	}
#define LOAD(name)                                                             \
	*(void **)&api.name = dlsym(library, #name);                           \
	if (!api.name) {                                                       \
		PyErr_SetString(weirpy_Error, LIBRARY " has no " #name);       \
		return false;                                                  \
	}
	FUNCTIONS(LOAD)
#undef LOAD
	api.loaded = true;
	return true;
}

/* Raise err; for WEIR_ESYSTEM, OSError with the engine's words. */
static PyObject *raise_why(weir_err err, int errnum, const char *why)
{
	PyObject *arguments;

	errno = errnum;
	if (err != WEIR_ESYSTEM || !*why)
		return weirpy_raise(err);
	arguments = Py_BuildValue("(is)", errnum, why);
	if (arguments) {
		PyErr_SetObject(PyExc_OSError, arguments);
		Py_DECREF(arguments);
	}
	return NULL;
}

static PyObject *raise_of(weir_cluster *sem, weir_err err, int errnum)
{
	char why[256] = "";

	api.weir_cluster_why(sem, why, sizeof(why));
	return raise_why(err, errnum, why);
}

static weir_cluster *get(PyObject *self)
{
	weir_cluster *sem = ((struct cluster *)self)->sem;

	if (!sem)
		PyErr_SetString(PyExc_ValueError,
				"the semaphore was closed by close()");
	return sem;
}

static int cluster_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "url", "capacity", "create", "exclusive",
				 "ttl_ns", "label", "password", NULL };
	struct cluster *self = (struct cluster *)object;
	const char *url, *label = NULL, *password = NULL;
	int create = 0, exclusive = 0, errnum;
	long long capacity = 0, ttl_ns = 0;
	weir_cluster_opts opts = { 0 };
	weir_cluster *sem = NULL;
	char why[256] = "";
	weir_err err;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|LppLzz", names, &url,
					 &capacity, &create, &exclusive,
					 &ttl_ns, &label, &password) ||
	    !load())
		return -1;
	if (self->sem) {
		PyErr_SetString(PyExc_RuntimeError,
				"Cluster.__init__() was called twice");
		return -1;
	}
	opts.capacity = capacity;
	opts.ttl_ns = ttl_ns;
	opts.flags = WEIR_CLUSTER_INTERRUPTIBLE |
		     (create ? WEIR_CLUSTER_CREATE : 0) |
		     (exclusive ? WEIR_CLUSTER_EXCLUSIVE : 0);
	opts.label = label;
	opts.password = password;
	opts.why = why;
	opts.why_size = sizeof(why);
	Py_BEGIN_ALLOW_THREADS
	err = api.weir_cluster_open(url, &opts, &sem);
	errnum = errno;
	Py_END_ALLOW_THREADS
	self->sem = sem;
	if (!err)
		return 0;
	raise_why(err, errnum, why);
	return -1;
}

static PyObject *cluster_close(PyObject *object, PyObject *unused)
{
	struct cluster *self = (struct cluster *)object;
	weir_cluster *sem = self->sem;
	weir_err err;

	(void)unused;
	if (!sem)
		Py_RETURN_NONE;
	if (self->calls)
		return weirpy_raise(WEIR_EBUSY);
	self->sem = NULL;
	Py_BEGIN_ALLOW_THREADS
	err = api.weir_cluster_close_handle(sem);
	Py_END_ALLOW_THREADS
	if (!err)
		Py_RETURN_NONE;
	self->sem = sem;
	return weirpy_raise(err);
}

static void cluster_dealloc(PyObject *object)
{
	struct cluster *self = (struct cluster *)object;

	/* Calls and leases refer to *self, so none is left. */
	if (self->sem && api.weir_cluster_close_handle(self->sem))
		Py_FatalError("weir: a handle is in use");
	weirpy_free(object);
}

static PyObject *wrap(struct cluster *self, weir_lease *lease)
{
	struct lease *object = PyObject_New(struct lease, weirpy_LeaseType);

	if (!object) {
		/* An error leaves the lease to its end. */
		if (api.weir_lease_release(lease))
			errno = 0;
		return NULL;
	}
	object->lease = lease;
	object->cluster = self;
	object->fence = api.weir_lease_fence(lease);
	object->weight = api.weir_lease_weight(lease);
	Py_INCREF(self);
	self->calls++;
	return (PyObject *)object;
}

static PyObject *cluster_acquire(PyObject *object, PyObject *args,
				 PyObject *kwargs)
{
	struct cluster *self = (struct cluster *)object;
	weir_cluster *sem = get(object);
	weir_lease *lease = NULL;
	struct weirpy_acquire a;
	weir_err err;
	int errnum;

	if (!sem || !weirpy_parse_acquire(args, kwargs, &a))
		return NULL;
	self->calls++;
	do {
		Py_BEGIN_ALLOW_THREADS
		if (a.blocking)
			err = api.weir_cluster_acquire_until(sem, a.n,
							     a.deadline, &lease);
		else
			err = api.weir_cluster_try_acquire(sem, a.n, &lease);
		errnum = errno;
		Py_END_ALLOW_THREADS
	} while (err == WEIR_EINTR && !PyErr_CheckSignals());
	self->calls--;
	switch (err) {
	case WEIR_OK:
		return wrap(self, lease);
	case WEIR_EAGAIN:
	case WEIR_ETIMEDOUT:
		Py_RETURN_NONE;
	case WEIR_EINTR:
		return NULL;
	default:
		return raise_of(sem, err, errnum);
	}
}

/*
 * The operations of tasks: the thread of the handle asks the server.
 */

static void op_ready(weir_cluster_op *done, weir_err err, weir_lease *lease,
		     void *user)
{
	struct weirpy_op *op = user;
	struct cluster *self = (struct cluster *)op->owner;
	int errnum = errno;

	(void)done;
	self->calls--;
	if (lease) {
		op->u.cluster.lease = wrap(self, lease);
		if (!op->u.cluster.lease) {
			PyErr_Clear();
			err = WEIR_ENOMEM;
		}
	}
	weirpy_op_ready(op, err, errnum);
}

static bool op_cancel(struct weirpy_op *op)
{
	if (api.weir_cluster_op_cancel(&op->u.cluster.op))
		return false;
	((struct cluster *)op->owner)->calls--;
	return true;
}

static PyObject *op_result(struct weirpy_op *op)
{
	weir_cluster *sem = ((struct cluster *)op->owner)->sem;

	if (op->err && sem)
		return raise_of(sem, op->err, op->errnum);
	if (op->err)
		return weirpy_raise(op->err);
	Py_INCREF(op->u.cluster.lease);
	return op->u.cluster.lease;
}

static void op_end(struct weirpy_op *op)
{
	Py_CLEAR(op->u.cluster.lease);
}

static const struct weirpy_kind op_kind = { op_cancel, op_result, op_end };

static PyObject *cluster_submit(PyObject *object, PyObject *args)
{
	struct cluster *self = (struct cluster *)object;
	weir_cluster *sem = get(object);
	struct weirpy_op *op;
	weir_err err;
	int64_t n;

	if (!sem)
		return NULL;
	op = weirpy_op_new(&op_kind, object, args, &n);
	if (!op)
		return NULL;
	api.weir_cluster_op_init(&op->u.cluster.op, sem, &op->loop->loop,
				 op_ready, op);
	err = api.weir_cluster_op_submit(&op->u.cluster.op, n, WEIR_FOREVER);
	if (err == WEIR_EQUEUED)
		self->calls++;
	return weirpy_op_submitted(op, err, errno);
}

/* Make one call on the handle without the GIL. */
#define CALL(object, expression)                                               \
	struct cluster *self = (struct cluster *)(object);                     \
	weir_cluster *sem = get(object);                                       \
	weir_err err;                                                          \
	int errnum;                                                            \
                                                                               \
	if (!sem)                                                              \
		return NULL;                                                   \
	self->calls++;                                                         \
	Py_BEGIN_ALLOW_THREADS                                                 \
	err = (expression);                                                    \
	errnum = errno;                                                        \
	Py_END_ALLOW_THREADS                                                   \
	self->calls--;                                                         \
	if (err)                                                               \
		return raise_of(sem, err, errnum);                             \
	Py_RETURN_NONE

static PyObject *cluster_resize(PyObject *object, PyObject *capacity)
{
	long long n = PyLong_AsLongLong(capacity);

	if (PyErr_Occurred())
		return NULL;
	CALL(object, api.weir_cluster_resize(sem, n, NULL));
}

static PyObject *cluster_unlink(PyObject *object, PyObject *unused)
{
	(void)unused;
	CALL(object, api.weir_cluster_unlink(sem));
}

/* Release the lease, which the library frees in any case. */
static weir_err give_back(struct lease *self)
{
	weir_lease *lease = self->lease;
	weir_err err;

	self->lease = NULL;
	Py_BEGIN_ALLOW_THREADS
	err = api.weir_lease_release(lease);
	Py_END_ALLOW_THREADS
	self->cluster->calls--;
	return err;
}

static PyObject *lease_release(PyObject *object, PyObject *unused)
{
	struct lease *self = (struct lease *)object;
	weir_err err;

	(void)unused;
	if (!self->lease)
		return weirpy_raise(WEIR_EOVERFLOW);
	err = give_back(self);
	/* The handle's thread repeats the release. */
	if (err && err != WEIR_EINDETERMINATE)
		return raise_of(self->cluster->sem, err, errno);
	Py_RETURN_NONE;
}

static PyObject *lease_enter(PyObject *object, PyObject *unused)
{
	(void)unused;
	Py_INCREF(object);
	return object;
}

static void lease_dealloc(PyObject *object)
{
	struct lease *self = (struct lease *)object;

	/* The result is of no use: the lease ends by itself at the latest. */
	if (self->lease)
		(void)give_back(self);
	Py_CLEAR(self->cluster);
	weirpy_free(object);
}

static PyObject *get_valid(PyObject *object, void *unused)
{
	struct lease *self = (struct lease *)object;

	(void)unused;
	return PyBool_FromLong(self->lease &&
			       !api.weir_lease_check(self->lease));
}

static PyObject *get_fence(PyObject *object, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(((struct lease *)object)->fence);
}

static PyObject *get_weight(PyObject *object, void *unused)
{
	(void)unused;
	return PyLong_FromLongLong(((struct lease *)object)->weight);
}

static PyMethodDef cluster_methods[] = {
	{ "acquire", METHOD(cluster_acquire), METH_VARARGS | METH_KEYWORDS,
	  "acquire($self, /, blocking=True, timeout=None, *, n=1)\n--\n\n"
	  "Take n permits, waiting for them in order of arrival at the server.\n\n"
	  "Return a Lease, or None if blocking is false and the permits are not\n"
	  "free, or if timeout seconds have passed.\n" },
	{ "_submit", cluster_submit, METH_VARARGS,
	  "Request n permits: Op." },
	{ "resize", cluster_resize, METH_O,
	  "resize($self, capacity, /)\n--\n\n"
	  "Set the capacity, for all clients.\n" },
	{ "unlink", cluster_unlink, METH_NOARGS,
	  "unlink($self, /)\n--\n\nRemove the semaphore from the server.\n" },
	{ "close", cluster_close, METH_NOARGS,
	  "close($self, /)\n--\n\n"
	  "End the use of this object.  Raises Error while leases are held.\n" },
	{ NULL, NULL, 0, NULL }
};

static PyType_Slot cluster_slots[] = {
	SLOT(Py_tp_doc, "The base of weir.ClusterSemaphore."),
	SLOT(Py_tp_init, cluster_init),
	SLOT(Py_tp_dealloc, cluster_dealloc),
	SLOT(Py_tp_methods, cluster_methods),
	{ 0, NULL }
};

PyType_Spec weirpy_cluster_spec = {
	.name = "weir._weir.Cluster",
	.basicsize = sizeof(struct cluster),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = cluster_slots,
};

static PyMethodDef lease_methods[] = {
	{ "release", lease_release, METH_NOARGS,
	  "release($self, /)\n--\n\n"
	  "Return the permits.  Raises LostError if the lease was lost before.\n" },
	{ "__enter__", lease_enter, METH_NOARGS, "Return the lease." },
	{ "__exit__", lease_release, METH_VARARGS, "Return the permits." },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef lease_attributes[] = {
	{ "valid", get_valid, NULL,
	  "True while the permits are held by this process.", NULL },
	{ "fence", get_fence, NULL,
	  "The fencing token: greater than that of every earlier lease.", NULL },
	{ "weight", get_weight, NULL, "The number of permits.", NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot lease_slots[] = {
	SLOT(Py_tp_doc, "Permits of a ClusterSemaphore, until they are released\n"
			"or cannot be renewed in time."),
	SLOT(Py_tp_dealloc, lease_dealloc),
	SLOT(Py_tp_methods, lease_methods),
	SLOT(Py_tp_getset, lease_attributes),
	{ 0, NULL }
};

PyType_Spec weirpy_lease_spec = {
	.name = "weir._weir.Lease",
	.basicsize = sizeof(struct lease),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = lease_slots,
};
