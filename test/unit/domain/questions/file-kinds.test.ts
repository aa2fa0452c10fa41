import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileKindsOf } from '../../../../src/domain/questions/file-kinds.ts';

const kindsOf = (...mimeTypes: string[]) => fileKindsOf({ mimeTypes });

describe('the kinds of files of a question', () => {
  it('are named by the endings that people know, each once', () => {
    assert.equal(kindsOf('image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml'), 'PNG, JPG, SVG');
    const office = 'application/vnd.openxmlformats-officedocument';
    assert.equal(kindsOf(`${office}.spreadsheetml.sheet`, 'application/x-cfb'), 'XLSX, DOC, XLS, PPT');
    assert.equal(kindsOf('text/plain', 'audio/mpeg', 'audio/x-wav', 'application/vnd.rar'), 'TXT, MP3, WAV, RAR');
  });

  it('are named by examples where all of a group are taken', () => {
    assert.equal(kindsOf('image/*', 'application/pdf'), 'JPG, PNG, HEIC, …, PDF');
    assert.equal(kindsOf('font/*'), 'FONT');
  });

  it('are named at once, however long a type is', () => {
    const startedAt = process.cpuUsage().user;
    kindsOf(`application/${'+a'.repeat(20_000)}.`);
    assert.ok(process.cpuUsage().user - startedAt < 500_000, 'half a second');
  });

  it('are not named where all are taken', () => assert.equal(fileKindsOf({}), undefined));
});
