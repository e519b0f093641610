/* SPDX-License-Identifier: MIT */
/*
 * Prometheus text (version 0.0.4) and OpenMetrics 1.0.
 *
 * The formats differ in details: OpenMetrics names a counter's family without
 * "_total", has units and a type "info", and ends with "# EOF".  Samples are
 * the same lines in both, so that a time series does not depend on the format.
 */
#include <inttypes.h>

#include "cmd/export/format.h"
#include "weir/base.h"

const char *format_type(enum format format)
{
	return format == FORMAT_OPENMETRICS ?
		"application/openmetrics-text; version=1.0.0; charset=utf-8" :
		"text/plain; version=0.0.4; charset=utf-8";
}

static void head(FILE *out, enum format format, const char *name,
		 const char *type, const char *unit, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
	if (unit && format == FORMAT_OPENMETRICS)
		fprintf(out, "# UNIT %s %s\n", name, unit);
}

static void family_head(FILE *out, enum format format,
			const struct metrics_description *family)
{
	static const char *const types[] = {
		[METRICS_GAUGE] = "gauge",
		[METRICS_COUNTER] = "counter",
		[METRICS_HISTOGRAM] = "histogram",
	};
	char name[80];

	(void)snprintf(name, sizeof(name), "%s%s", family->name,
		       family->type == METRICS_COUNTER &&
		       format == FORMAT_PROMETHEUS ? "_total" : "");
	head(out, format, name, types[family->type],
	     family->is_time ? "seconds" : NULL, family->help);
}

/* Write the value of a label.  metrics_clean has made it valid UTF-8. */
static void label_value(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		if (*text == '\n')
			fputs("\\n", out);
		else
			putc((unsigned char)*text, out);
	}
	putc('"', out);
}

/* Write the name and the labels; label may be null. */
static void sample_head(FILE *out, const char *name, const char *suffix,
			const struct metrics_labels *labels, const char *label,
			const char *value)
{
	fprintf(out, "%s%s{semaphore=", name, suffix);
	label_value(out, labels->semaphore);
	fprintf(out, ",policy=\"%s\",scope=\"%s\"",
		metrics_policy_text(labels->policy),
		metrics_scope_text(labels->scope));
	if (labels->server) {
		fputs(",server=", out);
		label_value(out, labels->server);
	}
	if (label)
		fprintf(out, ",%s=\"%s\"", label, value);
	fputs("} ", out);
}

/* Write a time in nanoseconds as seconds, without loss. */
static void seconds(FILE *out, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	fprintf(out, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "",
		size / 1000000000, size % 1000000000);
}

static void write_plain(FILE *out, const struct metrics_description *family,
			const struct metrics_labels *labels,
			const struct metrics_sample *sample)
{
	sample_head(out, family->name,
		    family->type == METRICS_COUNTER ? "_total" : "", labels,
		    family->label, family->label ?
		    family->values[sample->part] : NULL);
	if (family->is_time)
		seconds(out, sample->value);
	else
		fprintf(out, "%" PRId64, sample->value);
	putc('\n', out);
}

static void write_exemplar(FILE *out, const struct metrics_exemplar *exemplar)
{
	fputs(" # {site=", out);
	label_value(out, exemplar->site);
	fputs("} ", out);
	seconds(out, exemplar->ns);
	fprintf(out, " %" PRId64 ".%03d", exemplar->time_ms / 1000,
		(int)(exemplar->time_ms % 1000));
}

/*
 * Write a histogram from its samples, which are sorted by part; a bucket
 * without a sample is empty.  Returns the number of samples.
 */
static uint32_t write_histogram(FILE *out, const struct metrics *m,
				enum format format, enum metrics_family which,
				const struct metrics_sample *samples,
				uint32_t count)
{
	const struct metrics_description *family = &metrics_families[which];
	const struct metrics_labels *labels = &m->series[samples->series];
	uint64_t below = 0;
	uint32_t used = 0;
	int64_t total = 0;

	for (uint32_t i = 0; i < METRICS_BUCKETS; i++) {
		const struct metrics_exemplar *exemplar = NULL;

		if (used < count && samples[used].part == i) {
			/* The clocks of both may differ by one tick. */
			if (samples[used].value &&
			    format == FORMAT_OPENMETRICS)
				exemplar = metrics_find_exemplar(
					m, which, samples->series, i);
			below += (uint64_t)samples[used++].value;
		}
		if (i < family->first)
			continue;
		sample_head(out, family->name, "_bucket", labels, "le",
			    i < METRICS_BOUNDS ? metrics_bounds[i] : "+Inf");
		fprintf(out, "%" PRIu64, below);
		if (exemplar)
			write_exemplar(out, exemplar);
		putc('\n', out);
	}
	if (used < count && samples[used].part == METRICS_TOTAL)
		total = samples[used++].value;
	sample_head(out, family->name, "_sum", labels, NULL, NULL);
	seconds(out, total);
	putc('\n', out);
	sample_head(out, family->name, "_count", labels, NULL, NULL);
	fprintf(out, "%" PRIu64 "\n", below);
	return used;
}

/* Returns the number of samples from the first on that have its labels. */
static uint32_t same_labels(const struct metrics *m,
			    const struct metrics_sample *samples,
			    uint32_t count)
{
	uint32_t n = 1;

	while (n < count && samples[n].part > samples[n - 1].part &&
	       !metrics_compare(&m->series[samples[n].series],
				&m->series[samples[0].series]))
		n++;
	return n;
}

static void write_family(FILE *out, const struct metrics *m,
			 enum format format, enum metrics_family which)
{
	const struct metrics_description *family = &metrics_families[which];
	const struct metrics_samples *samples = &m->families[which];

	if (!samples->count)
		return;
	family_head(out, format, family);
	for (uint32_t i = 0; i < samples->count;) {
		const struct metrics_sample *sample = &samples->list[i];
		const struct metrics_labels *labels =
			&m->series[sample->series];

		if (family->type == METRICS_HISTOGRAM) {
			uint32_t n = same_labels(m, sample,
						 samples->count - i);

			i += write_histogram(out, m, format, which, sample, n);
		} else {
			write_plain(out, family, labels, sample);
			i++;
		}
	}
}

static void write_servers(FILE *out, const struct metrics *m,
			  enum format format)
{
	if (!m->servers_count)
		return;
	head(out, format, "weir_export_server_up", "gauge", NULL,
	     "1 if the server was read completely, otherwise 0.");
	for (uint32_t i = 0; i < m->servers_count; i++) {
		fputs("weir_export_server_up{server=", out);
		label_value(out, m->servers[i].label);
		fprintf(out, "} %d\n", m->servers[i].is_up);
	}
}

void format_write(FILE *out, const struct metrics *m, enum format format)
{
	bool open = format == FORMAT_OPENMETRICS;

	for (int i = 0; i < METRICS_FAMILIES; i++)
		write_family(out, m, format, (enum metrics_family)i);
	head(out, format, "weir_export_unreadable", "gauge", NULL,
	     "Semaphores or processes that exist and cannot be read.");
	for (int i = 0; i < METRICS_SCOPES; i++)
		if (m->is_read[i])
			fprintf(out, "weir_export_unreadable{scope=\"%s\"} %"
				PRId64 "\n",
				metrics_scope_text((enum metrics_scope)i),
				m->unreadable[i]);
	write_servers(out, m, format);
	head(out, format, open ? "weir_build" : "weir_build_info",
	     open ? "info" : "gauge", NULL, "The version of weir.");
	fprintf(out, "weir_build_info{version=\"%s\"} 1\n", weir_version());
	if (open)
		fputs("# EOF\n", out);
}
