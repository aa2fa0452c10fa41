import type { SurveyActors } from '../../actors/survey-actors.ts';
import { collectorIdOf, isOfUnknownCollector } from '../../domain/collectors/survey-collectors.ts';
import { encodeLiveCursor, type LivePosition } from '../../domain/live-cursor.ts';
import { isCompleteOutcome } from '../../domain/outcome.ts';
import { type CompiledSurvey, readAnswers } from '../../domain/submission/answers.ts';
import type { Log } from '../../log.ts';
import { decodeRowsOf, type EntryRow } from '../../stores/redis/intake/entry-rows.ts';
import type { StreamEntry } from '../../stores/redis/intake/stream.ts';
import type { LiveMessage } from './client-stream.ts';

/** An accepted response as subscribers get it. */
export interface LiveEvent extends LiveMessage {
  cursor: string;
  position: LivePosition;
  responseId: string;
  submittedAtMs: number;
}

export interface EventReaderDeps {
  actors: Pick<SurveyActors, 'lookUp' | 'sync'>;
  log: Log;
}

/** Makes the live events of one survey from a stream entry; deletions make none. */
export function createEventReader({ actors, log }: EventReaderDeps) {
  /** The survey in at least this version, since an older one would not know all answers. */
  const compiledFor = async (surveyId: string, version: number): Promise<CompiledSurvey | undefined> => {
    const cached = await actors.lookUp(surveyId);
    if (!cached || cached.survey.version >= version) return cached?.compiled;
    return (await actors.sync(surveyId))?.compiled;
  };
  return async (surveyId: string, entry: StreamEntry): Promise<LiveEvent[]> => {
    const [ms = 0, seq = 0] = entry.id.split('-').map(Number);
    const events: LiveEvent[] = [];
    let compiled: CompiledSurvey | undefined;
    let isSynced = false;
    for (const row of decodeRowsOf(entry, new Set([surveyId]), log)) {
      if (row.isDeleted) continue;
      if (!compiled || compiled.survey.version < row.head.surveyVersion)
        compiled = await compiledFor(surveyId, row.head.surveyVersion);
      // A new collector makes no version of the survey.
      if (!isSynced && compiled && isOfUnknownCollector(compiled.collectors, row.row.codes)) {
        isSynced = true;
        compiled = (await actors.sync(surveyId).catch(() => undefined))?.compiled ?? compiled;
      }
      if (!compiled) return events;
      events.push(toEvent(compiled, row, { ms, seq, row: row.place }));
    }
    return events;
  };
}

export type EventReader = ReturnType<typeof createEventReader>;

/** Holds neither respondent nor metadata, since these could identify who answered. */
function toEvent(compiled: CompiledSurvey, { head, row }: EntryRow, position: LivePosition): LiveEvent {
  const cursor = encodeLiveCursor(position);
  const text = JSON.stringify({
    type: 'response',
    surveyId: head.surveyId,
    responseId: head.responseId,
    isComplete: isCompleteOutcome(head.outcome),
    outcome: head.outcome,
    submittedAt: new Date(head.submittedAtMs).toISOString(),
    collectorId: collectorIdOf(compiled.collectors, row.codes) ?? null,
    answers: readAnswers(compiled, row),
    cursor,
  });
  const bytes = Buffer.from(text);
  // Thousands of events are held while clients catch up, so the text is only made where it is needed.
  return {
    type: 'response',
    bytes,
    get text() {
      return bytes.toString();
    },
    cursor,
    position,
    responseId: head.responseId,
    submittedAtMs: head.submittedAtMs,
  };
}
