import type { SurveyWithQuestions } from '../../data/surveys.ts';

/**
 * The address under which respondents open a survey: by its id, or by the link of a collector. While the survey is
 * private the service names its token to those who may edit it, and each address needs the token.
 */
export function addressOf(
  { accessToken }: Pick<SurveyWithQuestions, 'accessToken'>,
  link: string,
  invitation?: string,
): string {
  const parameters = new URLSearchParams({
    ...(invitation !== undefined && { invitation }),
    ...(accessToken !== undefined && { surveyToken: accessToken }),
  });
  return `${location.origin}/s/${link}${parameters.size > 0 ? `?${parameters}` : ''}`;
}
