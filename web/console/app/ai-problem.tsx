import { Link } from '@tanstack/react-router';
import { aiProblemText } from '../data/ai-jobs.ts';
import { SurveyApiError } from '../data/api.ts';
import { isAdmin } from '../data/me.ts';
import { FormError } from '../parts/feedback.tsx';
import { useUser } from './session-state.tsx';

/** Why work of an AI provider was refused or failed; an ADMIN is led to the settings where that helps. */
export function AiProblem({ error }: { error: unknown }) {
  const user = useUser();
  const isUnconfigured = error instanceof SurveyApiError && error.code === 'AI_NOT_CONFIGURED';
  return (
    <FormError>
      {aiProblemText(error)}
      {isUnconfigured && isAdmin(user) && (
        <>
          {' '}
          <Link to="/ai">Open AI settings</Link>
        </>
      )}
    </FormError>
  );
}
