import { useState } from 'react';
import { choosesOneOption } from '../../../../src/domain/path/answer-kinds.ts';
import { readable } from '../../../../src/domain/path/placeholders.ts';
import { maxCellQuotas } from '../../../../src/domain/quotas/cell-quota.ts';
import { FormDialog } from '../../app/form-dialog.tsx';
import { createQuotaGrid } from '../../data/quotas.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import { Dialog, DialogActions } from '../../parts/dialog.tsx';
import { FieldRow, Form, FormActions } from '../../parts/form.tsx';
import { formatCount } from '../../parts/format.ts';
import { NumberField } from '../../parts/text-fields.tsx';
import { useSubmit } from '../../parts/use-submit.ts';
import styles from './quotas.module.css';
import { initialRules, RuleFields } from './rule-fields.tsx';

type Question = SurveyWithQuestions['questions'][number];
/** One option of each question. */
type Cell = readonly Question['options'][number][];

/** How each question of a grid is asked for; a grid has no more. */
const questionLabels = ['Question', 'Interlocked with', 'And with'];

/** Makes a quota for each combination of the options of one to three questions. A cell that is left empty gets none. */
export function NewGrid({ survey, onClose }: { survey: SurveyWithQuestions; onClose(): void }) {
  const questions = survey.questions.filter(({ type, options }) => choosesOneOption(type) && options.length > 0);
  const [chosenIds, setChosen] = useState(questions.slice(0, 1).map(({ id }) => id));
  const [every, setEvery] = useState<number | null>(100);
  const [own, setOwn] = useState<Readonly<Record<string, number | null>>>({});
  const [rules, setRules] = useState(initialRules);
  const chosen = chosenIds.flatMap((id) => questions.find((question) => question.id === id) ?? []);
  const cellCount = chosen.reduce((product, { options }) => product * options.length, 1);
  const isTooLarge = cellCount > maxCellQuotas;
  const limitOf = (cell: Cell) => (keyOf(cell) in own ? (own[keyOf(cell)] ?? null) : every);
  const targets = (isTooLarge ? [] : cellsOf(chosen)).flatMap((cell) => {
    const limit = limitOf(cell);
    return limit === null ? [] : [{ optionIds: cell.map(({ id }) => id), limit }];
  });
  const { submit, isPending, problem } = useSubmit(async () => {
    await createQuotaGrid(survey.id, { questionIds: chosen.map(({ id }) => id), targets, ...rules });
    onClose();
  });
  if (chosen.length === 0)
    return (
      <Dialog title="New quotas" isOpen onClose={onClose}>
        <p>Quotas by cell need a question with one choice. The survey has none.</p>
        <DialogActions>
          <Button onPress={onClose}>Close</Button>
        </DialogActions>
      </Dialog>
    );
  return (
    <FormDialog
      title="New quotas"
      isOpen
      onClose={onClose}
      isWide
      fields={[chosenIds, every, own, rules]}
      isPending={isPending}
    >
      <Form onSubmit={submit}>
        <QuestionFields questions={questions} chosenIds={chosen.map(({ id }) => id)} onChange={setChosen} />
        <FieldRow>
          <NumberField label="Responses a cell" value={every} onChange={setEvery} minValue={0} />
          <RuleFields rules={rules} onChange={setRules} />
        </FieldRow>
        {isTooLarge ? (
          <p>
            {`These questions have ${formatCount(cellCount)} combinations, `}
            {`and a survey has ${formatCount(maxCellQuotas)} quotas at most.`}
          </p>
        ) : (
          <CellGrid
            questions={chosen}
            limitOf={limitOf}
            onChange={(cell, limit) => setOwn((old) => ({ ...old, [keyOf(cell)]: limit }))}
          />
        )}
        <FormActions
          action={targets.length === 1 ? 'Create 1 quota' : `Create ${targets.length} quotas`}
          problem={problem}
          isPending={isPending}
          isDisabled={targets.length === 0}
          onCancel={onClose}
        />
      </Form>
    </FormDialog>
  );
}

interface QuestionFieldsProps {
  questions: readonly Question[];
  chosenIds: readonly string[];
  onChange(chosenIds: string[]): void;
}

/** A field for each question of the grid, and one for the next. */
function QuestionFields({ questions, chosenIds, onChange }: QuestionFieldsProps) {
  const choose = (place: number, next: string) => {
    const before = chosenIds.slice(0, place);
    const after = chosenIds.slice(place + 1).filter((id) => id !== next);
    onChange(next === '' ? before : [...before, next, ...after]);
  };
  return (
    <FieldRow>
      {questionLabels.slice(0, chosenIds.length + 1).map((label, place) => {
        const free = questions.filter(({ id }) => !chosenIds.slice(0, place).includes(id));
        const options = free.map(({ id, text }) => ({ value: id, label: readable(text) }));
        if (place > 0) options.unshift({ value: '', label: 'No other question' });
        return (
          <Select
            key={label}
            label={label}
            options={options}
            value={chosenIds[place] ?? ''}
            onChange={(next) => choose(place, next)}
          />
        );
      })}
    </FieldRow>
  );
}

const cellsOf = (questions: readonly Question[]): Cell[] =>
  questions.reduce<Cell[]>(
    (cells, { options }) => cells.flatMap((cell) => options.map((option) => [...cell, option])),
    [[]],
  );

const keyOf = (cell: Cell): string => cell.map(({ id }) => id).join(' ');
const textOf = (cell: Cell): string => cell.map(({ text }) => readable(text)).join(', ');

interface CellGridProps {
  questions: readonly Question[];
  limitOf(cell: Cell): number | null;
  onChange(cell: Cell, limit: number | null): void;
}

/** The cells, with a row for each option of the first question. */
function CellGrid({ questions, limitOf, onChange }: CellGridProps) {
  const [first, ...others] = questions;
  const columns = cellsOf(others);
  return (
    // An area that scrolls can be focused, so that arrow keys move it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
    <section className={styles.grid} tabIndex={0} aria-label="Cells">
      <table>
        <thead>
          <tr>
            <th scope="col">Cell</th>
            {columns.map((column) => (
              <th key={keyOf(column)} scope="col" dir="auto">
                {column.length === 0 ? 'Responses at most' : textOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first?.options.map((row) => (
            <tr key={row.id}>
              <th scope="row" dir="auto">
                {readable(row.text)}
              </th>
              {columns.map((column) => {
                const cell = [row, ...column];
                return (
                  <td key={keyOf(cell)}>
                    <NumberField
                      label={textOf(cell)}
                      isLabelHidden
                      value={limitOf(cell)}
                      onChange={(limit) => onChange(cell, limit)}
                      minValue={0}
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
