import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { assetPath } from '../../src/platform/assets.ts';

const axe = readFileSync(assetPath('node_modules/axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** What axe-core finds on a page by the rules of WCAG 2.2 AA and its best practices. */
export async function axeFindings(page: Page): Promise<string[]> {
  // Evaluated as text, which the Content-Security-Policy of the page does not concern.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe);
  // Describing also what passes would take four times as long.
  const violations: Violation[] = await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html}\n${failureSummary ?? ''}`),
  );
}
