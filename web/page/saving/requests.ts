import type { Session } from '../survey/session.ts';
import type { Draft, Pending } from './draft-store.ts';
import type { Tokens } from './tokens.ts';

/**
 * Answers that make a larger body are sent in several. The service takes twice as much: a single question may be longer.
 */
const splitAboveBytes = 128 * 1024;

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

interface SentAnswer {
  questionId: string;
}

/** The answers by question, in their order. */
function byQuestion(answers: readonly SentAnswer[]): Map<string, SentAnswer[]> {
  const grouped = new Map<string, SentAnswer[]>();
  for (const answer of answers) {
    const others = grouped.get(answer.questionId);
    if (others) others.push(answer);
    else grouped.set(answer.questionId, [answer]);
  }
  return grouped;
}

const sentIn = ({ body }: Pending): { answers: SentAnswer[]; cleared?: string[] } => JSON.parse(body);

export const answersIn = (pending: Pending): SentAnswer[] => sentIn(pending).answers;

/**
 * Makes the requests that bring a draft to the service. Each carries all answers, so that the last one counts whatever
 * became of those before it. Where that is too much for one body, each carries some of the questions that the service
 * does not have as they are, and only the last one completes the response.
 */
export function createRequests({ session, tokens }: { session: Session; tokens: Tokens }) {
  const { form, language } = session.options;
  const { survey } = form;
  const known = new Set(survey.questions.map(({ id }) => id));
  /** In an anonymous survey a token opens once: a device that lost its draft could neither go on nor begin anew. */
  const savesParts = !(survey.isAnonymous && tokens.invitation !== undefined);

  function bodyOf(draft: Draft, answers: SentAnswer[], cleared: string[], isComplete: boolean): string {
    const { metadata = form.metadata } = draft;
    const isInvited = tokens.invitation !== undefined && (form.isNamedByInvitation || !draft.resumeToken);
    return JSON.stringify({
      answers,
      ...(!isComplete && { isComplete }),
      ...(!form.isNamedByInvitation && { responseId: draft.responseId }),
      ...(draft.resumeToken !== undefined && !form.isNamedByInvitation && { resumeToken: draft.resumeToken }),
      startedAt: draft.startedAt,
      surveyVersion: survey.version,
      language,
      ...(cleared.length > 0 && { cleared }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
      ...(form.collectorId !== null && { collectorId: form.collectorId }),
      ...(isInvited && { invitation: tokens.invitation }),
    });
  }

  return {
    savesParts,
    isDue: (draft: Draft): boolean => draft.isFinishing || (savesParts && draft.revision > draft.savedRevision),
    /** The next request of a draft that is due and that the session shows; undefined: there is nothing to send. */
    next(draft: Draft): Pending | undefined {
      const answers = byQuestion(session.answersToSend(draft.isFinishing));
      const cleared = draft.savedQuestions.filter((id) => known.has(id) && !answers.has(id));
      if (!draft.isFinishing && answers.size === 0 && cleared.length === 0) return undefined;
      const request = (sent: Map<string, SentAnswer[]>, isLast: boolean): Pending => {
        const isComplete = draft.isFinishing && isLast;
        return {
          body: bodyOf(draft, [...sent.values()].flat(), cleared, isComplete),
          isComplete,
          revision: isLast ? draft.revision : draft.savedRevision,
          questions: [...sent.keys()],
        };
      };
      const whole = request(answers, true);
      if (!savesParts || bytesOf(whole.body) <= splitAboveBytes) return whole;
      const missing = [...answers].filter(([id, given]) => JSON.stringify(given) !== draft.savedAnswers?.[id]);
      let bytes = bytesOf(request(new Map(), false).body);
      const fitting = missing.filter(([, given], index) => {
        bytes += bytesOf(JSON.stringify(given));
        return index === 0 || bytes <= splitAboveBytes;
      });
      return request(new Map(fitting), fitting.length === missing.length);
    },
    /** Whether the answers of a request that was too large, as earlier builds made them, can be sent in several. */
    canBeSplit: ({ body, questions }: Pending): boolean =>
      savesParts && questions.length > 1 && bytesOf(body) > splitAboveBytes,
  };
}

/** What the service has of a draft after a request was accepted. */
export function savedBy(
  pending: Pending,
  { acceptedCount = 0, savedQuestions, savedAnswers }: Draft,
): Pick<Draft, 'savedRevision' | 'acceptedCount' | 'savedQuestions' | 'savedAnswers'> {
  const { answers, cleared = [] } = sentIn(pending);
  const sent = [...byQuestion(answers)].map(([id, given]) => [id, JSON.stringify(given)]);
  const kept = Object.entries(savedAnswers ?? {}).filter(([id]) => !cleared.includes(id));
  return {
    savedRevision: pending.revision,
    acceptedCount: acceptedCount + 1,
    savedQuestions: [...new Set([...savedQuestions, ...pending.questions])],
    savedAnswers: Object.fromEntries([...kept, ...sent]),
  };
}

/** What the service may have of a draft after requests of which nobody will know whether they came, and when. */
export function perhapsSavedBy(
  requests: readonly Pending[],
  { savedQuestions, savedAnswers = {} }: Draft,
): Pick<Draft, 'savedQuestions' | 'savedAnswers'> {
  const answered = requests.flatMap(({ questions }) => questions);
  const uncertain = new Set([...answered, ...requests.flatMap((request) => sentIn(request).cleared ?? [])]);
  return {
    savedQuestions: [...new Set([...savedQuestions, ...answered])],
    savedAnswers: Object.fromEntries(Object.entries(savedAnswers).filter(([id]) => !uncertain.has(id))),
  };
}

/** The questions among the keys of `known` that issues of a request are about. */
export function questionsAt(paths: readonly string[], pending: Pending, known: ReadonlyMap<string, unknown>): string[] {
  const answers = answersIn(pending);
  return paths.flatMap((path) => {
    const [field, index = ''] = path.split('.');
    const id = field === 'answers' ? (answers[Number(index)]?.questionId ?? index) : '';
    return known.has(id) ? [id] : [];
  });
}

/** The questions with the longest answers of a request: shortening others would change little. */
export function longestIn(pending: Pending): string[] {
  const lengths = [...byQuestion(answersIn(pending))].map(([id, given]) => ({
    id,
    length: JSON.stringify(given).length,
  }));
  const longest = Math.max(...lengths.map(({ length }) => length));
  return lengths.filter(({ length }) => length >= longest / 2).map(({ id }) => id);
}
