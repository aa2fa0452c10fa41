import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createMetrics, formatMetrics } from '../../src/metrics.ts';
import { assetPath } from '../../src/platform/assets.ts';

/** A process that has done a little of everything. */
function busyProcess(name: string, intakeShare: number) {
  const metrics = createMetrics(name);
  metrics.requested('/a "quoted" \\ route', 200, 0.02);
  metrics.refused('RATE_LIMITED');
  metrics.submitted('accepted', 3);
  metrics.shardState(0, { lag: 1, oldestSeconds: 2, unforwardedSeconds: 5, length: 3, deadLetters: 4 });
  metrics.intakeMemoryUsed(intakeShare, { waiting: 1, idempotency: 2, definitions: 4, other: 3 });
  metrics.exportEnded('failed');
  metrics.outboxFailed('survey.published');
  metrics.webhookAttempted('status');
  return metrics;
}
const shown = async (): Promise<string> =>
  formatMetrics(
    await Promise.all([busyProcess('main', 0.25), busyProcess('http-1', 0.5)].map((metrics) => metrics.collect())),
  );

interface Family {
  type: string;
  help: string;
  samples: string[];
}

/** Reads the text as strictly as a scraper may; throws where a line is not where it belongs. */
function familiesOf(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let current: [string, Family] | undefined;
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      assert.ok(!families.has(name), `${name} comes twice`);
      families.set(name, { type: '', help: rest, samples: [] });
      current = [name, families.get(name) as Family];
    } else if (kind === 'TYPE') {
      assert.ok(current?.[0] === name && current[1].type === '' && current[1].samples.length === 0, line);
      current[1].type = rest;
    } else {
      const [, sample = '', labels = ''] =
        /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (?:[-+]?[\d.]+(?:e[-+]?\d+)?|NaN|[-+]Inf)(?: \d+)?$/i.exec(
          line,
        ) ?? [];
      assert.ok(
        current &&
          (sample === current[0] ||
            (['histogram', 'summary'].includes(current[1].type) &&
              /^_(bucket|sum|count)$/.test(sample.slice(current[0].length)))),
        line,
      );
      assert.ok(!current[1].samples.includes(sample + labels), `${line} comes twice`);
      current[1].samples.push(sample + labels);
    }
  }
  return families;
}

describe('the metrics for Prometheus', () => {
  it('parse: each name once with help and type, no sample twice, counters end in _total, times and sizes in base units', async () => {
    const families = familiesOf(await shown());
    assert.ok(families.size > 40);
    for (const [name, { type, help }] of families) {
      assert.match(type, /^(counter|gauge|histogram|summary)$/, name);
      assert.ok(help.length > 5, name);
      // Metrics of the runtime are prom-client's own.
      if (/^(process|nodejs)_/.test(name)) continue;
      assert.equal(name.endsWith('_total'), type === 'counter', name);
      assert.doesNotMatch(name, /_(ms|milliseconds|minutes|kb|mb|percent)(_|$)/, name);
    }
  });

  it('sum counters of all processes, but not measurements of the same server', async () => {
    const text = await shown();
    assert.match(text, /^intake_submissions_total\{outcome="accepted"\} 6$/m);
    assert.match(text, /^intake_memory_ratio 0\.5$/m);
  });

  it('omit what only some processes measure until one has measured it', async () => {
    const measuring = createMetrics('jobs');
    const text = async () => formatMetrics(await Promise.all([createMetrics('http').collect(), measuring.collect()]));
    assert.doesNotMatch(
      await text(),
      /^(outbox_oldest_seconds|outbox_failing_events|webhook_oldest_pending_seconds|webhook_disabled_endpoints|intake_memory_ratio) /m,
    );
    measuring.outboxState({ oldestSeconds: 0, failing: 0 });
    measuring.webhookState({ oldestPendingSeconds: 7, disabled: 1 });
    measuring.intakeMemoryUsed(0, { waiting: 0, idempotency: 0, definitions: 0, other: 0 });
    for (const line of [
      'outbox_oldest_seconds 0',
      'outbox_failing_events 0',
      'webhook_oldest_pending_seconds 7',
      'webhook_disabled_endpoints 1',
      'intake_memory_ratio 0',
    ])
      assert.ok((await text()).includes(`\n${line}\n`), line);
  });

  it('omit what cannot be measured any more', async () => {
    const metrics = busyProcess('main', 0.25);
    const gauges = /^(ingest_(lag|oldest|dead_letters_waiting)|intake_(memory|stream))\S* /m;
    assert.match(await formatMetrics([await metrics.collect()]), gauges);
    metrics.shardUnknown(0);
    metrics.intakeMemoryUnknown();
    assert.doesNotMatch(await formatMetrics([await metrics.collect()]), gauges);
  });

  it('start at 0 where an alert looks for an increase, so that the first one counts', async () => {
    const text = await formatMetrics([await createMetrics().collect()]);
    for (const series of [
      'exports_ended_total{result="failed"}',
      'webhook_overflow_total',
      'http_refusals_total{code="SERVICE_UNAVAILABLE"}',
      'http_refusals_total{code="INTERNAL_ERROR"}',
    ])
      assert.ok(text.includes(`\n${series} 0\n`), series);
  });

  it('are those that docs/operating.md has alerts for', async () => {
    const families = familiesOf(await shown());
    const section =
      /\n## Watching and alerts\n([\s\S]*?)\n##/.exec(readFileSync(assetPath('docs/operating.md'), 'utf8'))?.[1] ?? '';
    const named = [...section.matchAll(/\b(?:intake|ingest|http|webhook|outbox|exports|nodejs)_[a-z0-9_]+/g)].map(
      ([name]) => name.replace(/_(bucket|sum|count)$/, ''),
    );
    assert.ok(new Set(named).size >= 8, String(named));
    assert.deepEqual(
      named.filter((name) => !families.has(name)),
      [],
    );
  });
});
