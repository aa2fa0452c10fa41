// Run by hand after a build: node dist/test/unit/domain/submission/answers-throughput.js. Submissions of ten answers
// checked a second on one core.
import { availableParallelism, cpus } from 'node:os';
import { checkAnswers, compileSurvey } from '../../../../src/domain/submission/answers.ts';
import type { Question } from '../../../../src/domain/survey.ts';
import { blankSurvey, withQuestion } from '../../../support/questions.ts';

const options = (count: number) => Array.from({ length: count }, (_, index) => ({ text: `option ${index}` }));
const bodies: Parameters<typeof withQuestion>[1][] = [
  { type: 'MULTIPLE_CHOICE', text: 'a', options: options(5) },
  { type: 'NPS', text: 'b' },
  { type: 'RATING_SCALE', text: 'c' },
  { type: 'YES_NO', text: 'd' },
  { type: 'LIKERT_SCALE', text: 'e' },
  { type: 'DROPDOWN', text: 'f', options: options(50) },
  { type: 'NUMBER', text: 'g' },
  { type: 'SHORT_TEXT', text: 'h' },
  { type: 'SLIDER', text: 'i' },
  { type: 'EMAIL', text: 'j' },
];

let survey = blankSurvey();
for (const body of bodies) survey = withQuestion(survey, { ...body, isRequired: true }).survey;
const compiled = compileSurvey(survey);
const uploads = new Map();

function answerTo({ id, type, options: shown }: Question, n: number): object {
  if (shown.length > 0) return { questionId: id, optionId: shown[n % shown.length]?.id };
  if (type === 'SHORT_TEXT') return { questionId: id, textValue: `some words ${n}` };
  if (type === 'EMAIL') return { questionId: id, textValue: `person${n}@example.org` };
  return { questionId: id, numberValue: 1 + (n % 5) };
}

// Through JSON, so that the objects have the shapes of parsed bodies.
const submissions = Array.from({ length: 2000 }, (_, n): unknown =>
  JSON.parse(JSON.stringify(survey.questions.map((question) => answerTo(question, n)))),
);

/** By the time the processor gave to it, so that what else the machine does hardly matters. */
function run(count: number): number {
  const before = process.cpuUsage();
  for (let n = 0; n < count; n += 1)
    if (!checkAnswers(compiled, submissions[n % submissions.length], { isComplete: true, uploads }).ok)
      throw new Error('a valid submission was refused');
  const { user, system } = process.cpuUsage(before);
  return (count / (user + system)) * 1e6;
}

run(50_000);
console.log(`${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, Node ${process.version}`);
for (let round = 0; round < 3; round += 1)
  console.log(
    `${Math.round(run(300_000)).toLocaleString('en')} submissions of ${bodies.length} answers a second of processor time`,
  );
