import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Model as ClaudeModel } from '@anthropic-ai/sdk/resources/messages';
import type { ChatModel } from 'openai/resources/shared';
import { costOf, effortOf, thinkingTokens } from '../../../../src/ai/providers/models.ts';
import { assertKeyForm } from '../../../../src/ai/providers/providers.ts';
import { providerRegistry } from '../../../../src/ai/providers/registry.ts';

const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

describe('models of AI providers', () => {
  it('that are defaults are in the lists of the SDKs and have a price', () => {
    const openai: ChatModel[] = ['gpt-5.6-terra', 'gpt-5.6-luna'];
    const anthropic: ClaudeModel[] = ['claude-sonnet-5-5', 'claude-haiku-5-5'];
    assert.deepEqual([providerRegistry.openai.high, providerRegistry.openai.low], openai);
    assert.deepEqual([providerRegistry.anthropic.high, providerRegistry.anthropic.low], anthropic);
    for (const { high, low } of [providerRegistry.openai, providerRegistry.anthropic, providerRegistry.gemini])
      for (const model of [high, low]) assert.ok((costOf(model, million) ?? 0) > 0, model);
  });

  it('that are unknown have no price, instead of a price of zero, even if another’s name begins alike', () => {
    for (const model of [
      'acme-1',
      '',
      'dep1',
      'gpt-5.6-terra-fast',
      'gpt-4.1-nano',
      'gemini-2.5-flash-image',
      'gpt-4o-audio-preview',
      'constructor',
      '__proto__',
    ])
      assert.equal(costOf(model, million), null, model);
    assert.equal(costOf('acme-1', { inputTokens: 0, outputTokens: 0 }), null);
  });

  it('cost the same as snapshots', () => {
    for (const [snapshot, model] of [
      ['claude-haiku-4-5-20251001', 'claude-haiku-4-5'],
      ['gpt-4.1-2025-04-14', 'gpt-4.1'],
      ['gemini-2.5-flash-001', 'gemini-2.5-flash'],
      ['gpt-5.2-2025-12-11', 'gpt-5.2'],
    ] as const) {
      assert.notEqual(costOf(model, million), null);
      assert.equal(costOf(snapshot, million), costOf(model, million));
    }
  });

  it('change their price on the announced day', () => {
    const costOn = (day: string) => costOf('gemini-3.8-flash', million, new Date(`${day}Z`));
    assert.deepEqual([costOn('2026-12-31T23:59:59.999'), costOn('2027-01-01T00:00:00')], [4.5, 9]);
  });

  it('get extra tokens where they think by default, or may', () => {
    assert.deepEqual(
      ['claude-sonnet-5-5', 'gpt-5.6-luna', 'gpt-4.1', 'my-deployment'].map((model) => [
        effortOf(model),
        thinkingTokens(model) > 0,
      ]),
      [
        ['low', true],
        ['none', false],
        [undefined, false],
        [undefined, true],
      ],
    );
  });
});

describe('keys of AI providers', () => {
  const isTaken = (...given: Parameters<typeof assertKeyForm>) => {
    try {
      assertKeyForm(...given);
      return true;
    } catch {
      return false;
    }
  };
  const claude = `sk-ant-api03-${'a'.repeat(90)}`;
  const azure = '0123456789abcdef0123456789abcdef';

  it('are accepted in every form that providers issue', () => {
    for (const key of [`sk-${'a'.repeat(48)}`, `sk-proj-${'a-_'.repeat(40)}`, `sk-svcacct-${'a'.repeat(60)}`])
      assert.ok(isTaken('openai', key, undefined), key);
    for (const key of [`AIzaSy${'a'.repeat(33)}`, `AQ.Ab8RN6${'a_-'.repeat(15)}`])
      assert.ok(isTaken('gemini', key, undefined), key);
    assert.ok(isTaken('anthropic', claude, undefined));
    for (const key of [azure, 'a1'.repeat(42)])
      assert.ok(isTaken('azure', key, 'https://contoso.openai.azure.com/'), key);
  });

  it('of one provider are not sent to another, nor malformed ones', () => {
    assert.ok(!isTaken('openai', claude, undefined));
    assert.ok(!isTaken('openai', claude, 'https://api.openai.com/v1'));
    assert.ok(!isTaken('gemini', claude, undefined));
    assert.ok(!isTaken('azure', claude, 'https://contoso.openai.azure.com/'));
    assert.ok(!isTaken('anthropic', `sk-${'a'.repeat(48)}`, undefined));
    for (const key of [
      '',
      'short',
      'a key with spaces',
      `sk-${'a'.repeat(48)}\n`,
      `sk-${'ä'.repeat(48)}`,
      `sk-${'a'.repeat(600)}`,
    ])
      assert.ok(!isTaken('openai', key, undefined), key);
  });

  it('have any form at another address, but never a line break', () => {
    assert.ok(isTaken('openai', 'proxy-key', 'http://localhost:4000/v1'));
    assert.ok(!isTaken('openai', 'proxy\r\nx: y', 'http://localhost:4000/v1'));
  });
});
