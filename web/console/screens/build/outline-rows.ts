import { readable } from '../../../../src/domain/path/placeholders.ts';
import type { Definition, Question, Section } from '../../data/questions.ts';

/** A line of the outline. */
export type Row =
  | { kind: 'survey'; id: string }
  | { kind: 'section'; id: string; section: Section }
  | { kind: 'question'; id: string; question: Question; number: number };

/** The survey in its designed order: its own line, questions without a section, then section by section. */
export function rowsOf(survey: Definition): Row[] {
  const bySection = new Map<string | null, Question[]>();
  const known = new Set(survey.sections.map(({ id }) => id));
  for (const question of survey.questions) {
    const sectionId = question.sectionId !== null && known.has(question.sectionId) ? question.sectionId : null;
    const list = bySection.get(sectionId);
    if (list) list.push(question);
    else bySection.set(sectionId, [question]);
  }
  let number = 0;
  const questionRows = (sectionId: string | null): Row[] =>
    (bySection.get(sectionId) ?? []).map((question) => {
      number += 1;
      return { kind: 'question', id: question.id, question, number };
    });
  return [
    { kind: 'survey', id: survey.id },
    ...questionRows(null),
    ...survey.sections.flatMap((section): Row[] => [
      { kind: 'section', id: section.id, section },
      ...questionRows(section.id),
    ]),
  ];
}

/** Questions that a question, section or the survey itself may name: those that stand earlier. */
export function questionsBefore(survey: Definition, id: string): Question[] {
  const rows = rowsOf(survey);
  const at = rows.findIndex((row) => row.id === id);
  return rows.slice(0, Math.max(0, at)).flatMap((row) => (row.kind === 'question' ? [row.question] : []));
}

export interface Place {
  sectionId: string | null;
  /** Zero-based among the survey's other questions. */
  order: number;
}

/** The place of a question that stands at `index` of these rows. */
export function placeAt(rows: readonly Row[], index: number): Place {
  const before = rows.slice(0, index);
  const section = before.findLast(({ kind }) => kind === 'section');
  return { sectionId: section?.id ?? null, order: before.filter(({ kind }) => kind === 'question').length };
}

/** `order` among the survey's others, for a place that was counted in an outline which does not show all of them. */
export function orderInSurvey(survey: Definition, order: number, isShown: (questionId: string) => boolean): number {
  const all = rowsOf(survey).filter(({ kind }) => kind === 'question');
  if (order === 0) return 0;
  const last = all.filter(({ id }) => isShown(id))[order - 1];
  return last ? all.indexOf(last) + 1 : all.length;
}

/**
 * The index to which a question or section goes by a step up (-1) or down (1); undefined if it cannot. A section passes
 * over the questions between it and the next one.
 */
export function nextPlace(rows: readonly Row[], row: Row, step: number): number | undefined {
  const places = row.kind === 'section' ? rows.filter(({ kind }) => kind === 'section') : rows.slice(1);
  const next = places[places.indexOf(row) + step];
  return row.kind === 'survey' || !next ? undefined : rows.indexOf(next);
}

/** The rows with one of them at another index. */
function movedRow(rows: readonly Row[], from: number, to: number): Row[] {
  const next = rows.filter((_, index) => index !== from);
  const row = rows[from];
  return row ? next.toSpliced(Math.max(1, to), 0, row) : [...rows];
}

/** Where a question or section goes when the row at `from` moves to `to`. */
export function moveTarget(rows: readonly Row[], from: number, to: number): Place | { order: number } | undefined {
  const row = rows[from];
  const index = Math.max(1, Math.min(rows.length - 1, to));
  if (!row || row.kind === 'survey' || index === from) return undefined;
  const moved = movedRow(rows, from, index);
  if (row.kind === 'question') return placeAt(moved, moved.indexOf(row));
  return { order: moved.slice(0, moved.indexOf(row)).filter(({ kind }) => kind === 'section').length };
}

/** The survey with a question or section at its new place, until the service says the same. */
export function withMove(survey: Definition, id: string, target: Place | { order: number }): Definition {
  const section = survey.sections.find((one) => one.id === id);
  if (section) {
    const others = survey.sections.filter((one) => one !== section);
    return inOrder({ ...survey, sections: others.toSpliced(target.order, 0, section) });
  }
  const question = survey.questions.find((one) => one.id === id);
  if (!question || !('sectionId' in target)) return survey;
  const others = survey.questions.filter((one) => one !== question);
  const moved = { ...question, sectionId: target.sectionId };
  return inOrder({ ...survey, questions: others.toSpliced(target.order, 0, moved) });
}

/** A survey, as it was read meanwhile, with sections and questions at the places that they have in `shown`. */
export function arrangedAs(survey: Definition, shown: Definition): Definition {
  const placed = (things: readonly { id: string }[]) => new Map(things.map(({ id }, index) => [id, index]));
  const [sectionPlaces, questionPlaces] = [placed(shown.sections), placed(shown.questions)];
  const byPlace = (places: ReadonlyMap<string, number>) => (one: { id: string }, other: { id: string }) =>
    (places.get(one.id) ?? places.size) - (places.get(other.id) ?? places.size);
  const sectionIds = new Map(shown.questions.map(({ id, sectionId }) => [id, sectionId]));
  const sectionIdOf = ({ id, sectionId }: Question) => {
    const moved = sectionIds.get(id);
    return moved === undefined ? sectionId : moved;
  };
  const questions = survey.questions.map((one) => ({ ...one, sectionId: sectionIdOf(one) }));
  return inOrder({
    ...survey,
    sections: survey.sections.toSorted(byPlace(sectionPlaces)),
    questions: questions.toSorted(byPlace(questionPlaces)),
  });
}

function inOrder(survey: Definition): Definition {
  const sections = survey.sections.map((section, order) => ({ ...section, order }));
  const questions = rowsOf({ ...survey, sections }).flatMap((row) => (row.kind === 'question' ? [row.question] : []));
  return { ...survey, sections, questions: questions.map((question, order) => ({ ...question, order })) };
}

/** Where a question stands in a survey with sections, in words. */
export function sectionText({ sections }: Definition, { sectionId }: Question): string {
  const index = sections.findIndex(({ id }) => id === sectionId);
  const title = readable(sections[index]?.title ?? '');
  if (index < 0) return 'before all sections';
  return title === '' ? `in section ${index + 1}` : `in section ${index + 1}, “${title}”`;
}

/** Where a skip leads, in words. */
export function targetText(survey: Definition, to: string): string {
  if (to === 'END') return 'the end';
  if (to === 'SCREEN_OUT') return 'the end, screened out';
  const section = survey.sections.find(({ id }) => id === to);
  if (section) return `section “${readable(section.title) || 'without a title'}”`;
  const question = survey.questions.find(({ id }) => id === to);
  return question ? `“${readable(question.text)}”` : 'a place that is gone';
}
