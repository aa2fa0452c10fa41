import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../../../src/domain/path/definition.ts';
import type { Question, SurveyWithQuestions } from '../../../../src/domain/survey.ts';
import { pathDefinitionOf } from '../../../../src/domain/survey-paths/path-definition.ts';
import { unreachableQuestions } from '../../../../src/domain/survey-paths/unreachable-questions.ts';
import {
  idsOf,
  labels,
  no,
  pathIn,
  questionIdsOf,
  saysYes,
  sectionOf,
  surveyOf,
  withFields,
  yes,
  yesNo,
} from '../../../support/path-surveys.ts';
import { randomPaths } from '../../../support/random-paths.ts';

const about = (questionId: string, operator: 'answered' | 'notAnswered'): Condition => ({ questionId, operator });
const always = ({ id }: Question): Condition => ({ any: [about(id, 'answered'), about(id, 'notAnswered')] });
const never = ({ id }: Question): Condition => ({ all: [about(id, 'answered'), about(id, 'notAnswered')] });
const unreachableIn = (survey: SurveyWithQuestions) => [...unreachableQuestions(pathDefinitionOf(survey))];

describe('the questions that nobody reaches', () => {
  const section = sectionOf(0);
  const { survey, questions } = surveyOf([yesNo, { ...yesNo, sectionId: section.id }, yesNo, yesNo], [section]);
  const placed: SurveyWithQuestions = {
    ...survey,
    questions: questions.map((question) => ({ ...question, sectionId: section.id })),
  };
  const [first, second, third, fourth] = questions as [Question, Question, Question, Question];
  const skipping = (from: Question, to: string, fields: Partial<Question> = {}, base = placed) =>
    withFields(base, from.id, { skips: [{ if: always(from), to }], ...fields });

  it('lie behind a skip that everybody takes, or under a condition that never holds', () => {
    assert.deepEqual(unreachableIn(placed), []);
    assert.deepEqual(unreachableIn(skipping(second, fourth.id)), [third.id]);
    assert.deepEqual(unreachableIn(skipping(second, 'END')), idsOf([third, fourth]));
    assert.deepEqual(unreachableIn(withFields(placed, third.id, { visibleIf: never(first) })), [third.id]);
    const hidden = { ...placed, sections: [{ ...section, visibleIf: never(first) }] };
    assert.deepEqual(unreachableIn(hidden), idsOf(questions));
  });

  it('are none of those behind a skip whose question only some are asked', () => {
    const bySkip = withFields(skipping(second, fourth.id), first.id, {
      skips: [{ if: { not: saysYes(first) }, to: third.id }],
    });
    const byCondition = skipping(second, fourth.id, { visibleIf: saysYes(first) });
    for (const branched of [bySkip, byCondition]) {
      assert.deepEqual(questionIdsOf(pathIn(branched, [yes(first)])), idsOf([first, second, fourth]));
      assert.ok(questionIdsOf(pathIn(branched, [no(first)])).includes(third.id));
      assert.deepEqual(unreachableIn(branched), []);
    }
  });

  it('are none of those behind a skip whose section, or whose options, only some see', () => {
    const [some, rest] = [sectionOf(1, { visibleIf: saysYes(first) }), sectionOf(2)];
    const inSections = [third, fourth].reduce<SurveyWithQuestions>(
      (changed, { id }) => withFields(changed, id, { sectionId: rest.id }),
      { ...skipping(second, 'END', { sectionId: some.id }), sections: [section, some, rest] },
    );
    assert.deepEqual(unreachableIn(inSections), []);

    const choices = surveyOf([
      yesNo,
      { type: 'CHECKBOXES', options: labels },
      { type: 'CHECKBOXES', options: labels },
      yesNo,
    ]);
    const [asked, source, dynamic] = choices.questions as [Question, Question, Question];
    const options = dynamic.options.map((option) => ({ ...option, visibleIf: saysYes(asked) }));
    const optionsFrom = { questionId: source.id, which: 'selected' } as const;
    for (const fields of [{ options }, { optionsFrom }])
      assert.deepEqual(unreachableIn(skipping(dynamic, 'END', fields, choices.survey)), []);
  });

  it('are none of those to which a question without options may skip, though nobody answers it', () => {
    const { survey: chosen, questions } = surveyOf([yesNo, { type: 'MULTIPLE_CHOICE', options: labels }, yesNo, yesNo]);
    const [asked, nothing, passed, last] = questions as [Question, Question, Question, Question];
    const skips = [{ if: saysYes(asked), to: last.id }];
    const branched = skipping(passed, 'END', {}, withFields(chosen, nothing.id, { skips, options: [] }));
    assert.ok(questionIdsOf(pathIn(branched, [yes(asked)])).includes(last.id));
    assert.deepEqual(unreachableIn(branched), [nothing.id]);
  });

  it('are on no path of any survey', () => {
    let found = 0;
    for (let seed = 0; seed < 300; seed += 1) {
      const { survey: random, answers, came } = randomPaths(seed, { questions: 7, sections: seed % 3 });
      const certain = {
        ...random,
        questions: random.questions.map((question, index) => ({
          ...question,
          ...((seed + index) % 4 === 0 &&
            question.skips && { skips: question.skips.map(({ to }) => ({ to, if: always(question) })) }),
        })),
      };
      const unreachable = new Set(unreachableIn(certain));
      found += unreachable.size;
      for (const given of [answers, []])
        for (const id of questionIdsOf(pathIn(certain, given, came)))
          assert.ok(!unreachable.has(id), `seed ${seed}: ${id} is reached`);
    }
    assert.ok(found > 30, `${found} unreachable questions`);
  });
});
