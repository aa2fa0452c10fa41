import type { Condition } from '../../../../src/domain/path/definition.ts';
import { placeholdersIn } from '../../../../src/domain/path/placeholders.ts';
import type { Definition, Item } from '../../data/questions.ts';
import type { BrokenPlace } from './draft.ts';

/** Ids of the questions that a condition names. */
export function questionsIn(condition: Condition | null | undefined): string[] {
  if (!condition) return [];
  if ('all' in condition) return condition.all.flatMap(questionsIn);
  if ('any' in condition) return condition.any.flatMap(questionsIn);
  if ('not' in condition) return questionsIn(condition.not);
  return 'questionId' in condition ? [condition.questionId] : [];
}

/** Where a survey names a question: conditions, skips, `optionsFrom` and texts of others. */
export function placesNaming(survey: Definition, id: string): BrokenPlace[] {
  const found: BrokenPlace[] = [];
  const report = (place: Omit<BrokenPlace, 'message'>) => void found.push({ ...place, message: 'names it' });
  const isNamed = (condition: Condition | null | undefined) => questionsIn(condition).includes(id);
  const isInText = (text: string | null | undefined) =>
    typeof text === 'string' && placeholdersIn(text).some((part) => 'questionId' in part && part.questionId === id);

  for (const { id: sectionId, visibleIf, title, description } of survey.sections) {
    if (isNamed(visibleIf)) report({ kind: 'visibleIf', sectionId, path: 'visibleIf' });
    if (isInText(title) || isInText(description)) report({ kind: 'text', sectionId, path: 'title' });
  }
  for (const question of survey.questions) {
    const { id: questionId } = question;
    if (questionId === id) continue;
    if (isNamed(question.visibleIf)) report({ kind: 'visibleIf', questionId, path: 'visibleIf' });
    for (const [index, skip] of question.skips.entries())
      if (isNamed(skip.if) || skip.to === id) report({ kind: 'skip', questionId, path: `skips.${index}` });
    if (question.optionsFrom?.questionId === id) report({ kind: 'optionsFrom', questionId, path: 'optionsFrom' });
    if (isInText(question.text) || isInText(question.description)) report({ kind: 'text', questionId, path: 'text' });
    const items: [string, readonly Item[]][] = [
      ['optionId', question.options],
      ['rowId', question.settings.rows ?? []],
    ];
    for (const [name, list] of items)
      for (const item of list) {
        if (isNamed(item.visibleIf)) report({ kind: 'visibleIf', questionId, [name]: item.id, path: 'visibleIf' });
        if (isInText(item.text)) report({ kind: 'text', questionId, [name]: item.id, path: 'text' });
      }
  }
  return found;
}
